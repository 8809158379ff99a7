//! Keys that servers keep, for SOPS documents (KS-DEC-10 to KS-DEC-14, KS-SOPS-5).
//!
//! ```text
//!  MasterKey ─► Keys::decrypt ─┬─ age, OpenPGP ─► the keyring, or the environment's age keys
//!                              ├─ AWS KMS, Google Cloud KMS, Azure Key Vault ─► as whom the Secret says, or the object is
//!                              └─ Vault, OpenBao ─► token of the Secret, login of the ServiceAccount, token of the environment
//! ```
//!
//! [`KeyServers`] is there once a process; [`Keys`] is what one object may ask for. A server that is silent is given up soon,
//! and all servers together after a while: a document names as many as its author likes. Errors name the key and what failed.

mod aws;
mod azure;
mod environment;
mod error;
mod gcp;
mod keys;
mod vault;

pub use environment::add_age_keys;
pub use error::{EnvironmentError, Error};
pub use keys::{Held, KeyServers, Keys, Owner};
pub use vault::LoginPaths;
