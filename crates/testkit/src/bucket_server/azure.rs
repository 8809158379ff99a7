//! Requests to azurite, signed with the key that every azurite has.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Request;
use reqwest::header::{CONTENT_LENGTH, HeaderValue};
use sha2::Sha256;

/// The account of every azurite.
pub const AZURITE_ACCOUNT: &str = "devstoreaccount1";
/// Its key, which is public.
pub const AZURITE_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Signs by the rules for "Shared Key", written from their description and not from the code that is tested with it.
pub(super) fn sign(request: &mut Request) {
    let date = "Thu, 01 Jan 1970 00:00:00 GMT";
    request.headers_mut().insert("x-ms-date", HeaderValue::from_static(date));
    request.headers_mut().insert("x-ms-version", HeaderValue::from_static("2021-12-02"));
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.filter(|length| *length != "0").unwrap_or_default();
    let mut lines = vec![request.method().to_string(), String::new(), String::new(), length.to_owned()];
    lines.extend(std::iter::repeat_n(String::new(), 8));
    let own: BTreeMap<_, _> = request
        .headers()
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-ms-"))
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()))
        .collect();
    lines.extend(own.into_iter().map(|(name, value)| format!("{name}:{value}")));
    lines.push(format!("/{AZURITE_ACCOUNT}{}", request.url().path()));
    let query: BTreeMap<_, _> = request.url().query_pairs().collect();
    lines.extend(query.into_iter().map(|(name, value)| format!("{name}:{value}")));
    let key = STANDARD.decode(AZURITE_KEY).unwrap_or_default();
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { return };
    mac.update(lines.join("\n").as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    if let Ok(value) = HeaderValue::from_str(&format!("SharedKey {AZURITE_ACCOUNT}:{signature}")) {
        request.headers_mut().insert("authorization", value);
    }
}
