use std::io;

use tokio::io::{AsyncWriteExt, split};
use tokio::net::TcpStream;

use super::spoil::pump;
use super::{Fault, Shared};
use crate::connection::read_head;

/// Serves one request; the connection ends with its answer.
pub(super) async fn serve(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut first = [0];
    client.peek(&mut first).await?;
    if !first[0].is_ascii_uppercase() {
        // A client that tries TLS first gets the answer that the server gives to that.
        let mut server = shared.connect().await?;
        return tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop);
    }
    let (head, rest) = read_head(&mut client, Vec::new()).await?;
    let line = head.lines().next().unwrap_or_default().to_owned();
    shared.note(line.clone());
    let fault = shared.fault(&line);
    match fault {
        Fault::Away => return Ok(()),
        Fault::Silent => return std::future::pending().await,
        Fault::Status(status, retry_after) => return refuse(client, status, retry_after).await,
        Fault::Answer(status, body) => return answer(client, status, "", body).await,
        #[expect(clippy::disallowed_methods, reason = "the fault itself")]
        Fault::Delay(time) => tokio::time::sleep(time).await,
        _ => {}
    }
    let (mut from_server, mut to_server) = split(shared.connect().await?);
    to_server.write_all(closing(&head).as_bytes()).await?;
    to_server.write_all(&rest).await?;
    let (mut from_client, mut to_client) = client.split();
    let upwards = async {
        tokio::io::copy(&mut from_client, &mut to_server).await?;
        // The client may close its side early and still wait for the answer.
        std::future::pending::<io::Result<()>>().await
    };
    let downwards = async {
        let (mut head, mut rest) = read_head(&mut from_server, Vec::new()).await?;
        while is_interim(&head) {
            to_client.write_all(head.as_bytes()).await?;
            (head, rest) = read_head(&mut from_server, rest).await?;
        }
        to_client.write_all(lengthened(&head, fault).as_bytes()).await?;
        pump(&rest, &mut from_server, &mut to_client, fault).await?;
        to_client.shutdown().await
    };
    tokio::select! {
        result = downwards => result,
        result = upwards => result,
    }
}

/// The head with `Connection: close`, so that the end of the connection is the end of the answer.
fn closing(head: &str) -> String {
    let is_connection = |line: &str| line.to_ascii_lowercase().starts_with("connection:");
    let kept: Vec<_> = head.trim_end().split("\r\n").filter(|line| !is_connection(line)).collect();
    format!("{}\r\nConnection: close\r\n\r\n", kept.join("\r\n"))
}

fn is_interim(head: &str) -> bool {
    head.split(' ').nth(1).is_some_and(|status| status.starts_with('1'))
}

fn lengthened(head: &str, fault: Fault) -> String {
    let Fault::ContentLength(more) = fault else { return head.to_owned() };
    let line = |line: &str| match line.split_once(':') {
        Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
            let length: i64 = value.trim().parse().unwrap_or_default();
            format!("{name}: {}", length.saturating_add(more).max(0))
        }
        _ => line.to_owned(),
    };
    head.split("\r\n").map(line).collect::<Vec<_>>().join("\r\n")
}

async fn refuse(client: TcpStream, status: u16, retry_after: Option<u32>) -> io::Result<()> {
    let retry = retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n")).unwrap_or_default();
    answer(client, status, &retry, "").await
}

async fn answer(mut client: TcpStream, status: u16, headers: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} The test said so\r\n{headers}Content-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}
