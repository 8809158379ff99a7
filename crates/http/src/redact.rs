//! Texts of servers without the secrets that the servers got and may repeat (SRC-SCK-11, NTF-54).

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

/// Text that stands for a secret where no other is agreed.
pub const REDACTED: &str = "<redacted>";
/// Bytes of the shortest secret that is looked for: shorter ones stand in any text, and to leave them out would show
/// which they are.
const MIN_SECRET: usize = 4;

/// Returns a text with the placeholder in the place of each secret: plain, encoded for a query, a form or JSON, or cut
/// off at the end of the text. Secrets that overlap are replaced as one.
#[must_use]
pub fn redact(text: &str, secrets: &[SecretString], placeholder: &str) -> String {
    let secrets = secrets.iter().map(|secret| secret.expose_secret().trim());
    let forms: Vec<String> = secrets.filter(|secret| secret.len() >= MIN_SECRET).flat_map(forms).collect();
    let mut found: Vec<Range<usize>> = forms.iter().flat_map(|form| places(text, form)).collect();
    found.sort_unstable_by_key(|place| place.start);
    let (mut redacted, mut done) = (String::with_capacity(text.len()), 0);
    for Range { start, end } in found {
        if start >= done {
            redacted.push_str(text.get(done..start).unwrap_or_default());
            redacted.push_str(placeholder);
        }
        done = done.max(end);
    }
    redacted.push_str(text.get(done..).unwrap_or_default());
    redacted
}

/// Returns the forms in which a server may repeat a secret.
fn forms(secret: &str) -> [String; 3] {
    let query = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let json = secret.replace('\\', "\\\\").replace('"', "\\\"");
    [secret.to_owned(), query, json]
}

/// Returns all places of a form of a secret in a text. The last one may lack the form's end.
fn places(text: &str, form: &str) -> impl Iterator<Item = Range<usize>> {
    let whole = text.match_indices(form).map(|(start, found)| start..start + found.len());
    let ends = form.char_indices().map(|(end, _)| end).filter(|end| *end >= MIN_SECRET).rev();
    let mut starts = ends.filter_map(|end| form.get(..end));
    let cut_off =
        starts.find(|start| text.ends_with(start)).map(|start| text.len() - start.len()..text.len());
    whole.chain(cut_off)
}

/// Returns the secrets that basic authentication sends to a server: the password, the header with it, and the user
/// where it stands for a token, as with GitHub.
#[must_use]
pub fn told_by_basic(user: &str, password: &SecretString) -> Vec<SecretString> {
    let header = STANDARD.encode(format!("{user}:{}", password.expose_secret()));
    let mut told = vec![password.clone(), header.into()];
    if ["", "x-oauth-basic"].contains(&password.expose_secret()) {
        told.push(user.into());
    }
    told
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::in_a_query("key hunter=2 of ?k=hunter%3D2 is bad", &["hunter=2"], "key *** of ?k=*** is bad")]
    #[case::in_json(r#"{"sent":"a\"b\\c"}"#, &[r#"a"b\c"#], r#"{"sent":"***"}"#)]
    #[case::cut_off(r#"you sent a"b\"#, &[r#"a"b\c"#], "you sent ***")]
    #[case::cut_off_after_the_secret("hunter2 hunt", &["hunter2"], "*** ***")]
    #[case::its_first_letters("you sent hun", &["hunter2"], "you sent hun")]
    #[case::one_in_another("a1 sesame9 and sesame", &["sesame", " sesame9\n"], "a1 *** and ***")]
    #[case::one_after_the_start_of_another("sesame9", &["sesa", "same9"], "***")]
    #[case::one_beside_another("sesamesesame", &["sesame"], "******")]
    #[case::too_short("a key of 1", &["key", "1", "", " "], "a key of 1")]
    #[case::the_placeholder("****", &["****"], "***")]
    fn security_no_form_of_a_secret_stays(
        #[case] text: &str,
        #[case] secrets: &[&str],
        #[case] expected: &str,
    ) {
        let secrets: Vec<SecretString> = secrets.iter().map(|secret| (*secret).into()).collect();
        assert_eq!(redact(text, &secrets, "***"), expected);
    }

    #[rstest]
    #[case("user", "hunter2", &["hunter2", "dXNlcjpodW50ZXIy"])]
    #[case("ghp_token", "", &["", "Z2hwX3Rva2VuOg==", "ghp_token"])]
    #[case("ghp_token", "x-oauth-basic", &["x-oauth-basic", "Z2hwX3Rva2VuOngtb2F1dGgtYmFzaWM=", "ghp_token"])]
    fn secrets_of_basic_authentication(
        #[case] user: &str,
        #[case] password: &str,
        #[case] expected: &[&str],
    ) {
        let told = told_by_basic(user, &password.into());
        assert_eq!(told.iter().map(ExposeSecret::expose_secret).collect::<Vec<_>>(), expected);
    }
}
