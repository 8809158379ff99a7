//! Real servers for tests: a Kubernetes control plane, a registry, buckets, Git over HTTP and SSH, and a webhook sink.
//!
//! ```text
//!   test process ──owns──▶ ControlPlane ─▶ etcd, kube-apiserver, kube-controller-manager   (child processes)
//!        │      ├────────▶ Cluster ──────▶ a control plane and a node in namespaces of its own              (child processes)
//!        │      ├────────▶ Registry ─────▶ distribution                                   (child process)
//!        │      ├────────▶ BucketServer ─▶ moto, gofakes3, fake-gcs-server, azurite       (child process)
//!        │      ├────────▶ NatsServer ───▶ nats-server                                    (child process)
//!        │      ├────────▶ SshGitServer ─▶ sshd                                           (child process)
//!        │      ├────────▶ DulwichServer ▶ dulwich, another implementation of Git         (child process)
//!        │      └────────▶ GitServer, EchoServer, WebhookSink, Proxy, Server, Cloud       (tasks of the test's runtime)
//!        └──pipe──▶ keeper (sh): when the pipe closes, kills every child and removes every folder
//! ```
//!
//! Invariants:
//! - everything listens on a free loopback port and writes below a folder of its own, so that many run side by side;
//! - nothing is left behind: dropping a handle ends it, and the [`keeper`] ends what a killed test process left (CP-09);
//! - nothing sleeps for a fixed time: readiness and results are waited for, with a deadline.
//!
//! This is for tests, the demo and the benchmark only; services never depend on it.

mod bucket_server;
mod cloud;
mod cluster;
mod command;
mod connection;
mod control_plane;
mod controller;
mod cost;
mod echo_server;
mod error;
mod fault_proxy;
mod flux;
mod folder;
mod git;
mod grpc;
mod hold;
mod keeper;
mod memory_limit;
mod nats_server;
mod notation;
pub mod object;
mod port;
mod process;
mod program;
mod proxy;
mod registry;
mod server;
mod sigstore;
mod skip;
mod small_disk;
mod tls;
mod tls_front;
mod wait;
mod webhook_sink;

pub use bucket_server::{AZURITE_ACCOUNT, AZURITE_KEY, BucketProgram, BucketServer};
pub use cloud::Cloud;
pub use cluster::{Cluster, stand_in_image};
pub use control_plane::{
    AuditCounts, AuditKey, AuditedRequest, ControlPlane, ControlPlaneOptions, documents,
};
pub use controller::{Controller, storage_flags};
pub use cost::Cost;
pub use echo_server::EchoServer;
pub use error::Error;
pub use fault_proxy::{Fault, FaultProxy};
pub use flux::{FluxCli, flux_program};
pub use folder::{Folder, repo_path};
pub use git::{
    Change, CommitInfo, DulwichServer, GitRepo, GitRequest, GitServer, GitSigner, GpgHome, SshAgent,
    SshCertificate, SshGitServer, SshKey,
};
pub use grpc::authorized;
pub use hold::hold;
pub use keeper::watched_processes;
pub use memory_limit::MemoryLimit;
pub use nats_server::NatsServer;
pub use notation::{NotationAuthority, NotationCertificate, NotationSigner, ocsp_servers};
pub use port::free_port;
pub use process::Process;
pub use program::{built_program, find_or_skip};
pub use proxy::{Proxied, Proxy};
pub use registry::{Artifact, Registry};
pub use server::Server;
pub use sigstore::{CosignAlgorithm, CosignKey, CosignSignature, Sigstore};
pub use skip::{found_or_skipped, named_program, skipped};
pub use small_disk::SmallDisk;
pub use tls::Identity;
pub use tls_front::TlsFront;
pub use wait::{
    Condition, condition, eventually, touch_requested_at, wait_condition, wait_for, wait_gone,
    wait_not_ready, wait_ready,
};
pub use webhook_sink::{SinkAnswer, SinkRequest, WebhookSink};
