//! Who we are to a container registry.
//!
//! [`DockerConfig`] and [`Keyring`] find credentials in pull Secrets by the rules of the kubelet; [`ecr`] trades the
//! identity of the pod for a registry password; [`TokenCache`] keeps such passwords for most of their life, each under a
//! key of its own identity, so that no tenant is given another's (SRC-CLD-7).

mod cache;
mod credentials;
mod docker_config;
pub mod ecr;
mod keyring;

pub use cache::{CacheHit, TokenCache};
pub use credentials::{Login, RegistryCredentials};
pub use docker_config::{DockerConfig, DockerConfigError};
pub use keyring::Keyring;
