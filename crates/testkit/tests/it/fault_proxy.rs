//! Each fault, as a client meets it.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use weir_testkit::{Fault, FaultProxy};

/// Returns a small answer as a client gets it: its status and body, or a failure.
async fn get(proxy: &FaultProxy) -> Result<(u16, Vec<u8>), ()> {
    let url = format!("http://{}/some/path", proxy.address());
    let answer =
        reqwest::Client::new().get(url).timeout(Duration::from_secs(5)).send().await.map_err(drop)?;
    let status = answer.status().as_u16();
    Ok((status, answer.bytes().await.map_err(drop)?.to_vec()))
}

/// Returns true when some of an answer comes, and neither the rest nor an end.
async fn begin(proxy: &FaultProxy) -> bool {
    let mut connection = tokio::net::TcpStream::connect(proxy.address()).await.unwrap();
    connection.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(connection.read(&mut [0]).await.unwrap() > 0);
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_millis(300), connection.read_to_end(&mut rest)).await.is_err()
}

/// A server that always answers the same; it ends with the set.
async fn ten_digits() -> (String, JoinSet<()>) {
    let app = axum::Router::new().fallback(|| async { "0123456789" });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
    (address, serving)
}

#[tokio::test]
async fn http_faults() {
    let (upstream, _server) = ten_digits().await;
    let proxy = FaultProxy::http(&upstream).await.unwrap();
    let (status, body) = get(&proxy).await.unwrap();
    assert_eq!((status, body.as_slice()), (200, b"0123456789".as_slice()));

    proxy.set(Fault::CorruptAt(1));
    let (_, corrupt) = get(&proxy).await.unwrap();
    assert_eq!(corrupt.iter().zip(&body).filter(|(a, b)| a != b).count(), 1);

    proxy.set_for("GET /some", 1, Fault::Status(429, Some(7)));
    let url = format!("http://{}/some/path", proxy.address());
    let answer = reqwest::get(&url).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (429, "7"));
    assert_eq!(get(&proxy).await.unwrap().0, 200);

    proxy.set(Fault::Delay(Duration::from_millis(300)));
    let start = Instant::now();
    assert_eq!(get(&proxy).await.unwrap().1, body);
    assert!(start.elapsed() >= Duration::from_millis(300));

    proxy.set(Fault::Away);
    assert!(get(&proxy).await.is_err());
    proxy.set(Fault::None);
    assert_eq!(get(&proxy).await.unwrap().1, body);
    assert_eq!(proxy.requests().len(), 7);
}

#[tokio::test]
async fn lengths_and_cuts() {
    let (upstream, _server) = ten_digits().await;
    for proxy in [FaultProxy::http(&upstream).await.unwrap(), FaultProxy::tcp(&upstream).await.unwrap()] {
        assert_eq!(get(&proxy).await.unwrap().1, b"0123456789");
        proxy.set(Fault::CutAfter(3));
        assert!(get(&proxy).await.is_err());
        proxy.set(Fault::StallAfter(3));
        assert!(begin(&proxy).await, "it stalls, and does not end");
    }
    let proxy = FaultProxy::http(&upstream).await.unwrap();
    proxy.set(Fault::ContentLength(5));
    assert!(get(&proxy).await.is_err());
    proxy.set(Fault::ContentLength(-5));
    assert_eq!(get(&proxy).await.unwrap().1, b"01234");
}

#[tokio::test]
async fn a_server_goes_away_after_so_many_bytes_of_both_directions() {
    let (upstream, _server) = ten_digits().await;
    let proxy = FaultProxy::tcp(&upstream).await.unwrap();
    assert_eq!(get(&proxy).await.unwrap().1, b"0123456789");
    let whole = proxy.passed();
    assert!(whole > 10);
    // The bytes of all connections count together.
    proxy.set(Fault::AwayAfter(whole + 5));
    assert_eq!(get(&proxy).await.unwrap().1, b"0123456789");
    assert!(!proxy.is_away());
    assert!(get(&proxy).await.is_err());
    assert!(proxy.is_away());
    assert!(get(&proxy).await.is_err());
    for part in 1..10 {
        proxy.set(Fault::AwayAfter(whole * part / 10));
        assert!(get(&proxy).await.is_err(), "{part}");
        assert!(proxy.is_away());
    }
    proxy.set(Fault::None);
    assert_eq!(get(&proxy).await.unwrap().1, b"0123456789");
}
