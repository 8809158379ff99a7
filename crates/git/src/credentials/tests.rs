use rstest::rstest;
use secrecy::ExposeSecret;

use super::*;

fn from(url: &str, secret: &[(&str, &str)]) -> Result<Credentials, AuthOptionError> {
    let data = secret.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
    Credentials::from_secret(&url.parse().unwrap(), &data)
}

fn shown(credentials: &Credentials) -> String {
    match credentials {
        Credentials::None => "none".into(),
        Credentials::Basic { username, password } => format!("basic {username}:{}", password.expose_secret()),
        Credentials::Bearer(token) => format!("bearer {}", token.expose_secret()),
        Credentials::Ssh(_) | Credentials::SshAgent(_) => "ssh".into(),
    }
}

#[rstest]
#[case::nothing("https://h/r", &[], "none")]
#[case::other_keys("https://h/r", &[("other", "x")], "none")]
#[case::basic("https://h/r", &[("username", "u"), ("password", "p")], "basic u:p")]
#[case::user_only("https://h/r", &[("username", "u")], "basic u:")]
#[case::bearer_wins("https://h/r", &[("username", "u"), ("password", "p"), ("bearerToken", "t")], "bearer t")]
#[case::from_the_url("https://us%40er:p%2Fw@h/r", &[], "basic us@er:p/w")]
#[case::no_escape("https://u:p%+1@h/r", &[], "basic u:p%+1")]
#[case::url_fills_the_user("https://u@h/r", &[("password", "p")], "basic u:p")]
#[case::ssh("ssh://git@h/r", &[("identity", "k"), ("known_hosts", "h")], "ssh")]
fn usable(#[case] url: &str, #[case] secret: &[(&str, &str)], #[case] expected: &str) {
    assert_eq!(shown(&from(url, secret).unwrap()), expected);
}

#[rstest]
#[case("http://h/r", &[("password", "p")], "invalid 'http' auth option: 'password' requires 'username' to be set")]
#[case("ssh://h/r", &[], "invalid 'ssh' auth option: 'identity' is required")]
#[case("ssh://h/r", &[("identity", "k")], "invalid 'ssh' auth option: 'known_hosts' is required")]
fn refused(#[case] url: &str, #[case] secret: &[(&str, &str)], #[case] message: &str) {
    assert_eq!(from(url, secret).unwrap_err().to_string(), message);
}

#[test]
fn nothing_secret_is_shown() {
    let credentials = from("https://h/r", &[("username", "u"), ("password", "hunter2")]).unwrap();
    assert!(!format!("{credentials:?}").contains("hunter2"));
}
