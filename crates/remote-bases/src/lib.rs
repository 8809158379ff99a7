//! Remote bases of kustomizations (KZ-310 to KZ-314): what the build engine asks of a [`weir_kustomize::Remote`], over
//! Git and HTTP, within caps on time and size.
//!
//! ```text
//! RemoteBases (a process: connections) ──► Fetcher (a build: its time, its bytes) ──► CommitTree (a repository)
//! ```
//!
//! A repository is fetched without history and read from Git's object database: no file of it is written to disk, so
//! that no link of it leads anywhere. No program is run, and no configuration of the machine is read; credentials are
//! those of the URL, and over SSH those of a folder that the caller names.

mod fetcher;
mod ssh_folder;
mod tree;

pub use fetcher::{Fetcher, RemoteBases};
pub use tree::CommitTree;
