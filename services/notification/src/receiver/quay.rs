//! `quay`: unsigned; protected by the secret path only (NTF-98).

use serde::Deserialize;

use super::{Call, Refusal};

#[derive(Deserialize)]
#[allow(dead_code, reason = "only the shape is checked")]
struct Payload {
    docker_url: Option<String>,
    updated_tags: Option<Vec<Option<String>>>,
}

pub(super) fn verify(call: Call<'_>) -> Result<(), Refusal> {
    call.first_json::<Payload>("Quay").map(drop)
}
