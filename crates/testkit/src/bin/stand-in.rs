//! An application for images of tests. By the name it is started with it is
//!
//! - `pause`, which only waits to be stopped;
//! - `podcli check http HOST:PORT/PATH`, which succeeds when that page does;
//! - anything else: a server on port 9898, of which `/` is the version and `/readyz` succeeds. There are no other pages.

use std::io::{Error, Read, Write};
use std::net::TcpStream;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// The port of the application of the articles that scenarios are taken from.
const PORT: u16 = 9898;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    // The first process of a container ends by no signal that it does not ask for.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut arguments = std::env::args();
    let name = arguments.next().unwrap_or_default();
    if name.ends_with("podcli") {
        return check(&arguments.next_back().unwrap_or_default());
    }
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        served = serve(), if !name.ends_with("pause") => served,
    }
}

async fn serve() -> std::io::Result<()> {
    let version = std::fs::read_to_string("/etc/version").unwrap_or_default();
    let routes = Router::new().route("/", get(|| async { version })).route("/readyz", get(|| async { "OK" }));
    axum::serve(TcpListener::bind(("0.0.0.0", PORT)).await?, routes).await
}

/// Asks for a page, as the tool of that name in the articles does.
fn check(page: &str) -> std::io::Result<()> {
    let (host, path) =
        page.split_once('/').ok_or_else(|| Error::other("usage: podcli check http HOST:PORT/PATH"))?;
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.lines().next().unwrap_or_default();
    if status.contains(" 200 ") { Ok(()) } else { Err(Error::other(format!("{page}: {status}"))) }
}
