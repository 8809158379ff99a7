//! Flags of the notification-controller, with Flux's names and defaults (spec 7.1).

use std::path::PathBuf;

use clap::Parser;
use weir_api::Duration;
use weir_runtime::args::{RuntimeArgs, Switch};
use weir_runtime::gate::WORKLOAD_IDENTITY;

/// Feature gates with their defaults (NTF-114).
pub const GATES: &[(&str, bool)] =
    &[("CacheSecretsAndConfigMaps", false), ("DisableConfigWatchers", false), (WORKLOAD_IDENTITY, false)];
/// The gate that stops Secrets from waking Receivers.
pub const DISABLE_CONFIG_WATCHERS: &str = "DisableConfigWatchers";

/// Number of concurrent runs by default (`--concurrent`).
pub(crate) const CONCURRENT: usize = 4;

/// Receives events and webhooks, and notifies people and systems.
#[derive(Parser, Debug, Clone)]
#[command(name = "notification-controller", version)]
pub struct Args {
    /// Flags of every service.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Address on which events of controllers are received.
    #[arg(long, default_value = ":9090")]
    pub events_addr: String,
    /// Address on which webhooks are received.
    // Flux spells this one flag in camel case.
    #[arg(long = "receiverAddr", alias = "receiver-addr", default_value = ":9292")]
    pub receiver_addr: String,
    /// Time in which a repeated event is dropped as a duplicate; 0 stands for 1s.
    #[arg(long, default_value = "5m")]
    pub rate_limit_interval: Duration,
    /// Use the real path as a label of HTTP metrics; everyone who can read the metrics then sees the webhook paths.
    #[arg(long, default_value_t = false, switch())]
    pub export_http_path_metrics: bool,
    /// Folder for events that are accepted and not delivered yet; a folder in TMPDIR when not set. Put it on a volume
    /// that outlives the Pod to lose nothing when the Pod is moved.
    #[arg(long)]
    pub outbox_path: Option<PathBuf>,
}

impl Args {
    /// Returns the folder of the outbox.
    pub fn outbox_folder(&self) -> PathBuf {
        self.outbox_path.clone().unwrap_or_else(|| std::env::temp_dir().join("notification-outbox"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_the_stock_manifests_are_accepted() {
        let args = Args::parse_from([
            "notification-controller",
            "--watch-all-namespaces=true",
            "--log-level=info",
            "--log-encoding=json",
            "--enable-leader-election",
            "--receiverAddr=:9292",
            "--rate-limit-interval=2s",
        ]);
        assert_eq!(args.receiver_addr, ":9292");
        assert_eq!(args.rate_limit_interval.to_string(), "2s");
        assert!(args.runtime.enable_leader_election);
    }

    #[test]
    fn unknown_flags_are_refused() {
        assert!(Args::try_parse_from(["notification-controller", "--nope"]).is_err());
    }
}
