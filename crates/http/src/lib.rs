//! HTTP clients for what the protocol crates have in common (DEP-HTTP-1…3).
//!
//! Certificate authorities, client certificates and proxies belong to objects of tenants, so there is no global
//! client: [`Clients`] keeps a bounded number of them, one per [`Profile`]. Parts that do not differ are shared: the
//! system's certificate authorities are read once per process, when the first server must be checked.

mod body;
mod client_certificate;
mod clients;
mod environment;
mod exceptions;
pub mod go_url;
mod pinned;
mod profile;
mod redact;
mod resolver;
mod retry_after;
mod secret;
mod shown;
mod system;
mod tls;
mod transport_error;
mod unanswered;
mod upgrade;

pub use body::{BodyError, read_capped};
pub use client_certificate::ClientCertificate;
pub use clients::{ClientError, Clients, client_builder};
pub use exceptions::{Exceptions, proxy_variable};
pub use profile::{Profile, Proxy};
pub use redact::{REDACTED, redact, told_by_basic};
pub use retry_after::{asked_wait, next_try, retry_after};
pub use secret::{SecretData, SecretError, text, user_info};
pub use shown::{shown, shown_text, without_user_info};
pub use tls::{tls_config, verifier};
pub use transport_error::{not_connected, reason};
pub use unanswered::Unanswered;
pub use upgrade::{is_upgrade, send_upgraded};
