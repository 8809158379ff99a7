//! Who we are to registries, Git servers and buckets.
//!
//! [`DockerConfig`] and [`Keyring`] find credentials in pull Secrets by the rules of the kubelet. [`Logins`] trades an
//! identity for credentials: that of the pod, or of a ServiceAccount of the object's own namespace (SRC-CLD-2), to AWS,
//! Azure and Google; and keys that Secrets hold (of GitHub Apps, service accounts, applications) for tokens. Each provider's network code is in its own file.
//! What is issued is kept for most of its life, each under a key that names everything it depends on, so that no tenant is
//! given another's (SRC-CLD-7, SRC-SCK-12).

mod aws;
mod azure;
mod bucket;
mod cache;
mod credentials;
mod docker_config;
mod error;
mod gcp;
mod git;
mod github;
mod identity;
mod keyring;
mod logins;
mod provider;
mod purpose;
mod rest;

pub use aws::is_ecr;
pub use azure::{CertificateError, ClientCertificate};
pub use bucket::{BucketLogin, BucketLoginError};
pub use credentials::{Credentials, Login, RegistryCredentials};
pub use docker_config::{DockerConfig, DockerConfigError};
pub use error::{LoginError, ProviderError};
pub use gcp::ServiceAccountError;
pub use git::{GitLogin, GitLoginError};
pub use github::{App, AppError};
pub use identity::Caller;
pub use keyring::Keyring;
pub use logins::{LockdownError, LoginOptions, Logins};
pub use provider::Provider;
