//! `nexus`: a bare HMAC-SHA1 of the body in lower-case hex.

use hmac::Hmac;
use serde::Deserialize;
use sha1::Sha1;

use super::{Call, Refusal, Rules, signature::mac_matches};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "only the shape is checked")]
struct Payload {
    action: Option<String>,
    repository_name: Option<String>,
}

pub(super) fn verify(call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    let header = call.header("X-Nexus-Webhook-Signature");
    if header.is_empty() {
        return Err(Refusal::Nexus("the Nexus signature is missing from header"));
    }
    let is_lower = !header.bytes().any(|byte| byte.is_ascii_uppercase());
    let mac = hex::decode(header).ok().filter(|_| is_lower).unwrap_or_default();
    if !mac_matches::<Hmac<Sha1>>(rules.token, call.body, &mac) {
        return Err(Refusal::Nexus("invalid Nexus signature"));
    }
    let decoded: Result<Option<Payload>, _> = serde_json::from_slice(call.body);
    decoded.map(drop).map_err(|error| Refusal::Payload("Nexus", error.to_string()))
}
