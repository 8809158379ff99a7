//! Flags of the service, with Flux's names and defaults (image spec 9.1).

use clap::Parser;
use weir_runtime::args::{EventsArgs, RuntimeArgs};
use weir_runtime::gate::WORKLOAD_IDENTITY;

/// Writes the latest images into Git.
#[derive(Parser, Debug, Clone)]
#[command(name = "image-automation-controller", version)]
pub struct Args {
    /// Flags that every service has.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Destination of events.
    #[command(flatten)]
    pub events: EventsArgs,
    /// Key exchange algorithms for SSH, the built-in ones when empty.
    #[arg(long, value_delimiter = ',')]
    pub ssh_kex_algos: Vec<String>,
    /// Host key algorithms for SSH, the built-in ones when empty.
    #[arg(long, value_delimiter = ',')]
    pub ssh_hostkey_algos: Vec<String>,
    /// `host:port` of Weir's image-reflector service; resolutions come from it as a stream, and from the Kubernetes
    /// API where it is empty or away.
    #[arg(long, default_value = "")]
    pub image_reflector_grpc_addr: String,
}

/// Number of concurrent runs by default (`--concurrent`).
pub(crate) const CONCURRENT: usize = 4;

/// Feature gates and their defaults (image spec 9.2).
pub const GATES: [(&str, bool); 6] = [
    (WORKLOAD_IDENTITY, false),
    ("CacheSecretsAndConfigMaps", false),
    (FORCE_PUSH_BRANCH, true),
    ("GitShallowClone", true),
    (ALL_BRANCH_REFERENCES, true),
    ("GitSparseCheckout", false),
];

/// Gate: an existing push branch that does not contain the checkout may be overwritten, under a lease (IU-10).
pub(crate) const FORCE_PUSH_BRANCH: &str = "GitForcePushBranch";
/// Gate: commits go on top of an existing push branch (IU-10).
pub(crate) const ALL_BRANCH_REFERENCES: &str = "GitAllBranchReferences";
