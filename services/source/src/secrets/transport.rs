//! TLS material and proxies (SRC 12.1, 12.3, 12.4).

use super::{SecretData, Secrets, shown, text};
use secrecy::SecretString;
use weir_http::{Profile, Proxy};
use weir_runtime::ObjectKey;

/// Longest proxy address.
const MAX_PROXY_ADDRESS: usize = 2048;
const PROXY_SCHEMES: [&str; 3] = ["http", "https", "socks5"];

/// Certificates of `certSecretRef`: an authority, a client certificate with its key, or both.
pub(crate) async fn tls(secrets: &Secrets, object: &ObjectKey, name: &str) -> Result<Profile, String> {
    let place = shown(object, name);
    let data = read(secrets, object, name).await?;
    let ca = either(&data, "ca.crt", "caFile");
    let certificate = either(&data, "tls.crt", "certFile");
    let key = either(&data, "tls.key", "keyFile");
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(SecretString::from(format!("{certificate}\n{key}"))),
        (Some(_), None) => return Err(format!("secret '{place}' contains 'tls.crt' but missing 'tls.key'")),
        (None, Some(_)) => return Err(format!("secret '{place}' contains 'tls.key' but missing 'tls.crt'")),
        (None, None) => None,
    };
    if ca.is_none() && identity.is_none() {
        return Err(format!("secret '{place}' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'"));
    }
    Ok(Profile { ca: ca.map(String::into_bytes), identity, ..Profile::default() })
}

/// The proxy of `proxySecretRef`.
pub(crate) async fn proxy(secrets: &Secrets, object: &ObjectKey, name: &str) -> Result<Proxy, String> {
    let data = read(secrets, object, name).await?;
    parse_proxy(&shown(object, name), &data)
}

fn parse_proxy(place: &str, data: &SecretData) -> Result<Proxy, String> {
    if !data.contains_key("address") {
        return Err(format!("secret '{place}': key 'address' not found"));
    }
    let address = text(data, "address").ok_or_else(|| format!("secret '{place}': proxy address is empty"))?;
    if address.len() > MAX_PROXY_ADDRESS {
        return Err(format!("secret '{place}': proxy address is longer than {MAX_PROXY_ADDRESS} characters"));
    }
    let mut url = crate::go_url::parse(&address)
        .map_err(|_| format!("secret '{place}': failed to parse proxy address"))?;
    if !PROXY_SCHEMES.contains(&url.scheme()) {
        let schemes = PROXY_SCHEMES.join(", ");
        return Err(format!(
            "proxy URL must use one of the supported schemes ({schemes}), got '{}'",
            url.scheme()
        ));
    }
    // User info is a secret and belongs to the credentials, not to an address that is logged.
    let inline = (!url.username().is_empty())
        .then(|| (url.username().to_owned(), url.password().unwrap_or_default().to_owned()));
    let _ = url.set_password(None);
    let _ = url.set_username("");
    let given = text(data, "username").map(|user| (user, text(data, "password").unwrap_or_default()));
    let credentials = given.or(inline).map(|(user, password)| (user, password.into()));
    Ok(Proxy { address: url, credentials })
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

/// A key, or the name that it had in old versions.
fn either(data: &SecretData, key: &str, old: &str) -> Option<String> {
    text(data, key).or_else(|| text(data, old))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn data(pairs: &[(&str, &str)]) -> SecretData {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[rstest]
    #[case(&[("other", "x")], "secret 'ns/p': key 'address' not found")]
    #[case(&[("address", "")], "secret 'ns/p': proxy address is empty")]
    #[case(&[("address", "ftp://p")], "proxy URL must use one of the supported schemes (http, https, socks5), got 'ftp'")]
    #[case(&[("address", "http://p:port")], "secret 'ns/p': failed to parse proxy address")]
    fn refused_proxies(#[case] pairs: &[(&str, &str)], #[case] message: &str) {
        assert_eq!(parse_proxy("ns/p", &data(pairs)).unwrap_err(), message);
    }

    #[test]
    fn proxies_with_credentials() {
        let proxy = parse_proxy("ns/p", &data(&[("address", "http://u:hunter2@p:3128")])).unwrap();
        assert_eq!(proxy.address.as_str(), "http://p:3128/");
        assert_eq!(proxy.credentials.as_ref().unwrap().0, "u");
        assert!(!format!("{proxy:?}").contains("hunter2"));
    }
}
