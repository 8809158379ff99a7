//! Azure Key Vault.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;
use url::Url;
use weir_auth::{Credentials, Operation, rest};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::keys::Keys;

const VERSION: &str = "7.4";
/// The one algorithm that SOPS uses.
const ALGORITHM: &str = "RSA-OAEP-256";

#[derive(Deserialize)]
struct Answer {
    value: String,
}

pub(crate) async fn decrypt(
    keys: &Keys,
    vault_url: &str,
    name: &str,
    version: &str,
    enc: &str,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let refused = || Error::Address { server: "Azure Key Vault", address: vault_url.to_owned() };
    let mut url = Url::parse(vault_url).ok().filter(rest::may_be_told_secrets).ok_or_else(refused)?;
    let scope = scope(&url).ok_or_else(refused)?;
    let ciphertext = URL_SAFE_NO_PAD.decode(enc.trim()).map_err(|_| Error::Ciphertext)?;
    // Keys of old documents have no version: the vault takes the newest.
    let path = ["keys", name, version, "decrypt"].into_iter().filter(|part| !part.is_empty());
    url.path_segments_mut().map_err(|()| refused())?.clear().extend(path);
    let (logins, caller) = (keys.logins(Operation::DecryptWithAzure), keys.caller());
    let login = match &keys.held.azure {
        Some(held) => logins.key_login(&caller, held, &scope).await?,
        None => logins.azure(&caller, &scope).await?,
    };
    let body = json!({"alg": ALGORITHM, "value": URL_SAFE_NO_PAD.encode(ciphertext)});
    let mut request = keys.client()?.post(url).query(&[("api-version", VERSION)]).json(&body);
    if let Credentials::Bearer(token) = &login.credentials {
        request = request.bearer_auth(token.expose_secret());
    }
    let answer: Answer = rest::json("Azure Key Vault", request).await.map_err(|source| Error::Azure {
        key: format!("{}/keys/{name}/{version}", vault_url.trim_end_matches('/')),
        source: Box::new(source),
    })?;
    let plaintext = Zeroizing::new(answer.value);
    URL_SAFE_NO_PAD.decode(plaintext.trim_end_matches('=')).map(Zeroizing::new).map_err(|_| Error::Answer)
}

/// The scope of tokens for a vault: the domain of all vaults of its cloud, which is its host without the vault's own name.
/// So a token is never good for another service than that whose name the host has.
fn scope(vault: &Url) -> Option<String> {
    let (own, domain) = vault.domain()?.split_once('.')?;
    (!own.is_empty() && domain.contains('.')).then(|| format!("https://{domain}/.default"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use url::Url;

    #[rstest]
    #[case("https://my.vault.azure.net", Some("https://vault.azure.net/.default"))]
    #[case("https://my.vault.azure.cn/", Some("https://vault.azure.cn/.default"))]
    #[case("https://my.managedhsm.azure.net", Some("https://managedhsm.azure.net/.default"))]
    #[case("https://localhost", None)]
    #[case("https://my.net", None)]
    #[case("https://10.0.0.1", None)]
    fn scopes(#[case] vault: &str, #[case] expected: Option<&str>) {
        assert_eq!(super::scope(&Url::parse(vault).unwrap()).as_deref(), expected);
    }
}
