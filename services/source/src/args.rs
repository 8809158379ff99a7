//! Flags of the service, with Flux's names and defaults (SRC-OPS-1).

use std::path::PathBuf;

use clap::Parser;
use weir_api::Duration;
use weir_runtime::ServiceError;
use weir_runtime::args::{EventsArgs, RuntimeArgs, Switch};
use weir_runtime::gate::{Gates, WORKLOAD_IDENTITY};

/// Reconciles at once when `--concurrent` is not given.
pub const CONCURRENT: usize = 2;
/// Gates of implementations of Git that Flux no longer has either (SRC-OPS-2).
const RETIRED_GATES: [&str; 3] = ["OptimizedGitClones", "ForceGoGitImplementation", "GitManagedTransport"];
/// Default of `--artifact-retention-ttl`.
const ARTIFACT_RETENTION_TTL: std::time::Duration = std::time::Duration::from_secs(60);
/// Gate of a reader of sources that this service does not need.
pub(crate) const DIRECT_SOURCE_FETCH: &str = "DirectSourceFetch";
/// Default of `--http-retry`.
pub(crate) const HTTP_RETRY: u32 = 9;
/// Feature gates of the service; retired ones are accepted without effect (SRC-OPS-2).
pub const GATES: [(&str, bool); 6] = [
    ("CacheSecretsAndConfigMaps", false),
    (WORKLOAD_IDENTITY, false),
    (RETIRED_GATES[0], true),
    (RETIRED_GATES[1], true),
    (RETIRED_GATES[2], false),
    (DIRECT_SOURCE_FETCH, false),
];

/// Fetches remote content and advertises it as artifacts.
#[derive(Parser, Debug, Clone)]
#[command(name = "source-controller", version)]
pub struct Args {
    /// Flags that every service has.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Receivers of events.
    #[command(flatten)]
    pub events: EventsArgs,
    /// Directory of the artifacts; it must exist.
    #[arg(long, default_value = "/data", env = "STORAGE_PATH")]
    pub storage_path: PathBuf,
    /// Address of the artifact server.
    #[arg(long, default_value = ":9090", env = "STORAGE_ADDRESS")]
    pub storage_addr: String,
    /// Address, or URL prefix, under which consumers reach the artifact server; derived from `--storage-addr` if empty.
    #[arg(long, default_value = "", env = "STORAGE_ADV_ADDR")]
    pub storage_adv_addr: String,
    /// Serve artifacts only to callers with a Kubernetes token (`Authorization: Bearer`) whose RBAC lets them get the object.
    #[arg(long, default_value_t = false, switch())]
    pub storage_authentication: bool,
    /// PEM certificate chain of the artifact server; read again when it changes.
    #[arg(long, requires = "storage_tls_key")]
    pub storage_tls_cert: Option<PathBuf>,
    /// PEM private key for `--storage-tls-cert`.
    #[arg(long, requires = "storage_tls_cert")]
    pub storage_tls_key: Option<PathBuf>,
    /// Accepted for compatibility, without effect: the newest `--artifact-retention-records` artifacts are kept
    /// whatever their age, and older ones are removed at once, as in Flux.
    #[arg(long, default_value = "1m")]
    pub artifact_retention_ttl: Duration,
    /// Number of artifacts kept for each object, including the current one.
    #[arg(long, default_value_t = 2)]
    pub artifact_retention_records: usize,
    /// Algorithm of artifact digests: sha256, sha384, sha512, blake3 or sha1.
    #[arg(long, default_value = "sha256")]
    pub artifact_digest_algo: String,
    /// Largest total size, in bytes, of the unpacked files of one layer, chart source, generator source, included
    /// artifact or bucket. With 0, the only limit is the free space of the volume, less a reserve of a twentieth of
    /// it (64 MiB at most).
    #[arg(long, default_value_t = 0)]
    pub untar_max_size: u64,
    /// Key exchange algorithms offered to SSH servers, the preferred one first; by default, those of Flux and of OpenSSH.
    #[arg(long, value_delimiter = ',')]
    pub ssh_kex_algos: Vec<String>,
    /// Host key algorithms accepted from SSH servers; by default, those of the known keys.
    #[arg(long, value_delimiter = ',')]
    pub ssh_hostkey_algos: Vec<String>,
    /// Largest Helm index in bytes.
    #[arg(long, default_value_t = 52_428_800)]
    pub helm_index_max_size: u64,
    /// Largest packaged chart in bytes.
    #[arg(long, default_value_t = 10_485_760)]
    pub helm_chart_max_size: u64,
    /// Largest file of a chart in bytes.
    #[arg(long, default_value_t = 5_242_880)]
    pub helm_chart_file_max_size: u64,
    /// Number of Helm repository indexes kept in memory. Only the charts in use are kept of each; 0 keeps none.
    #[arg(long, default_value_t = 0)]
    pub helm_cache_max_size: usize,
    /// Time that an index stays in memory after its last use.
    #[arg(long, default_value = "15m")]
    pub helm_cache_ttl: Duration,
    /// Interval between removals of expired indexes from memory.
    #[arg(long, default_value = "1m")]
    pub helm_cache_purge_interval: Duration,
    /// Settings for ArtifactGenerators.
    #[command(flatten)]
    pub generator: GeneratorArgs,
}

/// Flags of Flux's controller of ArtifactGenerators, with a prefix where this service has one of its own with another
/// default (SRC-OPS-3).
#[derive(clap::Args, Debug, Clone)]
pub struct GeneratorArgs {
    /// Number of ArtifactGenerators that are reconciled at the same time.
    #[arg(long, default_value_t = 10)]
    pub generator_concurrent: usize,
    /// Time before missing sources of an ArtifactGenerator are checked again.
    #[arg(long, default_value = "5s")]
    pub generator_requeue_dependency: Duration,
    /// Longest time for one reconciliation of an ArtifactGenerator.
    #[arg(long, default_value = "10m")]
    pub reconciliation_timeout: Duration,
    /// Accepted for compatibility, without effect: a missing artifact is tried again after
    /// --generator-requeue-dependency.
    #[arg(long, default_value_t = HTTP_RETRY)]
    pub http_retry: u32,
}

impl Args {
    /// The caps on indexes and charts.
    pub(crate) fn helm_limits(&self) -> weir_helm::Limits {
        weir_helm::Limits {
            index: self.helm_index_max_size,
            chart: self.helm_chart_max_size,
            file: self.helm_chart_file_max_size,
            ..weir_helm::Limits::default()
        }
    }

    /// The caps on what is downloaded and unpacked (SRC 14.6). Generators alone download by them, within the time of one of
    /// their runs.
    pub(crate) fn limits(&self) -> weir_artifact::Limits {
        weir_artifact::Limits {
            timeout: self.generator.reconciliation_timeout.to_std(),
            ..weir_artifact::Limits::on_disk(self.untar_max_size)
        }
    }

    /// Refuses to take tokens in plain text over HTTP where gRPC is TLS.
    ///
    /// # Errors
    /// With the flags that are missing.
    pub(crate) fn validate(&self) -> Result<(), ServiceError> {
        let is_plain = self.storage_tls_cert.is_none() && self.runtime.grpc_tls_cert.is_some();
        if self.storage_authentication && is_plain {
            let missing = "--storage-authentication with --grpc-tls-cert needs --storage-tls-cert and --storage-tls-key: \
                           tokens are not taken in plain text";
            return Err(ServiceError::Other(missing.to_owned()));
        }
        Ok(())
    }

    /// The flags and gates that are set and do nothing, with the reason (SRC-OPS-1, SRC-OPS-2).
    pub(crate) fn of_no_effect(&self, gates: &Gates) -> Vec<String> {
        let mut told = Vec::new();
        if self.artifact_retention_ttl.to_std() != ARTIFACT_RETENTION_TTL {
            told.push(
                "the flag --artifact-retention-ttl has no effect: --artifact-retention-records decides"
                    .to_owned(),
            );
        }
        let given = RETIRED_GATES.iter().filter(|gate| gates.is_given(gate));
        told.extend(given.map(|gate| format!("the feature gate {gate} has no effect: it is retired")));
        told
    }

    /// The address that artifact URLs start with (SRC-STO-2). `hostname` stands in for an address of all interfaces.
    pub(crate) fn advertised(&self, hostname: &str) -> String {
        let address = self.address(hostname);
        let has_scheme = address.starts_with("http://") || address.starts_with("https://");
        if self.storage_tls_cert.is_some() && !has_scheme { format!("https://{address}") } else { address }
    }

    fn address(&self, hostname: &str) -> String {
        if !self.storage_adv_addr.is_empty() {
            return self.storage_adv_addr.clone();
        }
        let (host, port) = self.storage_addr.rsplit_once(':').unwrap_or((&self.storage_addr, "80"));
        let host = match host {
            "" => "localhost",
            "0.0.0.0" => hostname,
            host => host,
        };
        format!("{host}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[], true)]
    #[case(&["--storage-authentication"], true)]
    #[case(&["--grpc-tls-cert=c", "--grpc-tls-key=k"], true)]
    #[case(&["--storage-authentication", "--grpc-tls-cert=c", "--grpc-tls-key=k"], false)]
    #[case(&["--storage-authentication", "--grpc-tls-cert=c", "--grpc-tls-key=k", "--storage-tls-cert=c", "--storage-tls-key=k"], true)]
    fn tokens_are_not_taken_in_plain_text_beside_tls(#[case] flags: &[&str], #[case] is_valid: bool) {
        let args = Args::parse_from(["source-controller"].iter().chain(flags));
        assert_eq!(args.validate().is_ok(), is_valid);
    }

    #[test]
    fn flags_and_gates_without_effect_are_told_when_they_are_set() {
        let told = |flags: &[&str]| {
            let args = Args::parse_from([&["source-controller"], flags].concat());
            let gates = Gates::parse(&GATES, &args.runtime.feature_gates.join(",")).unwrap();
            args.of_no_effect(&gates)
        };
        let all = told(&[
            "--artifact-retention-ttl=5m",
            "--feature-gates=OptimizedGitClones=true,ForceGoGitImplementation=false,GitManagedTransport=true",
        ]);
        let named = ["--artifact-retention-ttl", RETIRED_GATES[0], RETIRED_GATES[1], RETIRED_GATES[2]];
        assert_eq!(all.len(), named.len(), "{all:?}");
        assert!(all.iter().zip(named).all(|(line, name)| line.contains(&format!("{name} has no effect"))));
        assert!(told(&[]).is_empty() && told(&["--artifact-retention-ttl=60s"]).is_empty());
    }

    /// A large source on a slow way takes as long as a run may.
    #[rstest]
    #[case(&[], 10 * 60)]
    #[case(&["--reconciliation-timeout=1h"], 60 * 60)]
    fn downloads_of_generators_last_as_long_as_a_run(#[case] flags: &[&str], #[case] seconds: u64) {
        let args = Args::parse_from(["source-controller"].iter().chain(flags));
        assert_eq!(args.limits().timeout, std::time::Duration::from_secs(seconds));
    }

    #[rstest]
    #[case(&[], "localhost:9090")]
    #[case(&["--storage-addr=0.0.0.0:80"], "source-0:80")]
    #[case(&["--storage-addr=127.0.0.1:8000"], "127.0.0.1:8000")]
    #[case(&["--storage-addr=:80", "--storage-tls-cert=c", "--storage-tls-key=k"], "https://localhost:80")]
    #[case(&["--storage-adv-addr=http://x/y", "--storage-tls-cert=c", "--storage-tls-key=k"], "http://x/y")]
    #[case(&["--storage-adv-addr=source-controller.flux-system.svc.cluster.local."], "source-controller.flux-system.svc.cluster.local.")]
    fn advertised(#[case] flags: &[&str], #[case] expected: &str) {
        let args = Args::parse_from(["source-controller"].iter().chain(flags));
        assert_eq!(args.advertised("source-0"), expected);
    }
}
