//! `gcr`: Google's Pub/Sub push, which shows an identity token of a service account (NTF-100).

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use weir_http::SecretData;

use super::oidc::{bearer, issuer::Issuers, token::Demand};
use super::{Call, Refusal};

/// Address at which Google publishes the keys of its identity tokens.
const KEYS: &str = "https://www.googleapis.com/oauth2/v3/certs";
/// Google's two names for itself.
const ISSUERS: [&str; 2] = ["accounts.google.com", "https://accounts.google.com"];

#[derive(Deserialize)]
struct Push {
    message: PushMessage,
}

#[derive(Deserialize)]
struct PushMessage {
    data: String,
}

/// The image of a message; what is missing or null counts as empty.
#[derive(Default, Deserialize)]
struct Image {
    action: Option<String>,
    digest: Option<String>,
    tag: Option<String>,
}

/// Verifies that the call is Google's, on behalf of the account in the Secret. Returns what the message is about.
///
/// # Errors
/// When the token is missing or wrong, or its keys cannot be had.
pub async fn verify(
    call: Call<'_>,
    secret: &SecretData,
    issuers: &Issuers,
    now: jiff::Timestamp,
) -> Result<Value, Refusal> {
    let field = |name: &str| {
        let value = secret.get(name).map(|value| String::from_utf8_lossy(value).trim().to_owned());
        let missing =
            || Refusal::Gcr(format!("invalid secret data: required field '{name}' for GCR receiver"));
        value.filter(|value| !value.is_empty()).ok_or_else(missing)
    };
    let (email, audience) = (field("email")?, field("audience")?);
    let refused = |text: String| Refusal::Gcr(format!("cannot authenticate GCR request: {text}"));
    let token =
        bearer(call).map_err(|_| refused("the Authorization header is missing or malformed".to_owned()))?;
    let demand = Demand { audience: &audience, issuers: &ISSUERS, now };
    let claims = issuers.verify_with_keys(KEYS, token, demand).await;
    let claims = claims.map_err(|error| refused(format!("invalid ID token: {}", error.for_issuer(KEYS))))?;
    let shown = claims.get("email").and_then(Value::as_str).unwrap_or_default();
    if !bool::from(shown.as_bytes().ct_eq(email.as_bytes())) {
        return Err(refused(format!("token email is '{shown}', want '{email}'")));
    }
    if claims.get("email_verified").and_then(Value::as_bool) != Some(true) {
        return Err(refused(format!("token email '{shown}' is not verified")));
    }
    unwrap(call)
}

/// The JSON inside the message's base64.
fn unwrap(call: Call<'_>) -> Result<Value, Refusal> {
    let bad = |error: String| Refusal::Payload("GCR", error);
    let push: Push = call.first_json("GCR")?.ok_or_else(|| bad("EOF".to_owned()))?;
    // As Go's decoder, which reads over line ends.
    let data = push.message.data.replace(['\r', '\n'], "");
    let data = BASE64_STANDARD.decode(data).map_err(|error| bad(error.to_string()))?;
    let image: Option<Image> = serde_json::from_slice(&data).map_err(|error| bad(error.to_string()))?;
    let Image { action, digest, tag } = image.unwrap_or_default();
    let [action, digest, tag] = [action, digest, tag].map(Option::unwrap_or_default);
    Ok(json!({"action": action, "digest": digest, "tag": tag}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwrapped(body: &str) -> Result<Value, Refusal> {
        unwrap(Call { headers: &http::HeaderMap::new(), body: body.as_bytes() })
    }

    #[test]
    fn the_message_is_unwrapped() {
        let image = |tag: Value| json!({"action": "INSERT", "digest": "gcr.io/a/b@sha256:1", "tag": tag});
        for (given, expected) in [(json!("gcr.io/a/b:1"), "gcr.io/a/b:1"), (Value::Null, "")] {
            let data = BASE64_STANDARD.encode(image(given).to_string());
            let (start, end) = data.split_at(20);
            let data = format!("{start}\r\n{end}");
            let body = json!({"message": {"data": data, "messageId": "1"}, "subscription": "s"}).to_string();
            assert_eq!(unwrapped(&format!("{body} and more")).unwrap(), image(json!(expected)));
        }
        for bad in ["{}", "null", r#"{"message":{"data":"!"}}"#, r#"{"message":{"data":"e30K"}"#] {
            assert!(unwrapped(bad).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn account_and_audience_must_be_in_the_secret() {
        let headers = http::HeaderMap::new();
        let call = Call { headers: &headers, body: b"{}" };
        let secret = |names: &[&str]| names.iter().map(|n| (n.to_string(), b"x".to_vec())).collect();
        weir_runtime::service::install_crypto();
        let issuers = Issuers::new().unwrap();
        let now = jiff::Timestamp::UNIX_EPOCH;
        for (names, expected) in [
            (&["token"][..], "invalid secret data: required field 'email' for GCR receiver"),
            (&["token", "email"], "invalid secret data: required field 'audience' for GCR receiver"),
            (
                &["token", "email", "audience"],
                "cannot authenticate GCR request: the Authorization header is missing or malformed",
            ),
        ] {
            let refusal = verify(call, &secret(names), &issuers, now).await.unwrap_err();
            assert_eq!(refusal.to_string(), expected);
        }
    }
}
