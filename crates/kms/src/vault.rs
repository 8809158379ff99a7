//! The transit engine of HashiCorp Vault and OpenBao.

mod login;
mod retry;
mod server;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

pub use self::login::LoginPaths;
pub(crate) use self::login::Tokens;
use self::server::Server;
use crate::error::Error;
use crate::keys::Keys;

#[derive(Deserialize)]
struct Answer {
    data: Plain,
}

#[derive(Deserialize)]
struct Plain {
    plaintext: String,
}

pub(crate) async fn decrypt(
    keys: &Keys,
    address: &str,
    engine: &str,
    key: &str,
    enc: &str,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let server = Server::at(address, &keys.servers.clients)?;
    let engine = engine.trim_matches('/');
    let path = format!("{engine}/decrypt/{key}");
    let token = login::token(keys, &server).await?;
    let request = server.post(&path)?.header("x-vault-token", token.expose_secret());
    let request = request.json(&json!({"ciphertext": enc}));
    let answer = retry::answer(request, &token).await;
    let answer: Answer = answer.map_err(|source| Error::Vault { path, source: Box::new(source) })?;
    let plaintext = Zeroizing::new(answer.data.plaintext);
    STANDARD.decode(plaintext.as_bytes()).map(Zeroizing::new).map_err(|_| Error::Answer)
}
