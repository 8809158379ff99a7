//! Signatures of artifacts in registries, for `OCIRepository` and for charts of OCI registries (source.md 5.4,
//! SRC-CHT-10): who is trusted is read from the object and its Secrets, the signatures come from the registry, by the
//! digest of what will be pulled (SRC-SCK-5).

mod cosign;
mod notation;

use super::evidence;
use crate::secrets::{SecretData, Secrets, shown};
use crate::storage::Storage;
use jiff::Timestamp;
use weir_api::source::OciRepositoryVerification;
use weir_artifact::Digest;
use weir_oci::Registry;
use weir_runtime::ObjectKey;

const COSIGN: &str = "cosign";
const NOTATION: &str = "notation";

/// How an artifact has to be signed, as an object and its Secrets say.
///
/// Usage, before anything is pulled, with the digest that the reference stands for:
///
/// ```ignore
/// let trust = OciTrust::read(&self.secrets, attempt.key(), verify).await.map_err(failed)?;
/// let evidence = trust.evidence(&revision, generation);
/// if !self.verdicts.hold(attempt.key(), &evidence) {
///     let verdict = trust.verify(&mut registry, &digest, &self.storage, now).await.map_err(failed)?;
///     self.verdicts.note(attempt.key(), evidence);
/// }
/// ```
pub(crate) struct OciTrust {
    spec: OciRepositoryVerification,
    /// The Secret of keys or of trust policy and certificates.
    secret: Option<NamedSecret>,
    /// The Secret of the trusted root.
    root: Option<NamedSecret>,
}

/// A Secret's data and how it is called in messages.
struct NamedSecret {
    place: String,
    data: SecretData,
}

/// What became of a verification that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A signature is good.
    Verified,
    /// The trust policy lets the artifact through whoever signed it: nothing may be said of its signature.
    Ignored,
}

/// Why nothing is verified; the whole sentence for the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unverified {
    /// Nobody can be trusted: specification or Secrets are at fault.
    Trust(String),
    /// No signature is good, or the registry does not give them.
    Signature(String),
}

impl Unverified {
    /// The sentence.
    pub(crate) fn into_message(self) -> String {
        match self {
            Unverified::Trust(message) | Unverified::Signature(message) => message,
        }
    }
}

impl OciTrust {
    /// Reads the Secrets of a specification.
    ///
    /// # Errors
    /// When one of them is not there; the whole sentence for the condition.
    pub(crate) async fn read(
        secrets: &Secrets,
        object: &ObjectKey,
        spec: &OciRepositoryVerification,
    ) -> Result<OciTrust, String> {
        let mut trust = OciTrust { spec: spec.clone(), secret: None, root: None };
        if let Some(reference) = &spec.secret_ref {
            let read = secrets.secret(&object.namespace, &reference.name).await;
            let data = read.map_err(|error| trust.failed(error))?;
            trust.secret = Some(NamedSecret { place: shown(object, &reference.name), data });
        }
        if let Some(reference) = &spec.trusted_root_secret_ref {
            let place = shown(object, &reference.name);
            let read = secrets.secret(&object.namespace, &reference.name).await;
            let data = read.map_err(|error| {
                trust.failed(format!("failed to read trusted root from secret '{place}': {error}"))
            })?;
            trust.root = Some(NamedSecret { place, data });
        }
        Ok(trust)
    }

    /// All that a verdict about a revision depends on.
    pub(crate) fn evidence(&self, revision: &str, generation: i64) -> Digest {
        let spec = serde_json::to_vec(&self.spec).unwrap_or_default();
        let generation = generation.to_be_bytes();
        let contents = [&self.secret, &self.root].into_iter().flatten().flat_map(|secret| &secret.data);
        let contents = contents.flat_map(|(key, value)| [key.as_bytes(), value.as_slice()]);
        evidence([revision.as_bytes(), &generation, &spec].into_iter().chain(contents))
    }

    /// Whether anyone at all may have signed: keyless, and no identity is asked for (source.md 20, line 28).
    pub(crate) fn takes_anyone(&self) -> bool {
        self.is_keyless() && self.spec.match_oidc_identity.is_empty()
    }

    /// Looks for a good signature of the manifest with a digest. `now` decides what is expired.
    ///
    /// # Errors
    /// When there is none, or it cannot be known.
    pub(crate) async fn verify(
        &self,
        registry: &mut Registry,
        digest: &Digest,
        storage: &Storage,
        now: Timestamp,
    ) -> Result<Verdict, Unverified> {
        let reference = format!("{}@{digest}", registry.repository());
        let verified = match self.spec.provider.as_str() {
            COSIGN => cosign::verify(self, registry, &reference, digest, storage).await,
            NOTATION => notation::verify(self, registry, &reference, digest, storage, now).await,
            other => Err(Unverified::Trust(format!("unsupported verification provider: {other}"))),
        };
        verified.map_err(|error| match error {
            Unverified::Trust(error) => Unverified::Trust(self.failed(error)),
            Unverified::Signature(error) => Unverified::Signature(self.failed(error)),
        })
    }

    fn is_keyless(&self) -> bool {
        self.spec.provider == COSIGN && self.spec.secret_ref.is_none()
    }

    fn failed(&self, error: impl std::fmt::Display) -> String {
        let provider = if self.is_keyless() { "cosign keyless" } else { &self.spec.provider };
        format!("failed to verify the signature using provider '{provider}': {error}")
    }
}
