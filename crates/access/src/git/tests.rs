//! Remotes made from a spec and the content of its Secret.

use rstest::rstest;
use serde_json::{Value, json};
use url::Url;
use weir_auth::Credentials as Issued;
use weir_git::{Credentials, Remote};

use super::{GitAccess, GitAccessError, GitRules};
use crate::Secret;

const STRICT: GitRules = GitRules { refuses_locked_keys: true };
const LENIENT: GitRules = GitRules { refuses_locked_keys: false };

fn access(spec: Value, entries: &[(&str, &str)], rules: GitRules) -> Result<GitAccess, GitAccessError> {
    let mut full = json!({"interval": "1m"});
    full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let data = entries.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
    let secret = Secret { place: "ns/s".to_owned(), data, ..Secret::default() };
    let remote = Remote::new(Url::parse(spec["url"].as_str().unwrap()).unwrap());
    let spec = serde_json::from_value(full).unwrap();
    GitAccess::new(remote, &spec, (!entries.is_empty()).then_some(&secret), &rules)
}

#[rstest]
#[case(json!({"url": "http://h/r"}), &[("password", "p")],
    "failed to configure authentication options: invalid 'http' auth option: 'password' requires 'username' to be set")]
#[case(json!({"url": "ssh://h/r"}), &[("identity", "x")],
    "failed to configure authentication options: invalid 'ssh' auth option: 'known_hosts' is required")]
#[case(json!({"url": "ssh://h/r"}), &[],
    "failed to configure authentication options: invalid 'ssh' auth option: 'identity' is required")]
#[case(json!({"url": "ssh://h/r"}), &[("identity", "-----BEGIN ENCRYPTED PRIVATE KEY-----"), ("known_hosts", "h")],
    "SSH identity key is encrypted but no 'password' field was provided in the secret 'ns/s'")]
#[case(json!({"url": "https://h/r", "provider": "github"}), &[],
    "secretRef with github app data must be specified when provider is set to github")]
#[case(json!({"url": "https://h/r", "provider": "github"}), &[("githubAppID", "1")],
    "secret 'ns/s': key 'githubAppPrivateKey' not found")]
#[case(json!({"url": "https://h/r"}), &[("githubAppID", "1")],
    "secretRef 'ns/s' has github app data but provider is not set to github")]
#[case(json!({"url": "ssh://h/r", "provider": "github"}), &[("githubAppID", "1")],
    "failed to configure authentication options: invalid 'ssh' auth option: 'identity' is required")]
#[case(json!({"url": "ssh://h/r", "provider": "azure"}), &[],
    "failed to configure authentication options: invalid 'ssh' auth option: 'identity' is required")]
#[case(json!({"url": "https://h/r", "provider": "azure"}), &[("password", "p")],
    "failed to configure authentication options: invalid 'https' auth option: 'password' requires 'username' to be set")]
fn refused(#[case] spec: Value, #[case] entries: &[(&str, &str)], #[case] text: &str) {
    assert_eq!(access(spec, entries, STRICT).unwrap_err().to_string(), text);
}

/// IU-25: an automation, too, asks no server over SSH without a key and its known hosts.
#[rstest]
#[case(&[], "invalid 'ssh' auth option: 'identity' is required")]
#[case(&[("identity", "x")], "invalid 'ssh' auth option: 'known_hosts' is required")]
fn refused_by_all(#[case] entries: &[(&str, &str)], #[case] text: &str) {
    let error = access(json!({"url": "ssh://h/r"}), entries, LENIENT).unwrap_err().to_string();
    assert_eq!(error, format!("failed to configure authentication options: {text}"));
}

#[rstest]
#[case::half_a_certificate(json!({"url": "https://h/r"}), &[("tls.crt", "c"), ("ca.crt", "PEM")], true)]
#[case::no_tls(json!({"url": "http://h/r"}), &[("ca.crt", "PEM")], false)]
#[case::half_a_certificate_without_tls(json!({"url": "http://h/r"}), &[("tls.key", "k")], false)]
#[case::locked_key(json!({"url": "ssh://h/r"}),
    &[("identity", "-----BEGIN ENCRYPTED PRIVATE KEY-----"), ("known_hosts", "h")], false)]
fn passed_over(#[case] spec: Value, #[case] entries: &[(&str, &str)], #[case] has_authority: bool) {
    let http = access(spec, entries, LENIENT).unwrap().remote.http;
    assert_eq!((http.ca.is_some(), http.certificate.is_some()), (has_authority, false));
}

#[test]
fn credentials_trust_and_timeout_come_along() {
    let spec = json!({"url": "https://h/r", "timeout": "20s"});
    let entries = [("username", "u"), ("password", "p"), ("ca.crt", "PEM")];
    let remote = access(spec, &entries, STRICT).unwrap().remote;
    assert!(matches!(remote.credentials, Credentials::Basic { username, .. } if username == "u"));
    assert_eq!(remote.http.ca.as_deref(), Some(b"PEM".as_slice()));
    assert_eq!(remote.timeout.as_secs(), 20);
}

/// A provider's token is for HTTP.
#[test]
fn the_key_of_a_secret_stays_where_a_provider_logs_in() {
    let of = |url: &str, entries: &[(&str, &str)]| {
        let spec = json!({"url": url, "provider": "azure"});
        let mut credentials = access(spec, entries, STRICT).unwrap().remote.credentials;
        super::replace(&mut credentials, &Issued::Bearer("token".into()));
        credentials
    };
    let key = [("identity", "k"), ("known_hosts", "h")];
    assert!(matches!(of("ssh://h/r", &key), Credentials::Ssh(_)));
    assert!(matches!(of("https://h/r", &[("username", "u"), ("password", "p")]), Credentials::Bearer(_)));
}

/// SRC-GIT 4.9.
#[rstest]
#[case(
    "https://user:secret@h:port/r",
    r#"'https://h:port/r': parse "https://h:port/r": invalid port ":port" after host"#
)]
#[case("https://user:sec\nret@h/r", "'https://h/r': user info or query cannot be read")]
#[case(
    "https://user:secret@h/\n",
    "'https://h/\n': parse \"https://h/\\n\": net/url: invalid control character in URL"
)]
fn security_user_and_password_of_a_bad_url_are_not_shown(#[case] url: &str, #[case] expected: &str) {
    let error = super::parse_url(url).unwrap_err().to_string();
    assert_eq!(error, format!("failed to parse url {expected}"));
}
