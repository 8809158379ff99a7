use std::net::SocketAddr;

use crate::args::ArgsError;
use crate::cache::WatchError;
use crate::environment::EnvironmentError;
use crate::grpc::GrpcError;

/// Errors that end a service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A flag's value is refused.
    #[error(transparent)]
    Args(#[from] ArgsError),
    /// The cluster cannot be reached.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A kind cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// A port is taken, or not ours to take.
    #[error("cannot listen on {addr} ({what}): {source}")]
    Listen {
        /// Name of the server.
        what: &'static str,
        /// Address.
        addr: SocketAddr,
        /// Cause.
        source: std::io::Error,
    },
    /// `--events-addr` is not a URL.
    #[error("--events-addr '{0}' is not a URL")]
    EventsAddr(String),
    /// No client can be made that posts events.
    #[error("no HTTP client for the notification service: {0}")]
    EventsClient(#[from] reqwest::Error),
    /// A peer's address is not `host:port`.
    #[error("'{addr}' is not the address of a gRPC peer: {source}")]
    PeerAddr {
        /// The flag's value.
        addr: String,
        /// Cause.
        source: tonic::transport::Error,
    },
    /// The default identity of objects is refused.
    #[error(transparent)]
    Lockdown(#[from] weir_auth::LockdownError),
    /// The gRPC server failed.
    #[error(transparent)]
    Grpc(#[from] GrpcError),
    /// The Lease could not be renewed, or another replica has taken it.
    #[error("leadership lost: lease '{0}' was not renewed in time, or another replica holds it")]
    LeaseLost(String),
    /// Something of the service's own.
    #[error("{0}")]
    Other(String),
}

impl ServiceError {
    /// Returns true when somebody else listens there.
    pub(super) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse)
    }
}

/// A requested stop while the service was still starting is no failure.
pub(super) fn stopped_is_ok(outcome: Result<(), ServiceError>) -> Result<(), ServiceError> {
    match outcome {
        Err(ServiceError::Watch(WatchError::Stopped { .. })) => Ok(()),
        other => other,
    }
}
