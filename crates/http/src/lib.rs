//! HTTP clients for what the protocol crates have in common (DEP-HTTP-1…3).
//!
//! Certificate authorities, client certificates and proxies belong to objects of tenants, so there is no global client:
//! [`Clients`] keeps a bounded number of them, one per [`Profile`], because making one reads all system certificates.

mod body;
mod clients;
mod profile;
mod words;

pub use body::{BodyError, read_capped};
pub use clients::{ClientError, Clients};
pub use profile::{Profile, Proxy};
pub use words::reason;
