//! API servers of remote clusters: their clients, and if they answer. A silent one must not hold the workers that others wait for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use kube::Client;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use parking_lot::Mutex;
use tower::BoxError;
use tower::buffer::BufferLayer;
use tower::filter::AsyncFilterLayer;
use tower::timeout::TimeoutLayer;

use super::login::ClusterLogin;
use super::target::TargetError;

/// Longest wait for the head of an answer (KS-IMP-6). A watch's head comes at once.
const ANSWER: Duration = Duration::from_secs(30);
/// Longest wait for a connection, and for the first sign of life.
const CONNECT: Duration = Duration::from_secs(5);
/// Requests of a cluster that wait to be sent; each is sent at once.
const WAITING: usize = 256;
/// An answer is believed for so long.
const UP: Duration = Duration::from_secs(10);
/// So is silence: runs fail at once meanwhile.
const DOWN: Duration = Duration::from_secs(20);
/// A run that finds another one asking comes back after this long.
const ASKING: Duration = Duration::from_secs(1);

/// Makes a client of a kubeconfig that was cleaned; it gives up silent servers. Requests carry the token of the login, if
/// there is one.
pub(super) fn client(kubeconfig: Kubeconfig, login: Option<Arc<ClusterLogin>>) -> Result<Client, String> {
    let config = weir_runtime::client::kubeconfig::config(&kubeconfig, &KubeConfigOptions::default());
    let mut config = config.map_err(|error| error.to_string())?;
    config.connect_timeout = Some(CONNECT);
    weir_runtime::client::kubeconfig::drop_credentials_over_plain_http(&mut config);
    let builder = weir_runtime::client::builder(config).map_err(|error| error.to_string())?;
    let timeout = TimeoutLayer::new(ANSWER);
    let Some(login) = login else { return Ok(builder.with_layer(&timeout).build()) };
    let authorize = AsyncFilterLayer::new(move |mut request: http::Request<Body>| {
        let login = Arc::clone(&login);
        async move {
            request.headers_mut().insert(AUTHORIZATION, login.header().await?);
            Ok::<_, BoxError>(request)
        }
    });
    // The filter needs a service that can be cloned.
    let builder = builder.with_layer(&BufferLayer::<http::Request<Body>>::new(WAITING));
    Ok(builder.with_layer(&authorize).with_layer(&timeout).build())
}

/// The last answer of an API server, or its silence.
#[derive(Default)]
pub(super) struct Availability(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Unknown,
    Asking,
    Up(Instant),
    Down(Instant, String),
}

impl Availability {
    /// Succeeds when the API server answers, or has just now. One run at a time asks; others come back.
    pub(super) async fn check(&self, client: &Client) -> Result<(), TargetError> {
        if let Some(known) = self.known_or_ask() {
            return known;
        }
        // A run that is cancelled while it asks leaves nobody waiting.
        let mut asking = Asking { of: self, found: State::Unknown };
        let failed = match tokio::time::timeout(CONNECT, version(client)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(format!("no answer within {}s", CONNECT.as_secs())),
        };
        let failed = failed.map(|error| format!("failed to get server version: {error}"));
        asking.found = match &failed {
            None => State::Up(Instant::now()),
            Some(message) => State::Down(Instant::now(), message.clone()),
        };
        failed.map_or(Ok(()), |message| Err(TargetError::Failed(message)))
    }

    /// Returns what is known; nothing when the caller is to ask.
    fn known_or_ask(&self) -> Option<Result<(), TargetError>> {
        let mut state = self.0.lock();
        match &*state {
            State::Up(at) if at.elapsed() < UP => Some(Ok(())),
            State::Down(at, message) if at.elapsed() < DOWN => {
                Some(Err(TargetError::Failed(message.clone())))
            }
            State::Asking => Some(Err(TargetError::Asking(ASKING))),
            _ => {
                *state = State::Asking;
                None
            }
        }
    }
}

/// Any answer is a sign of life, also one that refuses the user: the apply reports that better.
async fn version(client: &Client) -> Result<(), String> {
    let request = http::Request::get("/version").body(Body::empty()).map_err(|error| error.to_string())?;
    let Err(error) = client.send(request).await else { return Ok(()) };
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    Err(text)
}

struct Asking<'r> {
    of: &'r Availability,
    found: State,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        *self.of.0.lock() = std::mem::take(&mut self.found);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// KS-IMP-5
    #[tokio::test]
    async fn no_credentials_go_over_plain_http() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let text = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'http://{}'}}}}]\nusers: [{{name: u, user: {{token: secret}}}}]",
            server.local_addr().unwrap()
        );
        let client = client(Kubeconfig::from_yaml(&text).unwrap(), None).unwrap();
        let served = async {
            let (mut stream, _) = server.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            String::from_utf8(head).unwrap().to_lowercase()
        };
        let (answered, head) = tokio::join!(version(&client), served);
        answered.unwrap();
        assert!(head.starts_with("get /version ") && !head.contains("authorization"), "{head}");
    }
}
