//! The artifact server: Flux's contract over HTTP, and nothing beside it.

use reqwest::header::{CONTENT_LENGTH, IF_RANGE, LAST_MODIFIED, RANGE};
use reqwest::{Certificate, Client, StatusCode};
use serde_json::json;
use weir_testkit::{Folder, GitServer, Identity};

use crate::world::{Setup, World};

async fn raw(port: u16, request: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(format!("{request}\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

/// DEV 14, SRC-SCK-13, SRC-STO-14, SRC-STO-15.
#[tokio::test]
async fn artifacts_are_served_and_nothing_else() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let status = world.ready("GitRepository", "app").await;
    let (url, size) =
        (status["artifact"]["url"].as_str().unwrap(), status["artifact"]["size"].as_u64().unwrap());
    let path = status["artifact"]["path"].as_str().unwrap();
    let client = Client::new();

    let whole = client.get(url).send().await.unwrap();
    assert_eq!(whole.status(), StatusCode::OK);
    assert!(whole.headers().contains_key(LAST_MODIFIED));
    assert_eq!(whole.headers()[CONTENT_LENGTH].to_str().unwrap(), size.to_string());
    let head = client.head(url).send().await.unwrap();
    assert_eq!(head.headers()[CONTENT_LENGTH].to_str().unwrap(), size.to_string());
    let part = client.get(url).header(RANGE, "bytes=0-1").send().await.unwrap();
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    // A file that may have changed, and several parts at once, are answered with the whole file.
    for (ranges, condition) in [("bytes=0-1", Some("\"other\"")), ("bytes=0-1,4-5", None)] {
        let request = client.get(url).header(RANGE, ranges);
        let request = condition.into_iter().fold(request, |request, tag| request.header(IF_RANGE, tag));
        let answer = request.send().await.unwrap();
        assert_eq!((answer.status(), answer.content_length()), (StatusCode::OK, Some(size)), "{ranges}");
    }
    assert_eq!(client.post(url).send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(
        client.get(format!("http://127.0.0.1:{}/", world.http)).send().await.unwrap().status(),
        StatusCode::OK
    );

    std::fs::write(world.folder.path().join("secret"), "secret").unwrap();
    for suffix in [".lock", ".1-1.partial"] {
        let hidden = world.folder.path().join("data").join(format!("{path}{suffix}"));
        std::fs::write(hidden, "hidden").unwrap();
    }
    let outside = [
        format!("GET /{path}.lock HTTP/1.1"),
        format!("GET /{path}.1-1.partial HTTP/1.1"),
        format!("GET /gitrepository/{}/app/ HTTP/1.1", world.namespace),
        "GET /gitrepository HTTP/1.1".to_owned(),
        "GET /../secret HTTP/1.1".to_owned(),
        "GET /%2e%2e/secret HTTP/1.1".to_owned(),
        "GET /gitrepository/..%2f..%2fsecret HTTP/1.1".to_owned(),
        "GET /gitrepository/%00 HTTP/1.1".to_owned(),
        "GET /nothing HTTP/1.1".to_owned(),
    ];
    for request in outside {
        assert_eq!(raw(world.http, &request).await, "HTTP/1.1 404 Not Found", "{request}");
    }
}

async fn status_of(client: &Client, url: &str, token: Option<&str>) -> StatusCode {
    let request = token.iter().fold(client.get(url), |request, token| request.bearer_auth(token));
    request.send().await.unwrap().status()
}

/// SRC-STO-16: over TLS, to those who may get the object.
#[tokio::test]
async fn artifacts_may_ask_for_tokens_and_tls() {
    let folder = Folder::new("certificate").unwrap();
    let written = |identity: &Identity| {
        let cert = folder.write("tls.crt", &identity.certificate_pem).unwrap();
        let key = folder.write("tls.key", &identity.key_pem).unwrap();
        [format!("--storage-tls-cert={}", cert.display()), format!("--storage-tls-key={}", key.display())]
    };
    let trusting = |identity: &Identity| {
        let ca = Certificate::from_pem(identity.ca_pem.as_bytes()).unwrap();
        // A connection that is kept open would keep the old certificate.
        Client::builder().tls_certs_only([ca]).pool_max_idle_per_host(0).build().unwrap()
    };
    let first = Identity::for_names(&[]).unwrap();
    let mut arguments = vec!["--storage-authentication".to_owned()];
    arguments.extend(written(&first));
    let world = World::start_as(Setup { arguments, ..Setup::default() }).await;
    let server = GitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let status = world.ready("GitRepository", "app").await;
    let url = status["artifact"]["url"].as_str().unwrap();
    assert!(url.starts_with("https://"), "{url}");

    let resources = ("source.toolkit.fluxcd.io", &["gitrepositories"][..]);
    let reader = world.plane.token_for(&world.namespace, "reader", resources, &["get"]).await.unwrap();
    let stranger = world.plane.token_for(&world.namespace, "stranger", resources, &["list"]).await.unwrap();
    let client = trusting(&first);
    assert_eq!(status_of(&client, url, None).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status_of(&client, url, Some("forged")).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status_of(&client, url, Some(&stranger)).await, StatusCode::FORBIDDEN);
    assert_eq!(status_of(&client, url, Some(&reader)).await, StatusCode::OK);
    let readiness = format!("https://127.0.0.1:{}/", world.http);
    assert_eq!(status_of(&client, &readiness, None).await, StatusCode::OK);
    assert!(Client::new().get(url.replace("https", "http")).send().await.is_err());

    let second = Identity::for_names(&[]).unwrap();
    written(&second);
    assert_eq!(status_of(&trusting(&second), url, Some(&reader)).await, StatusCode::OK);
    assert!(trusting(&first).get(url).send().await.is_err());
    folder.write("tls.crt", "broken").unwrap();
    assert_eq!(status_of(&trusting(&second), url, Some(&reader)).await, StatusCode::OK);
}
