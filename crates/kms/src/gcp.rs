//! Google Cloud KMS.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;
use weir_auth::{Credentials, Operation, rest};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::keys::Keys;

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const API: &str = "https://cloudkms.googleapis.com";
/// Names another address of the service, as the program sops has it.
const API_VARIABLE: &str = "SOPS_GCP_KMS_ENDPOINT";
/// The odd parts of a key's name.
const PARTS: [&str; 4] = ["projects", "locations", "keyRings", "cryptoKeys"];

#[derive(Deserialize)]
struct Answer {
    plaintext: String,
}

pub(crate) async fn decrypt(keys: &Keys, resource: &str, enc: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    if !is_key(resource) {
        return Err(Error::ResourceId(resource.to_owned()));
    }
    let ciphertext = STANDARD.decode(enc.trim()).map_err(|_| Error::Ciphertext)?;
    let (logins, caller) = (keys.logins(Operation::DecryptWithGcp), keys.caller());
    let login = match &keys.held.gcp {
        Some(held) => logins.key_login(&caller, held, SCOPE).await?,
        None => logins.gcp(&caller).await?,
    };
    let api = std::env::var(API_VARIABLE).ok().filter(|api| !api.is_empty());
    let api = api.as_deref().unwrap_or(API).trim_end_matches('/');
    let body = json!({"ciphertext": STANDARD.encode(ciphertext)});
    let mut request = keys.client()?.post(format!("{api}/v1/{resource}:decrypt")).json(&body);
    if let Credentials::Bearer(token) = &login.credentials {
        request = request.bearer_auth(token.expose_secret());
    }
    let answer: Answer =
        rest::json("Google Cloud KMS", request).await.map_err(|source| Error::Gcp(Box::new(source)))?;
    let plaintext = Zeroizing::new(answer.plaintext);
    STANDARD.decode(plaintext.as_bytes()).map(Zeroizing::new).map_err(|_| Error::Answer)
}

/// Returns true for `projects/…/locations/…/keyRings/…/cryptoKeys/…`. It becomes part of a URL.
fn is_key(resource: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !matches!(name, "." | "..")
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'))
    };
    let parts: Vec<&str> = resource.split('/').collect();
    parts.len() == PARTS.len() * 2
        && parts.iter().step_by(2).eq(PARTS.iter())
        && parts.iter().skip(1).step_by(2).all(|name| is_name(name))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("projects/p/locations/global/keyRings/r/cryptoKeys/k", true)]
    #[case("projects/example.com:p/locations/global/keyRings/r/cryptoKeys/k", true)]
    #[case("projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1", false)]
    #[case("projects/p/locations/global/keyRings/r/cryptoKeys/k?x=", false)]
    #[case("projects/p/locations/../keyRings/r/cryptoKeys/k", false)]
    #[case("projects//locations/global/keyRings/r/cryptoKeys/k", false)]
    fn names(#[case] resource: &str, #[case] expected: bool) {
        assert_eq!(super::is_key(resource), expected);
    }
}
