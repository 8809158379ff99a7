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
    let settings =
        credentials(&[("headers", "Authorization: Bearer x\nX-Custom: \"1\"\n")]).unwrap().settings;
    let headers: Vec<_> = settings.headers.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(headers, [("Authorization", "Bearer x"), ("X-Custom", "1")]);
    for bad in ["[a", "- a", "a: 1", "a: {b: c}"] {
        assert!(matches!(credentials(&[("headers", bad)]), Err(ResolveError::Headers(_))), "{bad}");
    }
}

#[rstest]
#[case(&[("address", "http://proxy:3128")], Ok("http://proxy:3128/"))]
#[case(&[("address", "socks5://proxy"), ("username", "u"), ("password", "p")], Ok("socks5://u:p@proxy"))]
#[case(&[("address", "http://proxy"), ("username", "u")], Ok("http://u@proxy/"))]
#[case(&[], Err("failed to get proxy URL: secret 'apps/creds': key 'address' not found"))]
#[case(&[("address", "")], Err("failed to get proxy URL: secret 'apps/creds': proxy address is empty"))]
#[case(&[("address", "ftp://x")], Err("failed to get proxy URL: secret 'apps/creds': proxy URL must use one of the supported schemes (http, https, socks5), got 'ftp'"))]
fn proxies(#[case] entries: &[(&str, &str)], #[case] expected: Result<&str, &str>) {
    let url = proxy_of(&secret(entries)).map_err(|error| error.to_string());
    assert_eq!(url.as_ref().map(Url::as_str).map_err(String::as_str), expected);
}

#[rstest]
#[case(&[("ca.crt", "a")], "")]
#[case(&[("tls.crt", "c"), ("tls.key", "k")], "")]
#[case(&[("caFile", "a"), ("certFile", "c"), ("keyFile", "k")], "")]
#[case(&[("x", "y")], "must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'")]
#[case(&[("tls.crt", "c")], "contains 'tls.crt' but missing 'tls.key'")]
#[case(&[("ca.crt", "a"), ("tls.key", "k")], "contains 'tls.key' but missing 'tls.crt'")]
fn certificates(#[case] entries: &[(&str, &str)], #[case] fault: &str) {
    let mut transport = Transport::default();
    let result = add_certificates(&mut transport, &secret(entries)).map_err(|error| error.to_string());
    let expected = match fault {
        "" => Ok(()),
        fault => Err(format!("failed to get TLS config: secret 'apps/creds' {fault}")),
    };
    assert_eq!(result, expected);
}
