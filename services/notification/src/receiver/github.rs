//! `github`: also Gitea and Forgejo, which sign alike.

use super::{Call, Refusal, Rules, signature};

pub(super) fn verify(call: Call<'_>, rules: Rules<'_>) -> Result<(), Refusal> {
    check_signature(call, rules, "the GitHub signature header is invalid, err: ")?;
    rules.admit("GitHub", call.header("X-GitHub-Event"))
}

/// Signature and content type, in the form that GitHub and Bitbucket share. The signature covers the raw body, so that a
/// form post needs no decoding.
pub(super) fn check_signature(
    call: Call<'_>,
    rules: Rules<'_>,
    context: &'static str,
) -> Result<(), Refusal> {
    let header = match call.header("X-Hub-Signature-256") {
        "" => call.header("X-Hub-Signature"),
        sha256 => sha256,
    };
    let content_type = call.header("Content-Type");
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let is = |name: &str| name.eq_ignore_ascii_case(media_type);
    let is_form = is("application/x-www-form-urlencoded");
    if !is_form && !is("application/json") {
        return Err(Refusal::ContentType(content_type.to_owned()));
    }
    if is_form && !is_well_formed(call.body) {
        return Err(Refusal::Form(context));
    }
    signature::check(header, rules.token, call.body).map_err(|fault| Refusal::Signature { context, fault })
}

/// Returns true for a form as Go reads it: whole escapes, and no semicolons.
fn is_well_formed(form: &[u8]) -> bool {
    let mut escapes = form.split(|byte| *byte == b'%').skip(1);
    let is_hex = |escape: &[u8]| escape.get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
    !form.contains(&b';') && escapes.all(is_hex)
}
