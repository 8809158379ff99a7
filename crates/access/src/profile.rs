//! Certificates and proxies of objects (SRC 12.1, 12.3, 12.4; IR-22, IR-23).

use weir_api::LocalObjectReference;
use weir_http::{Profile, Proxy, SecretError};

use crate::{ReadError, Secrets};

/// Errors in the Secret of certificates or of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// It cannot be read.
    #[error("{}", .0.sentence())]
    Read(#[from] ReadError),
    /// Its content cannot be used.
    #[error(transparent)]
    Content(#[from] SecretError),
}

/// Errors that leave an object without a way to its server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// In `certSecretRef`.
    #[error(transparent)]
    Certificates(TransportError),
    /// In `proxySecretRef`.
    #[error(transparent)]
    Proxy(TransportError),
}

impl Secrets {
    /// Returns the profile of an object with `certSecretRef` and `proxySecretRef`.
    ///
    /// # Errors
    /// When one of the Secrets cannot be read or used.
    pub async fn profile(
        &self,
        namespace: &str,
        certificates: Option<&LocalObjectReference>,
        proxy: Option<&LocalObjectReference>,
    ) -> Result<Profile, ProfileError> {
        // As in Flux, a Secret of the proxy that is not there is told before one of certificates.
        let proxy = self.proxy(namespace, proxy).await.map_err(ProfileError::Proxy)?;
        let certificates = self.certificates(namespace, certificates).await;
        Ok(Profile { proxy, ..certificates.map_err(ProfileError::Certificates)? })
    }

    /// Returns the profile of `certSecretRef`: an authority, a client certificate with its key, or both.
    ///
    /// # Errors
    /// When the Secret cannot be read, or has no certificate or half of one.
    pub async fn certificates(
        &self,
        namespace: &str,
        reference: Option<&LocalObjectReference>,
    ) -> Result<Profile, TransportError> {
        let Some(secret) = self.find(namespace, reference).await? else { return Ok(Profile::default()) };
        Ok(Profile::from_secret(&secret.place, &secret.data)?)
    }

    /// Returns the proxy of `proxySecretRef`.
    pub(crate) async fn proxy(
        &self,
        namespace: &str,
        reference: Option<&LocalObjectReference>,
    ) -> Result<Option<Proxy>, TransportError> {
        let Some(secret) = self.find(namespace, reference).await? else { return Ok(None) };
        Ok(Some(Proxy::from_secret(&secret.place, &secret.data)?))
    }
}
