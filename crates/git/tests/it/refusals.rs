//! The refusals of a server, as messages of conditions.

use std::time::Duration;

use rstest::rstest;
use tokio::io::AsyncReadExt;
use weir_git::{Credentials, Error, Reference};
use weir_testkit::{GitServer, WebhookSink};

use crate::{branch, failure, git, remote};

#[rstest]
#[case::wrong(Credentials::Basic { username: "user".into(), password: "no".into() })]
#[case::none(Credentials::None)]
#[case::bearer(Credentials::Bearer("token".into()))]
#[tokio::test]
async fn wrong_credentials(#[case] credentials: Credentials) {
    let server = GitServer::start().await.unwrap();
    server.repo("private/app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let mut remote = remote(&server.url("private/app"));
    remote.credentials = credentials;
    let error = failure(&remote, &branch("main")).await;
    assert!(matches!(error, Error::AuthenticationRequired { .. }), "{error}");
}

#[tokio::test]
async fn missing_branch_repository_and_content() {
    let server = GitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    server.repo("void").unwrap();
    let url = server.url("app");
    let error = failure(&remote(&url), &branch("nope")).await;
    let expected = format!("unable to clone '{url}': couldn't find remote ref \"refs/heads/nope\"");
    assert_eq!(error.clone_message(&url), expected);
    let error = failure(&remote(&server.url("nothing")), &branch("main")).await;
    assert!(matches!(error, Error::RepositoryNotFound { .. }), "{error}");
    let error = failure(&remote(&server.url("void")), &branch("main")).await;
    assert!(matches!(error, Error::Empty), "{error}");
    let error = failure(&remote(&url), &Reference::Semver("*".into())).await;
    assert_eq!(error.clone_message(&url), "no match found for semver: *");
}

/// GitHub and Bitbucket have repositories only for clients whose name begins so; it is the one of Flux's client.
#[tokio::test]
async fn the_client_calls_itself_git() {
    let sink = WebhookSink::start().await.unwrap();
    failure(&remote(&sink.url("/app.git")), &branch("main")).await;
    assert_eq!(sink.requests()[0].header("user-agent"), "git/1.0");
}

#[tokio::test]
async fn nobody_listens() {
    let url = "http://127.0.0.1:1/a.git";
    let error = failure(&remote(url), &branch("main")).await;
    let expected = "unable to clone 'http://127.0.0.1:1/a.git': Get \
                    \"http://127.0.0.1:1/a.git/info/refs?service=git-upload-pack\": dial tcp 127.0.0.1:1: connect: \
                    connection refused";
    assert_eq!(error.clone_message(url), expected);
}

#[tokio::test]
async fn broken_and_dumb_servers() {
    let server = GitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let remote = remote(&server.url("app"));
    server.answer_with(Some(503.try_into().unwrap()));
    let error = failure(&remote, &branch("main")).await;
    assert!(matches!(error, Error::UnexpectedStatus { status: 503, .. }), "{error}");
    server.answer_with(Some(200.try_into().unwrap()));
    let error = failure(&remote, &branch("main")).await;
    assert!(matches!(error, Error::NotSmart { .. }), "{error}");
}

#[tokio::test]
async fn a_password_in_the_url_is_not_repeated() {
    let url = "http://user:hunter2@127.0.0.1:1/a.git";
    let error = failure(&remote(url), &branch("main")).await;
    assert!(!error.clone_message(url).contains("hunter2"), "{}", error.clone_message(url));
}

/// A server that takes the request and never answers.
async fn silent() -> (String, tokio::task::JoinSet<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a.git", listener.local_addr().unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read_u8().await;
            open.push(stream);
        }
    });
    (url, tasks)
}

#[tokio::test(flavor = "multi_thread")]
async fn time_ends_an_operation() {
    let (url, _tasks) = silent().await;
    let mut remote = remote(&url);
    remote.timeout = Duration::from_millis(200);
    let error = failure(&remote, &branch("main")).await;
    let said = format!("Get \"{url}/info/refs?service=git-upload-pack\": context deadline exceeded");
    assert_eq!(error.clone_message(&url), format!("unable to clone '{url}': {said}"));
    assert_eq!(error.list_message(&url), format!("unable to list remote for '{url}': {said}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancellation_ends_an_operation() {
    let (url, _tasks) = silent().await;
    let remote = remote(&url);
    let cancel = remote.cancel.clone();
    let git = git();
    let main = branch("main");
    let (result, ()) = tokio::join!(git.fetch(&remote, &main, None), async move {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(matches!(result, Err(Error::Cancelled)));
}
