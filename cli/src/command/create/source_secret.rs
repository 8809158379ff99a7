//! The Secret that `weir create source` makes of credentials on the command line (CLI-CRE02, CLI-CRE04, CLI-CRE05).

use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use super::credentials::{self, Entries};
use super::flag::Flags;
use super::secret::{self, Draft, TlsFlags};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::input;
use crate::kind::Kind;
use crate::output::progress;

/// Flags of HelmRepositories about TLS.
const TLS_FLAGS: TlsFlags = TlsFlags { certificate: "cert-file", key: "key-file", authority: "ca-file" };

/// Makes the Secret of a new source and returns its name; nothing when no credentials are given, or a Secret is named.
pub(super) async fn apply(
    kind: &Kind,
    name: &str,
    flags: &Flags<'_>,
    labels: &Map<String, Value>,
    cluster: &Cluster,
) -> Result<Option<String>, Error> {
    if flags.text("secret-ref").is_some() {
        return Ok(None);
    }
    let draft = |name: &str| Draft::new(name, &cluster.namespace, Map::new());
    let draft = match kind.name {
        "GitRepository" => of_git(flags, draft(name))?.with_host_keys().await?,
        // Of these Secrets alone, Flux labels those of Buckets.
        "Bucket" => Draft { labels: labels.clone(), ..of_bucket(flags, draft(&format!("bucket-{name}"))) },
        "HelmRepository" => secret::helm(flags, draft(&format!("helm-{name}")), TLS_FLAGS)?,
        _ => return Ok(None),
    };
    if draft.entries.is_empty() {
        return Ok(None);
    }
    if let Some(known_hosts) = draft.entries.get("known_hosts") {
        let known_hosts = known_hosts.expose_secret().trim_end();
        progress::success(&format!("collected public key from SSH server:\n{known_hosts}"));
    }
    if let Some(key) = &draft.public_key {
        progress::generating(&format!("deploy key: {}", key.trim_end()));
        let question = "Have you added the deploy key to your repository";
        if !flags.is_on("silent") && !input::confirm(question)? {
            return Err(Error::Aborted);
        }
    }
    let whose = if kind.name == "Bucket" { "the bucket" } else { "repository" };
    progress::action(&format!("applying secret with {whose} credentials"));
    draft.apply(cluster).await?;
    progress::success("authentication configured");
    Ok(Some(draft.name))
}

fn of_git(flags: &Flags<'_>, draft: Draft) -> Result<Draft, Error> {
    let url = flags.text("url").unwrap_or_default();
    let scheme = credentials::git_scheme(url)?;
    if scheme == "ssh" {
        let (identity, entries) = credentials::key_pair(flags)?;
        let (host, public_key) = (Some(credentials::ssh_host(url)?), Some(identity.public));
        return Ok(Draft { entries, host, public_key, ..draft });
    }
    let mut entries = credentials::login(flags).unwrap_or_default();
    entries.extend(credentials::authority(flags, "ca-file")?);
    if scheme == "http" && !entries.is_empty() {
        progress::warning("insecure configuration: credentials configured for an HTTP URL");
    }
    Ok(Draft { entries, ..draft })
}

fn of_bucket(flags: &Flags<'_>, draft: Draft) -> Draft {
    let keys = flags.text("access-key").zip(flags.secret("secret-key"));
    let entries = keys.map(|(access, secret)| {
        Entries::from([("accesskey".to_owned(), access.into()), ("secretkey".to_owned(), secret.clone())])
    });
    Draft { entries: entries.unwrap_or_default(), ..draft }
}
