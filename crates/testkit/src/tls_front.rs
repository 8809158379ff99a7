use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::connection::{listen, serve_each};
use crate::tls::{provider, trusting};
use crate::{Error, Identity};

/// TLS in front of a plain server of the test; dropping it ends it.
#[derive(Debug)]
pub struct TlsFront {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl TlsFront {
    /// Speaks TLS with the identity, and hands what it hears to the server at `target`.
    ///
    /// # Errors
    /// When no port is free or the identity is of no use.
    pub async fn start(identity: &Identity, target: SocketAddr) -> Result<Self, Error> {
        Self::serve(identity.acceptor()?, target).await
    }

    /// As [`TlsFront::start`], for clients with a certificate of the CA in `clients` (PEM) only.
    ///
    /// # Errors
    /// When no port is free or the certificates are of no use.
    pub async fn start_for(identity: &Identity, target: SocketAddr, clients: &str) -> Result<Self, Error> {
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(trusting(clients)?), provider()).build();
        Self::serve(identity.acceptor_for(verifier.map_err(Error::tls)?)?, target).await
    }

    async fn serve(acceptor: TlsAcceptor, target: SocketAddr) -> Result<Self, Error> {
        let (listener, address) = listen(Ipv4Addr::LOCALHOST).await?;
        let mut task = JoinSet::new();
        task.spawn(serve_each(listener, move |stream| forward(acceptor.clone(), stream, target)));
        Ok(Self { address, _task: task })
    }

    /// Address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn forward(acceptor: TlsAcceptor, stream: TcpStream, target: SocketAddr) -> std::io::Result<()> {
    let mut client = acceptor.accept(stream).await?;
    let mut server = TcpStream::connect(target).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}
