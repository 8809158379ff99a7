//! Our identity at registries, Git servers and buckets.
//!
//! [`DockerConfig`] and [`Keyring`] find credentials in pull Secrets by the rules of the kubelet. [`Logins`] trades
//! an identity for credentials at AWS, Azure and Google. The identity is that of the Pod, or of a ServiceAccount of the
//! object's own namespace (SRC-CLD-2); in a command, that of the person who runs it. It also trades keys in Secrets (of
//! GitHub Apps, service accounts, applications) for tokens. Each provider's network code is in its own file. Credentials
//! are kept for most of their life, each under a key that names everything they depend on, so that no tenant gets
//! another's (SRC-CLD-7, SRC-SCK-12).

mod aws;
mod azure;
mod bucket;
mod cache;
mod certificate_error;
mod claims;
mod cluster;
mod credentials;
mod docker_config;
mod error;
mod gcp;
mod git;
mod github;
mod held;
mod identity;
mod key_login;
mod keyring;
mod kubernetes;
mod logins;
mod operation;
mod program;
mod provider;
mod purpose;
pub mod rest;

pub use aws::{Configuring, api_words, is_ecr, is_private_ecr, sdk_config};
pub use azure::{ClientCertificate, DEVOPS_SCOPE, azure_storage_suffix};
pub use bucket::{BucketLogin, BucketLoginError};
pub use certificate_error::CertificateError;
pub use claims::unverified_claims;
pub use cluster::ClusterSpec;
pub use credentials::{Credentials, Login, RegistryCredentials};
pub use docker_config::{DockerConfig, DockerConfigError};
pub use error::{LoginError, ProviderError};
pub use gcp::ServiceAccountError;
pub use git::{GitLogin, GitLoginError};
pub use github::{App, AppError};
pub use identity::Caller;
pub use key_login::{KeyLogin, KeyLoginError};
pub use keyring::Keyring;
pub use logins::{LockdownError, LoggingIn, LoginOptions, Logins};
pub use operation::Operation;
pub use provider::Provider;
