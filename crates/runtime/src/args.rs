//! Flags that all services share, with Flux's names and defaults (cli.md §14, FLG-01).

mod switch;

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use weir_api::Duration;

pub use self::switch::{Switch, on_or_off};
use crate::log::{Encoding, Level};

/// Errors in the value of a flag; printed before the process exits with 1.
#[derive(Debug, thiserror::Error)]
pub enum ArgsError {
    /// A listen address is neither `host:port`, `:port`, `0` nor empty.
    #[error("invalid listen address '{0}': expected 'host:port', ':port', or '0' to switch it off")]
    ListenAddress(String),
    /// The jitter would make intervals zero or negative.
    #[error("--interval-jitter-percentage must be between 0 and 99, got {0}")]
    Jitter(u32),
    /// Retry delays are the wrong way around.
    #[error("--min-retry-delay {min} is longer than --max-retry-delay {max}")]
    RetryDelays {
        /// Value of `--min-retry-delay`.
        min: Duration,
        /// Value of `--max-retry-delay`.
        max: Duration,
    },
    /// A replica could lose its Lease while it believes that it leads; the words are client-go's.
    #[error("{0}")]
    Election(&'static str),
    /// One half of the TLS key pair is missing.
    #[error("--grpc-tls-cert and --grpc-tls-key must be given together")]
    GrpcTls,
    /// A feature gate that this service does not have.
    #[error("feature-gate '{0}' not supported")]
    FeatureGate(String),
    /// A feature gate that is not `name=true|false`.
    #[error("invalid feature gate '{0}': expected 'Name=true' or 'Name=false'")]
    FeatureGateSyntax(String),
}

/// Default address of the gRPC server.
pub const DEFAULT_GRPC_ADDR: &str = ":9393";

/// Default of `--kube-api-qps`.
const KUBE_API_QPS: f32 = 50.0;
/// Default of `--kube-api-burst`.
const KUBE_API_BURST: i32 = 300;
/// Most that a pause between two tries to renew a Lease is stretched by, at random, in client-go.
const ELECTION_JITTER: f64 = 1.2;

/// The place at which the Deployments mount the token for other services.
pub const DEFAULT_PEER_TOKEN_FILE: &str = "/var/run/secrets/weir/token";

/// Flags of every service.
#[derive(Args, Debug, Clone)]
pub struct RuntimeArgs {
    /// Address of the metrics endpoint; `0` switches it off.
    #[arg(long, default_value = ":8080", env = "METRICS_ADDR")]
    pub metrics_addr: String,
    /// Address of the liveness and readiness probes; `0` switches them off.
    #[arg(long, default_value = ":9440")]
    pub health_addr: String,
    /// Address of the gRPC server (status, and the service's own API); `0` switches it off.
    #[arg(long, default_value = DEFAULT_GRPC_ADDR)]
    pub grpc_addr: String,
    /// PEM certificate chain of the gRPC server; without it, gRPC is served in plain text inside the namespace.
    #[arg(long)]
    pub grpc_tls_cert: Option<PathBuf>,
    /// PEM private key for `--grpc-tls-cert`.
    #[arg(long)]
    pub grpc_tls_key: Option<PathBuf>,
    /// PEM certificates of the authorities that sign the certificates of other services; with it, other services are
    /// called over TLS only.
    #[arg(long)]
    pub grpc_tls_ca: Option<PathBuf>,
    /// Name of a Secret in the service's namespace. The service makes a certificate authority and a certificate for all
    /// services, keeps them in it, and renews them.
    #[arg(long)]
    pub grpc_tls_issue_secret: Option<String>,
    /// File with the ServiceAccount token that is sent to other services; its only audience must be `weir`.
    #[arg(long, default_value = DEFAULT_PEER_TOKEN_FILE)]
    pub peer_token_file: PathBuf,
    /// Number of objects of one kind that are reconciled at the same time.
    #[arg(long)]
    pub concurrent: Option<usize>,
    /// Pause between two checks of a dependency for which there is no watch.
    #[arg(long, default_value = "30s")]
    pub requeue_dependency: Duration,
    /// Random spread of intervals in percent, so that objects created together are not reconciled together.
    #[arg(long, default_value_t = 5)]
    pub interval_jitter_percentage: u32,
    /// Sustained requests per second to the Kubernetes API (kept for compatibility, the server's flow control decides).
    #[arg(long, default_value_t = KUBE_API_QPS)]
    pub kube_api_qps: f32,
    /// Burst of requests to the Kubernetes API (kept for compatibility, the server's flow control decides).
    #[arg(long, default_value_t = KUBE_API_BURST)]
    pub kube_api_burst: i32,
    /// Log verbosity.
    #[arg(long, value_enum, default_value_t = Level::Info)]
    pub log_level: Level,
    /// Log format.
    #[arg(long, value_enum, default_value_t = Encoding::Json)]
    pub log_encoding: Encoding,
    /// Run reconcilers only while holding the service's Lease.
    #[arg(long, default_value_t = false, switch())]
    pub enable_leader_election: bool,
    /// Give the Lease back on a clean stop.
    #[arg(long, default_value_t = true, switch())]
    pub leader_election_release_on_cancel: bool,
    /// Time that a Lease stays valid without renewal.
    #[arg(long, default_value = "35s")]
    pub leader_election_lease_duration: Duration,
    /// Time in which the leader must renew its Lease.
    #[arg(long, default_value = "30s")]
    pub leader_election_renew_deadline: Duration,
    /// Pause between two attempts to get or renew the Lease.
    #[arg(long, default_value = "5s")]
    pub leader_election_retry_period: Duration,
    /// Watch all namespaces, not only the service's own.
    #[arg(long, default_value_t = true, switch())]
    pub watch_all_namespaces: bool,
    /// Reconcile only objects with these labels (sharding).
    #[arg(long, default_value = "")]
    pub watch_label_selector: String,
    /// Reconcile an object when a Secret or ConfigMap that it refers to changes and has these labels.
    #[arg(long, default_value = "reconcile.fluxcd.io/watch=Enabled")]
    pub watch_configs_label_selector: String,
    /// Refuse references to objects of other namespaces.
    #[arg(long, default_value_t = false, switch())]
    pub no_cross_namespace_refs: bool,
    /// ServiceAccount used where an object names none.
    #[arg(long, default_value = "")]
    pub default_service_account: String,
    /// Delay after the first failure; each further failure doubles it.
    #[arg(long, default_value = "750ms")]
    pub min_retry_delay: Duration,
    /// Longest delay between two attempts.
    #[arg(long, default_value = "15m")]
    pub max_retry_delay: Duration,
    /// Feature gates, `Name=true,Other=false`; each flag adds to those before.
    #[arg(long)]
    pub feature_gates: Vec<String>,
    /// Number of registry and cloud tokens kept.
    #[arg(long, default_value_t = 100)]
    pub token_cache_max_size: u32,
    /// Longest time that a token is kept.
    #[arg(long, default_value = "1h")]
    pub token_cache_max_duration: Duration,
}

impl RuntimeArgs {
    /// Number of parallel runs: the flag, or the default of the service (never zero).
    pub fn concurrent(&self, default: usize) -> usize {
        self.concurrent.unwrap_or(default).max(1)
    }

    /// Checks values that parse but make no sense together.
    ///
    /// # Errors
    /// Names the flags and says what is wrong with them.
    pub fn validate(&self) -> Result<(), ArgsError> {
        if self.interval_jitter_percentage > 99 {
            return Err(ArgsError::Jitter(self.interval_jitter_percentage));
        }
        let (min, max) = (self.min_retry_delay, self.max_retry_delay);
        if min.to_std() > max.to_std() {
            return Err(ArgsError::RetryDelays { min, max });
        }
        if self.grpc_tls_cert.is_some() != self.grpc_tls_key.is_some() {
            return Err(ArgsError::GrpcTls);
        }
        if self.enable_leader_election { self.validate_election() } else { Ok(()) }
    }

    /// Refuses timings with which two replicas could lead at a time, or none, as client-go does (FLG-02).
    fn validate_election(&self) -> Result<(), ArgsError> {
        let lease = self.leader_election_lease_duration.to_std();
        let renew = self.leader_election_renew_deadline.to_std();
        let retry = self.leader_election_retry_period.to_std();
        let fault = if lease <= renew {
            "leaseDuration must be greater than renewDeadline"
        } else if renew.as_secs_f64() <= retry.as_secs_f64() * ELECTION_JITTER {
            "renewDeadline must be greater than retryPeriod*JitterFactor"
        } else if retry.is_zero() {
            // Then the other two are greater than zero.
            "retryPeriod must be greater than zero"
        } else {
            return Ok(());
        };
        Err(ArgsError::Election(fault))
    }

    /// The flags that are set and do nothing (FLG-01).
    fn of_no_effect(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            (self.kube_api_qps.to_bits() != KUBE_API_QPS.to_bits(), "kube-api-qps"),
            (self.kube_api_burst != KUBE_API_BURST, "kube-api-burst"),
        ];
        flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag)
    }

    /// Logs which flags do nothing, once for each process.
    pub(crate) fn tell_of_no_effect(&self) {
        for flag in self.of_no_effect() {
            tracing::warn!(
                logger = "setup",
                "the flag --{flag} has no effect: the API server's flow control decides"
            );
        }
    }
}

/// Destination of a service's events; every service but notification has these flags.
#[derive(Args, Debug, Clone, Default)]
pub struct EventsArgs {
    /// URL of a notification service that takes Flux's event POSTs; empty sends events to Kubernetes only.
    #[arg(long, default_value = "", env = "EVENTS_ADDR")]
    pub events_addr: String,
    /// `host:port` of Weir's notification service over gRPC; tried first, with `--events-addr` to stand in for it.
    #[arg(long, default_value = "")]
    pub events_grpc_addr: String,
}

/// Parses a Go-style listen address: `:8080` is every interface of IPv6 and IPv4, `0` and the empty string are off (`None`).
///
/// # Errors
/// When the text is no address.
pub fn listen_addr(text: &str) -> Result<Option<SocketAddr>, ArgsError> {
    if text.is_empty() || text == "0" {
        return Ok(None);
    }
    let refused = || ArgsError::ListenAddress(text.to_owned());
    if let Some(port) = text.strip_prefix(':') {
        let port = port.parse().map_err(|_| refused())?;
        return Ok(Some(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))));
    }
    let text = text.strip_prefix("localhost:").map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    SocketAddr::from_str(&text).map(Some).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Probe {
        #[command(flatten)]
        runtime: RuntimeArgs,
    }

    #[test]
    fn defaults_are_those_of_flux() {
        let args = Probe::parse_from(["x"]).runtime;
        assert_eq!(args.metrics_addr, ":8080");
        assert_eq!(args.leader_election_lease_duration.to_string(), "35s");
        assert!(args.watch_all_namespaces);
        assert_eq!(args.concurrent(4), 4);
        args.validate().unwrap();
    }

    #[test]
    fn boolean_flags_take_both_forms() {
        assert!(Probe::parse_from(["x", "--enable-leader-election"]).runtime.enable_leader_election);
        assert!(!Probe::parse_from(["x", "--watch-all-namespaces=false"]).runtime.watch_all_namespaces);
    }

    #[rstest::rstest]
    #[case("debug", Some(Level::Debug))]
    #[case("\"debug\"", Some(Level::Debug))]
    #[case("\"debug", None)]
    #[case("verbose", None)]
    fn levels_may_stand_in_the_quotes_of_a_manifest(#[case] word: &str, #[case] expected: Option<Level>) {
        let parsed = Probe::try_parse_from(["x", &format!("--log-level={word}")]);
        assert_eq!(parsed.ok().map(|args| args.runtime.log_level), expected);
    }

    #[test]
    fn jitter_of_a_hundred_percent_is_refused() {
        let args = Probe::parse_from(["x", "--interval-jitter-percentage=100"]).runtime;
        assert!(matches!(args.validate(), Err(ArgsError::Jitter(100))));
    }

    #[rstest::rstest]
    #[case(&["--leader-election-lease-duration=30s"], "leaseDuration must be greater than renewDeadline")]
    #[case(&["--leader-election-retry-period=25s"], "renewDeadline must be greater than retryPeriod*JitterFactor")]
    #[case(&["--leader-election-retry-period=24900ms"], "")]
    #[case(&["--leader-election-retry-period=0s"], "retryPeriod must be greater than zero")]
    #[case(&["--leader-election-renew-deadline=0s"], "renewDeadline must be greater than retryPeriod*JitterFactor")]
    #[case(&["--leader-election-lease-duration=0s"], "leaseDuration must be greater than renewDeadline")]
    fn timings_of_the_election_are_checked_as_by_client_go(#[case] flags: &[&str], #[case] expected: &str) {
        let args = Probe::parse_from([&["x", "--enable-leader-election=true"], flags].concat());
        let refused = args.runtime.validate().err().map(|error| error.to_string());
        assert_eq!(refused.unwrap_or_default(), expected);
        let without = Probe::parse_from([&["x"], flags].concat());
        without.runtime.validate().unwrap();
    }

    #[test]
    fn flags_without_effect_are_told_when_they_are_set() {
        let told = |flags: &[&str]| {
            let args = Probe::parse_from([&["x"], flags].concat()).runtime;
            args.of_no_effect().collect::<Vec<_>>()
        };
        assert_eq!(told(&["--kube-api-qps=20.5", "--kube-api-burst=10"]), ["kube-api-qps", "kube-api-burst"]);
        assert_eq!(told(&["--kube-api-burst=10"]), ["kube-api-burst"]);
        // Less than nothing switches client-go's limits off.
        assert_eq!(told(&["--kube-api-qps=-1", "--kube-api-burst=-1"]), ["kube-api-qps", "kube-api-burst"]);
        assert!(told(&[]).is_empty());
    }

    #[rstest::rstest]
    #[case(":8080", Some("[::]:8080"))]
    #[case("0.0.0.0:8080", Some("0.0.0.0:8080"))]
    #[case("127.0.0.1:0", Some("127.0.0.1:0"))]
    #[case("localhost:9090", Some("127.0.0.1:9090"))]
    #[case("0", None)]
    #[case("", None)]
    fn listen_addresses(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(listen_addr(text).unwrap().map(|a| a.to_string()).as_deref(), expected);
    }

    #[test]
    fn nonsense_is_not_an_address() {
        assert!(listen_addr("everywhere").is_err());
    }
}
