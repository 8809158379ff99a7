//! `gitlab`: sends the token itself.

use super::{Call, Refusal, Rules};

pub(super) fn verify(call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    if !rules.is_token(call.header_bytes("X-Gitlab-Token")) {
        return Err(Refusal::Token("X-Gitlab-Token"));
    }
    rules.admit("GitLab", call.header("X-Gitlab-Event"))
}
