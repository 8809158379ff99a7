use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::TcpStream;

use super::spoil::{BUFFER, pump};
use super::{Fault, Plan, Shared};

/// Serves one connection.
pub(super) async fn serve(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    shared.note(String::new());
    let fault = shared.fault("");
    match fault {
        Fault::Away => return Ok(()),
        Fault::Silent => return std::future::pending().await,
        #[expect(clippy::disallowed_methods, reason = "the fault itself")]
        Fault::Delay(time) => tokio::time::sleep(time).await,
        _ => {}
    }
    let (mut from_server, mut to_server) = split(shared.connect().await?);
    let (mut from_client, mut to_client) = client.split();
    let upwards = forward(&mut from_client, &mut to_server, shared);
    let downwards = async {
        if matches!(fault, Fault::None | Fault::AwayAfter(_)) {
            return forward(&mut from_server, &mut to_client, shared).await;
        }
        pump(&[], &mut from_server, &mut to_client, fault).await?;
        to_client.shutdown().await
    };
    // A server that has sent everything ends the connection, whatever the client still wants to send.
    tokio::select! {
        result = downwards => result,
        Err(error) = upwards => Err(error),
    }
}

/// Passes on everything of one side, counts it, and makes the server go away where the plan says so.
async fn forward(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    shared: &Shared,
) -> io::Result<()> {
    let mut chunk = vec![0; BUFFER];
    loop {
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        let admitted = shared.admit(count);
        to.write_all(chunk.get(..admitted).unwrap_or_default()).await?;
        if admitted < count {
            to.flush().await?;
            shared.plan(Plan { fault: Fault::Away, ..Plan::default() });
            return Ok(());
        }
    }
}
