//! Flags of the service, with Flux's names and defaults (image spec 9.1).

use std::path::PathBuf;

use clap::{Parser, value_parser};
use weir_runtime::args::{EventsArgs, RuntimeArgs, Switch};
use weir_runtime::gate::WORKLOAD_IDENTITY;

/// Lists the tags of image repositories and selects the latest.
#[derive(Parser, Debug, Clone)]
#[command(name = "image-reflector-controller", version)]
pub struct Args {
    /// Flags that every service has.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Destination of events.
    #[command(flatten)]
    pub events: EventsArgs,
    /// Folder of the tag database; losing it costs a scan of every repository.
    #[arg(long, default_value = "/data")]
    pub storage_path: PathBuf,
    /// Minutes between clean-ups of the tag database; 0 turns them off.
    #[arg(long, default_value_t = 10)]
    pub gc_interval: u32,
    /// Smallest size, in KiB, of a list of tags that is stored compressed.
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..))]
    pub storage_compression_threshold: u32,
    /// Accepted for compatibility, without effect: there is no value log.
    #[arg(long, default_value_t = 268_435_456)]
    pub storage_value_log_file_size: i64,
    /// Log in to Amazon's registries for an ImageRepository without provider and Secret. Deprecated: set
    /// `spec.provider: aws` instead.
    #[arg(long, default_value_t = false, switch())]
    pub aws_autologin_for_ecr: bool,
    /// Accepted for compatibility, without effect: the repository's provider names the cloud to log in to.
    #[arg(long, default_value_t = false, switch())]
    pub azure_autologin_for_acr: bool,
    /// Accepted for compatibility, without effect: the repository's provider names the cloud to log in to.
    #[arg(long, default_value_t = false, switch())]
    pub gcp_autologin_for_gcr: bool,
}

/// Number of concurrent runs by default (`--concurrent`).
pub(crate) const CONCURRENT: usize = 4;

/// Feature gates and their defaults (image spec 9.2); the file store of tags is the only one, so its gate changes nothing.
pub const GATES: [(&str, bool); 3] =
    [(WORKLOAD_IDENTITY, false), ("CacheSecretsAndConfigMaps", false), ("FluxStorage", true)];
