//! `generic-hmac`: the body is signed, as Flux's and Weir's own `generic-hmac` providers do.

use super::{Call, Refusal, Rules, signature};

pub(super) fn verify(call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    signature::check(call.header("X-Signature"), rules.token, call.body)
        .map_err(|fault| Refusal::Signature { context: "unable to validate HMAC signature: ", fault })
}
