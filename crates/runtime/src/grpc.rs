//! The gRPC side of every service: one server with the status of all owned objects, health and reflection; callers are
//! authenticated by Kubernetes tokens.

mod auth;
mod authorities;
mod connection;
mod peer;
mod rights;
mod server;
mod status;
mod token;
mod turns;

pub use auth::{Access, Authorizer, Identity};
pub use peer::{EventsPeer, PeerChannel, Peers};
pub use rights::Rights;
pub use server::{GrpcError, GrpcServer};
pub use status::{PageToken, StatusRegistry};
pub use token::{AUDIENCE, Token};
pub use turns::Turns;

/// Largest message taken or sent, in bytes: objects and events are smaller, artifacts are streamed in chunks (DEP-GRPC-3).
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Streams a client may have open on one connection.
pub const MAX_CONCURRENT_STREAMS: u32 = 128;
