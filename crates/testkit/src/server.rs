use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use tokio::task::JoinSet;

use crate::connection::listen;
use crate::{Error, Identity, TlsFront};

/// An HTTP server of this process on a free loopback port; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    pub(crate) address: SocketAddr,
    _task: JoinSet<()>,
    _front: Option<TlsFront>,
}

impl Server {
    /// Serves over HTTPS when an identity is given, else over plain HTTP.
    ///
    /// # Errors
    /// When no port is free or the identity is of no use.
    pub async fn start(app: Router, identity: Option<&Identity>) -> Result<Self, Error> {
        let (listener, plain) = listen(Ipv4Addr::LOCALHOST).await?;
        let front = match identity {
            Some(identity) => Some(TlsFront::start(identity, plain).await?),
            None => None,
        };
        let mut task = JoinSet::new();
        task.spawn(async move {
            // It ends with an error only when the socket is gone, which clients notice.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { address: front.as_ref().map_or(plain, TlsFront::address), _task: task, _front: front })
    }

    /// Address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
