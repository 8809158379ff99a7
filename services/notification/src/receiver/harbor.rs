//! `harbor`: sends the token itself as Authorization, without a scheme.

use super::{Call, Refusal, Rules};

pub(super) fn verify(call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    if rules.is_token(call.header_bytes("Authorization")) {
        Ok(())
    } else {
        Err(Refusal::Token("Harbor Authorization"))
    }
}
