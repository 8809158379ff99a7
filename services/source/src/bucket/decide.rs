//! The content of a bucket, and the part of it that becomes the artifact. Pure.

use std::collections::BTreeMap;

use weir_api::source::BucketSpec;
use weir_artifact::{Algorithm, Digest, RelPath};
use weir_bucket::Object;
use weir_ignore::{IGNORE_FILE, Matcher, Rules};

use crate::source::Failure;

pub(super) const GENERIC: &str = "generic";
pub(super) const AWS: &str = "aws";
pub(super) const GCP: &str = "gcp";
pub(super) const AZURE: &str = "azure";
pub(super) const LDAP: &str = "ldap";

/// The provider; what an old object does not say is `generic`.
pub(super) fn provider(spec: &BucketSpec) -> &str {
    spec.provider.as_deref().filter(|provider| !provider.is_empty()).unwrap_or(GENERIC)
}

/// Token services that do not go with the provider. The API server refuses them too; objects from before its rules are
/// refused here (SRC-BKT-7).
pub(super) fn check_sts(spec: &BucketSpec) -> Result<(), Failure> {
    let Some(sts) = &spec.sts else { return Ok(()) };
    let message = match (provider(spec), sts.provider.as_str()) {
        (AWS, AWS) if sts.secret_ref.is_some() => {
            format!("spec.sts.secretRef is not required for the '{AWS}' STS provider")
        }
        (AWS, AWS) if sts.cert_secret_ref.is_some() => {
            format!("spec.sts.certSecretRef is not required for the '{AWS}' STS provider")
        }
        (AWS, AWS) | (GENERIC, LDAP) => return Ok(()),
        (provider @ (AWS | GENERIC), sts) => {
            format!("STS provider '{sts}' is not supported for '{provider}' bucket provider")
        }
        (provider, _) => format!("STS configuration is not supported for '{provider}' bucket provider"),
    };
    Err(Failure::fetch("InvalidSTSConfiguration", message).stalled())
}

/// The objects that become the artifact, by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Index {
    objects: BTreeMap<String, Object>,
}

impl Index {
    /// Of a listing, what is a file, is not the ignore file, and is not ignored (SRC-BKT-1, DEV 5).
    pub(super) fn of(listed: Vec<Object>, matcher: &Matcher) -> Self {
        let wanted = listed.into_iter().filter(|object| {
            !object.key.ends_with('/') && object.key != IGNORE_FILE && !matcher.excludes(&object.key, false)
        });
        Self { objects: wanted.map(|object| (object.key.clone(), object)).collect() }
    }

    /// Returns true when a revision, whichever algorithm it is of, is that of these objects.
    pub(super) fn is_at(&self, revision: &str) -> bool {
        Digest::parse(revision).is_ok_and(|digest| self.digest(digest.algorithm()) == digest)
    }

    /// The revision: a digest over keys and etags in the order of the keys' bytes (SRC-BKT-2).
    pub(super) fn digest(&self, algorithm: Algorithm) -> Digest {
        let lines = self.objects.values().map(|object| format!("{} {}\n", object.key, object.etag));
        Digest::of(algorithm, lines.collect::<String>().as_bytes())
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// Bytes of all objects.
    pub(super) fn size(&self) -> u64 {
        self.objects.values().map(|object| object.size).fold(0, u64::saturating_add)
    }

    /// Records an object as it was read: its etag, or that it is gone (SRC-BKT-3).
    pub(super) fn note(&mut self, key: &str, etag: Option<String>) {
        match (etag, self.objects.get_mut(key)) {
            (Some(etag), Some(object)) => object.etag = etag,
            (None, _) => drop(self.objects.remove(key)),
            (Some(_), None) => {}
        }
    }
}

/// The rules of a bucket: its ignore file and `spec.ignore`, without any default (SRC-BKT-5, DEV 5).
pub(super) fn matcher(ignore_file: Option<&str>, spec: Option<&str>) -> Matcher {
    let mut rules = Rules::default();
    for text in [ignore_file, spec].into_iter().flatten() {
        rules.read(text, &[]);
    }
    rules.into_plain_matcher()
}

/// Returns the path of an object in the artifact. Doubled slashes count as one, as on any file system; what leads elsewhere is
/// refused (SRC-SCK-1).
pub(super) fn path(key: &str, depth: usize) -> Result<RelPath, String> {
    // Clients of HTTP resolve such parts, and would ask for another object.
    if key.split('/').any(|part| part == ".") {
        return Err(format!("path '{key}' has a component '.'"));
    }
    let path = RelPath::parse(key.trim_start_matches('/')).map_err(|error| error.to_string())?;
    if path.depth() > depth {
        return Err(format!("path '{key}' is nested deeper than {depth}"));
    }
    Ok(path)
}

/// Returns the message about a stored artifact.
pub(super) fn stored_event(files: usize, name: &str) -> String {
    format!("stored artifact with {files} fetched files from '{name}' bucket")
}

/// The bucket, or something in it, cannot be had.
pub(super) fn failed(message: impl Into<String>) -> Failure {
    Failure::fetch("BucketOperationFailed", message)
}

/// Makes the failure of a run that has no identity.
pub(super) fn unauthenticated(message: impl Into<String>) -> Failure {
    Failure::fetch("AuthenticationFailed", message)
}

#[cfg(test)]
mod tests;
