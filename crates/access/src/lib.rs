//! Access of objects to their remotes. The one place where Secrets and ServiceAccounts that sources, images and
//! automations name are read, and where these become what the protocol crates work with:
//!
//! ```text
//!  GitRepository                          ->  Remote, and the login that completes it   (git)
//!  GitRepositoryRef                       ->  Reference                                 (reference)
//!  secretRef, serviceAccountName          ->  Keyring                                   (keyring)
//!  certSecretRef, proxySecretRef          ->  Profile                                   (profile)
//!  an object and its ServiceAccount       ->  Caller of a cloud                         (caller)
//!  decryption.secretRef                   ->  DecryptionKeys                            (decryption)
//!  git.commit.signingKey                  ->  SigningKey                                (signing)
//! ```
//!
//! Everything is read when it is needed and from the namespace of the object that names it (SRC-SEC-2, IU-24). Texts of
//! errors are those of Flux's libraries; a service whose Flux controller has other ones writes these by the variant.

mod caller;
mod decryption;
mod git;
mod keyring;
mod profile;
mod reference;
mod secrets;
mod signing;

pub use caller::caller;
pub use decryption::{DecryptionKeys, DecryptionKeysError, ImportError, KeysFor};
pub use git::{GitAccess, GitAccessError, GitRules};
pub use keyring::{KeyringError, PullSecrets};
pub use profile::{ProfileError, TransportError};
pub use reference::reference;
pub use secrets::{ReadError, Secret, Secrets};
pub use signing::SigningSecretError;
