//! Servers that repeat their input (SRC-SCK-11).

use rstest::rstest;
use weir_git::{Credentials, Proxy};
use weir_testkit::EchoServer;

use crate::{branch, failure, remote};

/// `planted` in base64, as it stands at the begin of a login and behind `user:`.
const ENCODED: [&str; 2] = ["cGxhbnRlZ", "wbGFudGVk"];

#[rstest]
#[case::password(Credentials::Basic { username: "user".into(), password: "planted \"pass\"".into() })]
#[case::user_is_token(Credentials::Basic { username: "planted-user".into(), password: "x-oauth-basic".into() })]
#[case::token(Credentials::Bearer("planted-token".into()))]
#[tokio::test]
async fn http_servers(#[case] credentials: Credentials, #[values(200, 401, 403, 404)] status: u16) {
    let echo = EchoServer::start().await.unwrap();
    let mut remote = remote(&echo.git_url(status));
    remote.credentials = credentials;
    let error = failure(&remote, &branch("main")).await.to_string();
    assert!(echo.requests().iter().any(|request| !request.header("authorization").is_empty()));
    assert!(error.contains("you sent"), "{error}");
    assert!(!error.contains("planted") && !ENCODED.iter().any(|words| error.contains(words)), "{error}");
}

#[tokio::test]
async fn proxies() {
    let echo = EchoServer::start().await.unwrap();
    let mut remote = remote("http://git.invalid/403/app.git");
    remote.http.proxy = Some(Proxy {
        address: format!("http://{}", echo.address()).parse().unwrap(),
        credentials: Some(("user".into(), "planted-proxy".into())),
    });
    let error = failure(&remote, &branch("main")).await.to_string();
    assert!(echo.requests().iter().any(|request| !request.header("proxy-authorization").is_empty()));
    assert!(error.contains("you sent"), "{error}");
    assert!(!error.contains("planted") && !ENCODED.iter().any(|words| error.contains(words)), "{error}");
}
