//! TLS material and proxies (SRC 12.1, 12.3, 12.4).

use super::{SecretData, Secrets, shown};
use weir_http::{Profile, Proxy};
use weir_runtime::ObjectKey;

/// Certificates of `certSecretRef`: an authority, a client certificate with its key, or both.
pub(crate) async fn tls(secrets: &Secrets, object: &ObjectKey, name: &str) -> Result<Profile, String> {
    let data = read(secrets, object, name).await?;
    Profile::from_secret(&shown(object, name), &data).map_err(|error| error.to_string())
}

/// The proxy of `proxySecretRef`.
pub(crate) async fn proxy(secrets: &Secrets, object: &ObjectKey, name: &str) -> Result<Proxy, String> {
    let data = read(secrets, object, name).await?;
    Proxy::from_secret(&shown(object, name), &data).map_err(|error| error.to_string())
}

async fn read(secrets: &Secrets, object: &ObjectKey, name: &str) -> Result<SecretData, String> {
    let place = shown(object, name);
    secrets.secret(&object.namespace, name).await.map_err(|error| {
        if error.is_not_found() {
            format!("secret '{place}' not found")
        } else {
            format!("failed to get secret '{place}': {error}")
        }
    })
}
