//! `acr`: Azure's registry; unsigned, protected by the secret path only (NTF-98).

use serde::Deserialize;

use super::{Call, Refusal};

#[derive(Deserialize)]
#[allow(dead_code, reason = "only the shape is checked")]
struct Payload {
    action: Option<String>,
    target: Option<Target>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "only the shape is checked")]
struct Target {
    repository: Option<String>,
    tag: Option<String>,
}

pub(super) fn verify(call: Call<'_>) -> Result<(), Refusal> {
    call.first_json::<Payload>("ACR").map(drop)
}
