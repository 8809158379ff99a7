//! Settings made from Secrets, and the error messages for Secrets that are wrong.

use rstest::rstest;

use super::*;

fn secret(entries: &[(&str, &str)]) -> Secret {
    let data = entries.iter().map(|(k, v)| (k.to_string(), v.as_bytes().to_vec())).collect();
    Secret { place: "apps/creds".to_owned(), data, ..Secret::default() }
}

fn credentials(entries: &[(&str, &str)]) -> Result<Resolved, ResolveError> {
    let mut provider = Provider::default();
    provider.spec.address = Some("https://spec.example/x".into());
    provider.spec.username = Some("spec-user".into());
    let mut resolved = from_spec(&provider, String::new())?;
    add_credentials(&mut resolved, &secret(entries))?;
    Ok(resolved)
}

#[test]
fn the_secret_goes_before_the_spec_and_each_key_is_read_by_itself() {
    let settings =
        credentials(&[("address", " https://secret.example/y \n"), ("token", " t \n")]).unwrap().settings;
    assert_eq!(
        (settings.address.as_str(), settings.username.as_str()),
        ("https://secret.example/y", "spec-user")
    );
    assert_eq!((settings.token.as_str(), settings.hmac_key.as_slice()), ("t", b" t \n".as_slice()));
    let settings = credentials(&[("username", "u"), ("token", "t")]).unwrap().settings;
    assert_eq!(
        (settings.username.as_str(), settings.token.as_str(), settings.password.as_str()),
        ("u", "t", "")
    );
    assert_eq!(credentials(&[("address", "")]).unwrap().settings.address, "");
}

#[rstest]
#[case(2048, true)]
#[case(2049, false)]
fn addresses_have_a_greatest_length(#[case] length: usize, #[case] good: bool) {
    assert_eq!(credentials(&[("address", &"x".repeat(length))]).is_ok(), good);
}

#[test]
fn headers_are_a_map_of_texts() {
    let settings = credentials(&[(
        "headers",
        "Authorization: Bearer x\nNotion-Version: 2022-06-28\nX-Custom: \"1\"\nX-Id: 7\nX-On: on\nX-Part: 1.5\nX-Yes: true",
    )])
    .unwrap()
    .settings;
    let headers: Vec<_> = settings.headers.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let expected = [
        ("Authorization", "Bearer x"),
        ("Notion-Version", "2022-06-28"),
        ("X-Custom", "1"),
        ("X-Id", "7"),
        ("X-On", "true"),
        ("X-Part", "1.5"),
        ("X-Yes", "true"),
    ];
    assert_eq!(headers, expected);
    assert!(credentials(&[("headers", "null")]).unwrap().settings.headers.is_empty());
    assert!(matches!(credentials(&[("headers", "[a")]), Err(ResolveError::Headers(_))));
}

#[rstest]
#[case("- a", "array into Go value of type map[string]string")]
#[case("a", "string into Go value of type map[string]string")]
#[case("a: {b: c}", "object into Go value of type string")]
#[case("a: [b]", "array into Go value of type string")]
fn other_headers_are_refused_in_the_words_of_go(#[case] headers: &str, #[case] expected: &str) {
    let text = "failed to read headers from secret: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal";
    let refused = credentials(&[("headers", headers)]).err().unwrap().to_string();
    assert_eq!(refused, format!("{text} {expected}"));
}

#[rstest]
#[case::one(&[APP_ID, PRIVATE_KEY, INSTALLATION], true)]
#[case::none(&[APP_ID, PRIVATE_KEY], false)]
#[case::two(&[APP_ID, PRIVATE_KEY, INSTALLATION, INSTALLATION_OWNER], false)]
#[case::no_key(&[APP_ID], true)]
#[case::no_app(&["token"], true)]
fn an_app_has_one_installation(#[case] keys: &[&str], #[case] is_good: bool) {
    let entries: Vec<_> = keys.iter().map(|key| (*key, "1")).collect();
    let checked = check_installation(&secret(&entries)).map_err(|error| error.to_string());
    let text = "failed to get TLS config: secret 'apps/creds' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'";
    assert_eq!(checked, if is_good { Ok(()) } else { Err(text.to_owned()) });
}
