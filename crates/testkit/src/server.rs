use std::net::SocketAddr;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::Error;
use crate::tls::{Identity, TlsListener};

/// An HTTP server of this process on a free loopback port; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    pub(crate) address: SocketAddr,
    _task: JoinSet<()>,
}

impl Server {
    /// Serves over HTTPS when an identity is given, else over plain HTTP.
    ///
    /// # Errors
    /// When no port is free or the identity is of no use.
    pub async fn start(app: Router, identity: Option<&Identity>) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address: "127.0.0.1:0".into(), source };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let tls = identity.map(Identity::acceptor).transpose()?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            // It ends with an error only when the socket is gone, which clients notice.
            let _ = match tls {
                Some(acceptor) => axum::serve(TlsListener { listener, acceptor }, app).await,
                None => axum::serve(listener, app).await,
            };
        });
        Ok(Self { address, _task: task })
    }

    /// Address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
