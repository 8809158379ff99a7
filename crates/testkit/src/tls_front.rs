use std::net::SocketAddr;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::WebPkiClientVerifier;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

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
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(clients.as_bytes()).map_err(Error::tls)?;
        roots.add(authority).map_err(Error::tls)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Self::serve(identity.acceptor_for(verifier.map_err(Error::tls)?)?, target).await
    }

    async fn serve(acceptor: TlsAcceptor, target: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address: "127.0.0.1:0".into(), source };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let Ok((stream, _)) = accepted else { return };
                        let acceptor = acceptor.clone();
                        // A connection that breaks is its client's business.
                        connections.spawn(async move { let _ = forward(&acceptor, stream, target).await; });
                    }
                    Some(_) = connections.join_next() => {}
                }
            }
        });
        Ok(Self { address, _task: task })
    }

    /// Address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn forward(acceptor: &TlsAcceptor, stream: TcpStream, target: SocketAddr) -> std::io::Result<()> {
    let mut client = acceptor.accept(stream).await?;
    let mut server = TcpStream::connect(target).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}
