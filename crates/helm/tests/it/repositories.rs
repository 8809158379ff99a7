//! Repositories over HTTP: what is sent where, and what is taken (SRC-SCK-7, SRC-SCK-10).

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;
use url::Url;
use weir_helm::index::Release;
use weir_helm::repository::BasicAuth;
use weir_helm::{FetchError, Repository};
use weir_http::{Clients, Profile};
use weir_testkit::{Identity, TlsFront};

/// Requested paths, with their credentials.
type Seen = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// A server that notes who came with which credentials. It stops when this is dropped.
struct Server {
    url: String,
    seen: Seen,
    _serving: JoinSet<()>,
}

#[derive(Clone)]
struct Shown {
    seen: Seen,
    /// Target of the redirect of `away.tgz`.
    other: Option<String>,
}

async fn answer(State(server): State<Shown>, request: Request) -> Response {
    let credentials =
        request.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    let path = request.uri().path().to_owned();
    let is_known = credentials.is_some();
    server.seen.lock().push((path.clone(), credentials));
    match path.as_str() {
        "/charts/index.yaml" => "apiVersion: v1\nentries: {}\n".into_response(),
        "/charts/a.tgz" => "package".into_response(),
        "/charts/gzip.tgz" => {
            ([(header::CONTENT_ENCODING, "gzip")], vec![0x1f, 0x8b, 1, 2, 3]).into_response()
        }
        "/charts/away.tgz" | "/charts/a-away.tgz" => {
            Redirect::temporary(&format!("{}/charts/a.tgz", server.other.unwrap())).into_response()
        }
        "/charts/closed-away.tgz" => {
            Redirect::temporary(&format!("{}/charts/closed.tgz", server.other.unwrap())).into_response()
        }
        "/charts/closed.tgz" if is_known => "package".into_response(),
        "/charts/closed.tgz" => StatusCode::UNAUTHORIZED.into_response(),
        "/endless/index.yaml" => {
            let chunks = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'#'; 64 << 10]));
            Body::from_stream(chunks).into_response()
        }
        "/hanging/index.yaml" => std::future::pending().await,
        "/slow/index.yaml" => {
            Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>()).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Server {
    async fn start(other: Option<&Self>) -> Self {
        Self::leading_to(other.map(|other| other.url.clone())).await
    }

    async fn leading_to(other: Option<String>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Seen::default();
        let shown = Shown { seen: seen.clone(), other };
        let routes = Router::new().fallback(answer).with_state(shown);
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, seen, _serving: serving }
    }

    fn credentials(&self) -> Vec<Option<String>> {
        self.seen.lock().iter().map(|(_, credentials)| credentials.clone()).collect()
    }

    fn repository(&self, path: &str, pass_on: Option<bool>) -> Repository {
        self.repository_of(path, pass_on, &Profile { keep_encoding: true, ..Profile::default() })
    }

    fn repository_of(&self, path: &str, pass_on: Option<bool>, profile: &Profile) -> Repository {
        let client = Clients::new("test").get(profile).unwrap();
        let credentials =
            pass_on.map(|pass_on| BasicAuth { username: "user".into(), password: "hunter2".into(), pass_on });
        let url = Url::parse(&format!("{}{path}", self.url)).unwrap();
        Repository::new(url, client, credentials, Duration::from_secs(5))
    }
}

fn release(url: &str, digest: &str) -> Release {
    Release {
        version: "1.0.0".into(),
        urls: vec![url.to_owned()],
        digest: digest.to_owned(),
        ..Release::default()
    }
}

#[tokio::test]
async fn an_index_is_fetched_with_its_digest() {
    let server = Server::start(None).await;
    let mut fetched = server.repository("/charts//?token=secret", None).index(1000).await.unwrap();
    let mut text = String::new();
    fetched.file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "apiVersion: v1\nentries: {}\n");
    assert_eq!(fetched.sha256(), hex(&Sha256::digest(&text)));
    assert_eq!(fetched.size, text.len() as u64);
}

#[tokio::test]
async fn credentials_go_to_the_own_server_only() {
    let other = Server::start(None).await;
    let server = Server::start(Some(&other)).await;
    let repository = server.repository("/charts", Some(false));
    repository.chart("a", &release("a.tgz", ""), 1000).await.unwrap();
    repository.chart("a", &release("away.tgz", ""), 1000).await.unwrap();
    repository.chart("a", &release(&format!("{}/charts/a.tgz", other.url), ""), 1000).await.unwrap();
    assert!(server.credentials().iter().all(Option::is_some));
    assert_eq!(other.credentials(), [None, None], "after a redirect and by the index");
    let passing = server.repository("/charts", Some(true));
    passing.chart("a", &release(&format!("{}/charts/a.tgz", other.url), ""), 1000).await.unwrap();
    passing.chart("a", &release("away.tgz", ""), 1000).await.unwrap();
    let seen = other.credentials();
    assert!(seen[2].is_some(), "passCredentials");
    assert_eq!(seen[3], None, "a redirect is not the index's word");
}

/// SRC-SCK-7: they have been in plain text before.
#[tokio::test]
async fn credentials_follow_a_redirect_to_https_on_the_same_host() {
    let closed = Server::start(None).await;
    let identity = Identity::for_names(&[]).unwrap();
    let target = closed.url.trim_start_matches("http://").parse().unwrap();
    let front = TlsFront::start(&identity, target).await.unwrap();
    let profile = Profile { ca: Some(identity.ca_pem.clone().into_bytes()), ..Profile::default() };
    for (host, given, file, expected) in [
        ("127.0.0.1", Some(false), "closed", vec![false, true]),
        // Others may get less.
        ("127.0.0.1", Some(false), "a", vec![false, true]),
        ("127.0.0.1", None, "closed", vec![false]),
        ("localhost", Some(false), "closed", vec![false]),
    ] {
        let away = format!("https://{host}:{}", front.address().port());
        let server = Server::leading_to(Some(away)).await;
        let repository = server.repository_of("/charts", given, &profile);
        let fetched = repository.chart("a", &release(&format!("{file}-away.tgz"), ""), 1000).await;
        assert_eq!(fetched.is_ok(), expected.contains(&true), "{host} {given:?} {file}: {fetched:?}");
        let seen: Vec<_> = closed.seen.lock().drain(..).map(|(_, given)| given.is_some()).collect();
        assert_eq!(seen, expected, "{host} {given:?} {file}");
        let named = release(&format!("https://127.0.0.1:{}/charts/a.tgz", front.address().port()), "");
        repository.chart("a", &named, 1000).await.unwrap();
        let seen: Vec<_> = closed.seen.lock().drain(..).map(|(_, given)| given.is_some()).collect();
        assert_eq!(seen, [false], "an index may name any place");
    }
}

#[tokio::test]
async fn packages_are_what_the_index_says() {
    let server = Server::start(None).await;
    let repository = server.repository("/charts", None);
    let right = hex(&Sha256::digest("package"));
    repository.chart("a", &release("a.tgz", &right), 1000).await.unwrap();
    repository.chart("a", &release("a.tgz", &format!("sha256:{right}")), 1000).await.unwrap();
    let wrong = hex(&Sha256::digest("other"));
    let error = repository.chart("a", &release("a.tgz", &wrong), 1000).await.unwrap_err();
    assert!(matches!(error, FetchError::Digest { .. }), "{error}");
    let gzip = repository.chart("a", &release("gzip.tgz", ""), 1000).await.unwrap();
    assert_eq!(gzip.size, 5, "a package is taken as it is sent");
    let none = Release::default();
    assert_eq!(
        repository.chart("a", &none, 1000).await.unwrap_err().to_string(),
        "chart 'a' has no downloadable URLs"
    );
}

#[tokio::test]
async fn failures_say_why_without_secrets() {
    let server = Server::start(None).await;
    let missing = server.repository("/none?token=secret", None).index(1000).await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        format!("failed to fetch {}/none/index.yaml : 404 Not Found", server.url)
    );
    let large = server.repository("/charts", None).index(10).await.unwrap_err();
    assert_eq!(large.to_string(), "index exceeds the maximum index file size of 10 bytes");
    let endless = server.repository("/endless", None).index(1 << 20).await.unwrap_err();
    assert_eq!(endless.to_string(), "index exceeds the maximum index file size of 1048576 bytes");
    let url = Url::parse("http://user:hunter2@127.0.0.1:1/").unwrap();
    let client = Clients::new("test").get(&Profile::default()).unwrap();
    let refused = Repository::new(url, client, None, Duration::from_secs(5)).index(1000).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Get \"http://127.0.0.1:1/index.yaml\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
}

#[tokio::test]
async fn a_download_has_an_end() {
    let server = Server::start(None).await;
    let client = Clients::new("test").get(&Profile::default()).unwrap();
    let silent = format!(
        "Get \"{}/hanging/index.yaml\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
        server.url
    );
    let slow = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
    for (path, expected) in [("hanging", silent.as_str()), ("slow", slow)] {
        let url = Url::parse(&format!("{}/{path}", server.url)).unwrap();
        let repository = Repository::new(url, client.clone(), None, Duration::from_millis(200));
        assert_eq!(repository.index(1000).await.unwrap_err().to_string(), expected);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
