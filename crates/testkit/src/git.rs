//! Real Git repositories, served over smart HTTP and over SSH.

mod change;
mod dulwich;
mod http_server;
mod repo;
mod signing;
mod ssh_agent;
mod ssh_server;

pub use change::Change;
pub use dulwich::DulwichServer;
pub use http_server::{GitRequest, GitServer};
pub use repo::{CommitInfo, GitRepo};
pub use signing::{GitSigner, GpgHome, SshKey};
pub use ssh_agent::SshAgent;
pub use ssh_server::{SshCertificate, SshGitServer};
