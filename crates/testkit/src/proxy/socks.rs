use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

use super::State;

const VERSION: u8 = 5;
const NO_PASSWORD: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const REFUSED: u8 = 5;

/// One SOCKS5 connection (RFC 1928, RFC 1929); only what clients of Go and Rust send.
pub(super) async fn serve(mut client: TcpStream, state: &State) -> std::io::Result<()> {
    let _version = client.read_u8().await?;
    let _offered = read_short(&mut client).await?;
    let method = if state.credentials.is_some() { USER_AND_PASSWORD } else { NO_PASSWORD };
    client.write_all(&[VERSION, method]).await?;
    if let Some((user, password)) = &state.credentials {
        let _version = client.read_u8().await?;
        let given = (read_short(&mut client).await?, read_short(&mut client).await?);
        let right = given.0 == user.as_bytes() && given.1 == password.as_bytes();
        client.write_all(&[1, u8::from(!right)]).await?;
        if !right {
            state.note("SOCKS5", "");
            return Ok(());
        }
    }
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let [_, _, _, kind] = head;
    let host = match kind {
        IPV4 => std::net::Ipv4Addr::from(client.read_u32().await?).to_string(),
        NAME => String::from_utf8_lossy(&read_short(&mut client).await?).into_owned(),
        _ => return Ok(()),
    };
    let target = format!("{host}:{}", client.read_u16().await?);
    let server = state.connect("SOCKS5", &target).await;
    let reply = if server.is_some() { 0 } else { REFUSED };
    client.write_all(&[VERSION, reply, 0, IPV4, 0, 0, 0, 0, 0, 0]).await?;
    match server {
        Some(mut server) => copy_bidirectional(&mut client, &mut server).await.map(drop),
        None => Ok(()),
    }
}

/// Reads bytes behind one byte with their number.
async fn read_short(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}
