//! `dockerhub`: unsigned; protected by the secret path only (NTF-98).

use serde::Deserialize;

use super::{Call, Refusal};

#[derive(Deserialize)]
#[allow(dead_code, reason = "only the shape is checked")]
struct Payload {
    push_data: Option<PushData>,
    repository: Option<Repository>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "only the shape is checked")]
struct PushData {
    tag: Option<String>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "only the shape is checked")]
struct Repository {
    repo_url: Option<String>,
}

pub(super) fn verify(call: Call<'_>) -> Result<(), Refusal> {
    call.first_json::<Payload>("DockerHub").map(drop)
}
