//! `bitbucket`: Bitbucket Server and Cloud, which sign as GitHub does.

use super::{Call, Refusal, Rules, github};

pub(super) fn verify(call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    github::check_signature(call, rules, "the Bitbucket server signature header is invalid, err: ")?;
    rules.admit("Bitbucket server", call.header("X-Event-Key"))
}
