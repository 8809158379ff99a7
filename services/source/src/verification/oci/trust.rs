//! The signature that an object and its Secrets ask of an artifact.

use weir_access::{Secret, Secrets};
use weir_api::source::OciRepositoryVerification;
use weir_artifact::Digest;
use weir_runtime::ObjectKey;

use super::is_keyless;
use crate::verification::evidence;

/// The specification with the content of its Secrets.
pub(super) struct OciTrust {
    pub(super) spec: OciRepositoryVerification,
    /// The Secret of keys or of trust policy and certificates.
    pub(super) secret: Option<Secret>,
    /// The Secret of the trusted root.
    pub(super) root: Option<Secret>,
}

impl OciTrust {
    /// Reads the Secrets of a specification.
    ///
    /// # Errors
    /// When one of them is not there.
    pub(super) async fn read(
        secrets: &Secrets,
        object: &ObjectKey,
        spec: &OciRepositoryVerification,
    ) -> Result<Self, String> {
        let mut trust = Self { spec: spec.clone(), secret: None, root: None };
        let secret = secrets.find(&object.namespace, spec.secret_ref.as_ref()).await;
        trust.secret = secret.map_err(|error| error.to_string())?;
        let root = secrets.find(&object.namespace, spec.trusted_root_secret_ref.as_ref()).await;
        trust.root = root
            .map_err(|error| format!("failed to read trusted root from secret '{}': {error}", error.place))?;
        Ok(trust)
    }

    /// All that a verdict about an artifact depends on.
    pub(super) fn evidence(&self, artifact: &str, generation: i64) -> Digest {
        let spec = serde_json::to_vec(&self.spec).unwrap_or_default();
        let generation = generation.to_be_bytes();
        let contents = [&self.secret, &self.root].into_iter().flatten().flat_map(|secret| &secret.data);
        let contents = contents.flat_map(|(key, value)| [key.as_bytes(), value.as_slice()]);
        evidence([artifact.as_bytes(), &generation, &spec].into_iter().chain(contents))
    }

    /// Returns true when anyone at all may have signed: keyless, and no identity is asked for (source.md 20, line
    /// 28).
    pub(super) fn takes_anyone(&self) -> bool {
        self.is_keyless() && self.spec.match_oidc_identity.is_empty()
    }

    pub(super) fn is_keyless(&self) -> bool {
        is_keyless(&self.spec)
    }
}
