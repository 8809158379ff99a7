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
    #[arg(long, default_value_t = VALUE_LOG_FILE_SIZE)]
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

impl Args {
    /// The flags of old versions that are set, each with advice (AV-3).
    pub(crate) fn old_flags(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let without_effect = "has no effect, set spec.provider of the ImageRepository instead";
        let flags = [
            (self.aws_autologin_for_ecr, "aws-autologin-for-ecr", "is deprecated, set spec.provider instead"),
            (self.azure_autologin_for_acr, "azure-autologin-for-acr", without_effect),
            (self.gcp_autologin_for_gcr, "gcp-autologin-for-gcr", without_effect),
            (
                self.storage_value_log_file_size != VALUE_LOG_FILE_SIZE,
                "storage-value-log-file-size",
                "has no effect, there is no value log",
            ),
        ];
        flags.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, flag, advice)| (flag, advice))
    }
}

/// Default of `--storage-value-log-file-size`, in bytes.
const VALUE_LOG_FILE_SIZE: i64 = 268_435_456;

/// Number of concurrent runs by default (`--concurrent`).
pub(crate) const CONCURRENT: usize = 4;

/// Feature gates and their defaults (image spec 9.2); the file store of tags is the only one, so its gate changes nothing.
pub const GATES: [(&str, bool); 3] =
    [(WORKLOAD_IDENTITY, false), ("CacheSecretsAndConfigMaps", false), ("FluxStorage", true)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_flags_are_told() {
        let told = |flags: &[&str]| {
            let args = Args::parse_from([&["image-reflector-controller"], flags].concat());
            args.old_flags().map(|(flag, _)| format!("--{flag}")).collect::<Vec<_>>()
        };
        let all = ["--aws-autologin-for-ecr", "--azure-autologin-for-acr", "--gcp-autologin-for-gcr"];
        assert_eq!(told(&all), all);
        assert_eq!(told(&["--gcp-autologin-for-gcr=false", all[1]]), [all[1]]);
        assert_eq!(told(&["--storage-value-log-file-size=1"]), ["--storage-value-log-file-size"]);
        assert_eq!(told(&[]), [""; 0]);
    }
}
