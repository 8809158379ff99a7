//! The `weir` command: shows and steers what Weir's services do in a cluster, builds kustomizations, and runs all services
//! in one process.
//!
//! ```text
//!  cli (dispatch) ─►  command/<verb> ──► cluster (requests, waits) ──► Kubernetes
//!                                 │   └───────► watch: gRPC of the services
//!                                 ├── manifests ► apply: an installation, from the manifests in this program
//!                                 ├── kind      one row a kind: words, columns, texts
//!                                 └── output    tables on stdout, progress on stderr
//! ```
//!
//! Invariants: results go to stdout and what is going on to stderr (CLI-G10); the exit code is 0 or 1; a kind is one row of
//! [`kind::KINDS`], no verb knows a single kind.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod apply;
mod cli;
mod cluster;
mod command;
mod error;
mod global;
mod input;
mod kind;
mod manifests;
mod output;
mod readiness;
mod verb;

fn main() -> std::process::ExitCode {
    cli::main()
}
