use rstest::rstest;

use super::*;

fn parent(url: &str) -> Remote {
    let mut remote = Remote::new(url.parse().unwrap());
    remote.credentials = Credentials::Bearer("secret".into());
    remote.http.certificate = Some(weir_http::ClientCertificate::new("chain", "key"));
    remote.http.ca = Some(b"ca".to_vec());
    remote.http.proxy = Some(weir_http::Proxy::from_url("http://proxy".parse().unwrap()));
    remote
}

#[rstest]
#[case("https://h/org/app.git", "../lib.git", "https://h/org/lib.git")]
#[case("https://h/org/app.git/", "../../other/lib", "https://h/other/lib")]
#[case("https://h/org/app", "./sub", "https://h/org/app/sub")]
#[case("ssh://git@h:2222/org/app", "../lib", "ssh://git@h:2222/org/lib")]
#[case("https://h/org/app", "https://g/lib", "https://g/lib")]
#[case("https://h/org/app", "git@g:org/lib.git", "ssh://git@g/org/lib.git")]
#[case("https://h/org/app", "g:/srv/lib.git", "ssh://g/srv/lib.git")]
fn resolved(#[case] from: &str, #[case] text: &str, #[case] expected: &str) {
    assert_eq!(parent(from).of_submodule("p", text).unwrap().url.as_str(), expected);
}

#[rstest]
#[case("file:///etc/passwd", PlaceError::Scheme)]
#[case("/srv/git/lib.git", PlaceError::Scheme)]
#[case("lib.git", PlaceError::Scheme)]
#[case("ext::sh -c touch% /tmp/x", PlaceError::Scheme)]
#[case("ext://sh", PlaceError::Scheme)]
#[case("git://h/r", PlaceError::Scheme)]
#[case("fd::17", PlaceError::Scheme)]
#[case("-u./payload", PlaceError::Option)]
#[case("--upload-pack=touch x", PlaceError::Option)]
#[case("ssh://-oProxyCommand=x/r", PlaceError::Option)]
#[case("-oProxyCommand=x:r", PlaceError::Option)]
#[case("../../../../x", PlaceError::Outside)]
#[case("https://", PlaceError::Malformed)]
#[case("https://h/\nurl = x", PlaceError::Malformed)]
#[case("", PlaceError::Malformed)]
fn refused(#[case] text: &str, #[case] expected: PlaceError) {
    assert_eq!(parent("https://h/org/app").of_submodule("p", text).unwrap_err(), expected);
}

#[rstest]
#[case("../lib", true)]
#[case("https://h:443/lib", true)]
#[case("https://H/lib", true)]
#[case("https://g/lib", false)]
#[case("http://h/lib", false)]
#[case("https://h:8443/lib", false)]
#[case("https://h.evil/lib", false)]
#[case("git@h:lib", false)]
fn our_secrets_go_only_where_the_parent_is(#[case] text: &str, #[case] is_same: bool) {
    let remote = parent("https://h/org/app").of_submodule("p", text).unwrap();
    assert_eq!(matches!(remote.credentials, Credentials::Bearer(_)), is_same);
    assert_eq!(remote.http.certificate.is_some(), is_same);
    assert!(
        remote.http.ca.is_some() && remote.http.proxy.is_some(),
        "who is believed and the way there stay"
    );
}

#[test]
fn user_info_of_the_submodule_itself() {
    let remote = parent("https://h/app").of_submodule("p", "https://u:p@g/lib").unwrap();
    assert!(matches!(remote.credentials, Credentials::Basic { username, .. } if username == "u"));
}
