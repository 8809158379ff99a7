//! Flags of the service, with Flux's names and defaults (KS 15).

use clap::Parser;
use weir_runtime::args::{EventsArgs, RuntimeArgs, Switch};
use weir_runtime::gate::WORKLOAD_IDENTITY;

/// Keeps clusters equal to what Kustomizations ask for.
#[derive(Parser, Debug, Clone)]
#[command(name = "kustomize-controller", version)]
pub struct Args {
    /// Flags that every service has.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Receivers of events.
    #[command(flatten)]
    pub events: EventsArgs,
    /// Number of objects of one Kustomization that are applied at the same time.
    #[arg(long, default_value_t = 4)]
    pub concurrent_ssa: usize,
    /// Times that a download is tried again.
    #[arg(long, default_value_t = 9)]
    pub http_retry: u32,
    /// Total size, in bytes, of the files and manifests that all builds and applies may hold together; a build that
    /// needs more fails. The memory used is about ten times this number.
    #[arg(long, default_value_t = 64 << 20)]
    pub max_build_bytes: u64,
    /// Refuse remote bases in kustomization files.
    #[arg(long, default_value_t = false, switch())]
    pub no_remote_bases: bool,
    /// Field managers whose fields are taken over, in addition to kubectl's; may be given several times.
    #[arg(long)]
    pub override_manager: Vec<String>,
    /// Kinds that are applied in a separate stage, `group/Kind,…`.
    #[arg(long, value_delimiter = ',')]
    pub custom_apply_stage_kinds: Vec<String>,
    /// ServiceAccount for decryption where an object names none.
    #[arg(long, default_value = "")]
    pub default_decryption_service_account: String,
    /// ServiceAccount for kubeconfigs of cloud providers where an object names none.
    #[arg(long, default_value = "")]
    pub default_kubeconfig_service_account: String,
    /// Secret in the service's namespace with age keys for all Kustomizations.
    #[arg(long, default_value = "")]
    pub sops_age_secret: String,
    /// ConfigMap in the service's namespace with login paths of Vault.
    #[arg(long, default_value = "")]
    pub sops_vault_configmap: String,
    /// Allow kubeconfigs of remote clusters to run programs.
    #[arg(long, default_value_t = false, switch())]
    pub insecure_kubeconfig_exec: bool,
    /// Allow kubeconfigs of remote clusters to skip the check of certificates.
    #[arg(long, default_value_t = false, switch())]
    pub insecure_kubeconfig_tls: bool,
    /// Largest number of objects of a Kustomization to prune at once: a number, a part of an inventory of 10 or more
    /// objects (`50%`), or both (`20,50%`). With a limit, Namespaces, CustomResourceDefinitions and
    /// PersistentVolumeClaims are never pruned without a confirmation.
    #[arg(long, default_value = "none")]
    pub prune_limit: String,
    /// `host:port` of Weir's source service; artifacts come from it as streams instead of over HTTP.
    #[arg(long, default_value = "")]
    pub source_grpc_addr: String,
}

/// Number of concurrent runs by default (`--concurrent`).
pub(crate) const CONCURRENT: usize = 4;

/// Feature gates and their defaults (KS 15).
pub const GATES: [(&str, bool); 12] = [
    (STRICT_SUBSTITUTIONS, true),
    (ADDITIVE_CEL, false),
    ("CacheSecretsAndConfigMaps", false),
    (CANCEL_HEALTH_CHECK, false),
    (DIRECT_SOURCE_FETCH, false),
    (DISABLE_CONFIG_WATCHERS, false),
    (DISABLE_FAIL_FAST, false),
    ("DisableStatusPollerCache", true),
    (GROUP_CHANGE_LOG, false),
    (EXTERNAL_ARTIFACT, true),
    (MIGRATE_API_VERSION, false),
    (WORKLOAD_IDENTITY, false),
];

/// Gate: unset variables are errors (KS-ENV-20).
pub(crate) const STRICT_SUBSTITUTIONS: &str = "StrictPostBuildSubstitutions";
/// Gate: a `readyExpr` comes on top of the built-in checks (KS-DEP-4).
pub(crate) const ADDITIVE_CEL: &str = "AdditiveCELDependencyCheck";
/// Gate: a failed object does not end a health check (KS-HC-5).
pub(crate) const DISABLE_FAIL_FAST: &str = "DisableFailFastBehavior";
/// Gate: a health check that gives way to a newer run is told; turned off, the newer run waits for it (KS-HC-30, KS-HC-32).
pub(crate) const CANCEL_HEALTH_CHECK: &str = "CancelHealthCheckOnNewRevision";
/// Gate: sources are read from the API server instead of the watch cache (KS-SRC-8).
pub(crate) const DIRECT_SOURCE_FETCH: &str = "DirectSourceFetch";
/// Gate: Secrets and ConfigMaps wake nobody (KS-REC-6).
pub(crate) const DISABLE_CONFIG_WATCHERS: &str = "DisableConfigWatchers";
/// Gate: the log groups objects by what was done to them (KS-SSA-92).
pub(crate) const GROUP_CHANGE_LOG: &str = "GroupChangeLog";
/// Gate: field managers of other API versions become those of the desired one (KS-SSA-22).
pub(crate) const MIGRATE_API_VERSION: &str = "MigrateAPIVersion";
/// Gate: sources of kind ExternalArtifact (KS-SRC-3).
pub(crate) const EXTERNAL_ARTIFACT: &str = "ExternalArtifact";
