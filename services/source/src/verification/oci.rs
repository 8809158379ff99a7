//! Signatures of artifacts in registries, for `OCIRepository` and for charts of OCI registries (source.md 5.4,
//! SRC-CHT-10): who is trusted is read from the object and its Secrets, the signatures come from the registry, by the
//! digest of what will be pulled (SRC-SCK-5).

use super::evidence;
use crate::secrets::{SecretData, Secrets, shown};
use crate::storage::Storage;
use std::sync::Arc;
use weir_api::source::OciRepositoryVerification;
use weir_artifact::Digest;
use weir_oci::{Error, Registry};
use weir_runtime::ObjectKey;
use weir_verify::cosign::{
    BUNDLE_TYPE, CosignError, Identity, Keyless, MAX_SIGNATURE_BYTES, PublicKeys, SIMPLE_SIGNING_TYPE,
    Signature, SimpleSigning, Subject, Trust, TrustError,
};

const COSIGN: &str = "cosign";
const TRUSTED_ROOT_KEY: &str = "trusted_root.json";
/// Bundles of one artifact that are looked at; each is fetched on its own. Builds attach a handful.
const MAX_BUNDLES: usize = 50;

/// How an artifact has to be signed, as an object and its Secrets say.
///
/// ```ignore
/// let trust = OciTrust::read(&secrets, key, verify).await.map_err(failed)?;
/// if !verdicts.hold(key, &trust.evidence(&revision, generation)) {
///     let verdict = trust.verify(&mut registry, &digest, &storage).await.map_err(failed)?;
///     verdicts.note(key, trust.evidence(&revision, generation));
/// }
/// ```
pub(crate) struct OciTrust {
    spec: OciRepositoryVerification,
    /// The Secret of keys and its name.
    secret: Option<(String, SecretData)>,
    /// The Secret of the trusted root and its name.
    root: Option<(String, SecretData)>,
}

/// What became of a verification that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A signature is good.
    Verified,
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
            trust.secret = Some((shown(object, &reference.name), data));
        }
        if let Some(reference) = &spec.trusted_root_secret_ref {
            let place = shown(object, &reference.name);
            let read = secrets.secret(&object.namespace, &reference.name).await;
            let data = read.map_err(|error| {
                trust.failed(format!("failed to read trusted root from secret '{place}': {error}"))
            })?;
            trust.root = Some((place, data));
        }
        Ok(trust)
    }

    /// All that a verdict about a revision depends on.
    pub(crate) fn evidence(&self, revision: &str, generation: i64) -> Digest {
        let spec = serde_json::to_vec(&self.spec).unwrap_or_default();
        let generation = generation.to_be_bytes();
        let contents = [&self.secret, &self.root].into_iter().flatten().flat_map(|(_, data)| data);
        let contents = contents.flat_map(|(key, value)| [key.as_bytes(), value.as_slice()]);
        evidence([revision.as_bytes(), &generation, &spec].into_iter().chain(contents))
    }

    /// Whether anyone at all may have signed: keyless, and no identity is asked for (source.md 20, line 28).
    pub(crate) fn takes_anyone(&self) -> bool {
        self.is_keyless() && self.spec.match_oidc_identity.is_empty()
    }

    /// Looks for a good signature of the manifest with a digest.
    ///
    /// # Errors
    /// When there is none, or it cannot be known; the whole sentence for the condition.
    pub(crate) async fn verify(
        &self,
        registry: &mut Registry,
        digest: &Digest,
        storage: &Storage,
    ) -> Result<Verdict, String> {
        let reference = format!("{}@{digest}", registry.repository());
        let verified = match self.spec.provider.as_str() {
            COSIGN => self.verify_cosign(registry, &reference, digest, storage).await,
            other => Err(format!("unsupported verification provider: {other}")),
        };
        verified.map_err(|error| self.failed(error))
    }

    async fn verify_cosign(
        &self,
        registry: &mut Registry,
        reference: &str,
        digest: &Digest,
        storage: &Storage,
    ) -> Result<Verdict, String> {
        let trust = Arc::new(self.cosign_trust()?);
        let mut causes = Vec::new();
        let (mut bundles, unlisted) = bundles(registry, digest).await;
        let mut has_bundles = false;
        while let Some(manifest) = bundles.pop() {
            has_bundles = true;
            let found = registry.attachments(&manifest, MAX_SIGNATURE_BYTES as u64).await;
            let found = found.map_err(|error| error.to_string())?;
            let signatures = found.into_iter().take(1).map(|layer| Signature::Bundle(layer.content.to_vec()));
            match judge(&trust, digest, signatures.collect(), storage).await? {
                Ok(()) => return Ok(Verdict::Verified),
                Err(error) => add(&mut causes, error),
            }
        }
        if !has_bundles {
            let signatures = simple(registry, digest).await.map_err(|error| error.to_string())?;
            if let (true, Some(error)) = (signatures.is_empty(), unlisted) {
                return Err(error.to_string());
            }
            match judge(&trust, digest, signatures, storage).await? {
                Ok(()) => return Ok(Verdict::Verified),
                Err(error) => add(&mut causes, error),
            }
        }
        tracing::info!(artifact = reference, ?causes, "no signature is good");
        if self.is_keyless() {
            let error =
                if causes.is_empty() { CosignError::NoSignatures } else { CosignError::NoMatch { causes } };
            return Err(error.to_string());
        }
        Err(format!("no matching signatures were found for '{reference}'"))
    }

    fn cosign_trust(&self) -> Result<Trust, String> {
        if let Some((place, data)) = &self.secret {
            return match PublicKeys::from_secret(data) {
                Ok(keys) => Ok(Trust::Keys(keys)),
                Err(TrustError::NoKeys) => Err(format!("no public keys found in secret '{place}'")),
                Err(error) => Err(error.to_string()),
            };
        }
        let root = match &self.root {
            Some((place, data)) => Some(data.get(TRUSTED_ROOT_KEY).ok_or_else(|| {
                format!(
                    "failed to read trusted root from secret '{place}': key '{TRUSTED_ROOT_KEY}' not found"
                )
            })?),
            None => None,
        };
        let identities = self.spec.match_oidc_identity.iter();
        let identities: Vec<Identity> = identities
            .map(|it| Identity { issuer: it.issuer.clone(), subject: it.subject.clone() })
            .collect();
        let keyless =
            Keyless::new(root.map(Vec::as_slice), &identities).map_err(|error| error.to_string())?;
        Ok(Trust::Keyless(Box::new(keyless)))
    }

    fn is_keyless(&self) -> bool {
        self.spec.provider == COSIGN && self.spec.secret_ref.is_none()
    }

    fn failed(&self, error: impl std::fmt::Display) -> String {
        let provider = if self.is_keyless() { "cosign keyless" } else { &self.spec.provider };
        format!("failed to verify the signature using provider '{provider}': {error}")
    }
}

/// The manifests of a digest's bundles, the newest last, or why the registry does not list them.
async fn bundles(registry: &mut Registry, digest: &Digest) -> (Vec<Digest>, Option<Error>) {
    match registry.referrers(digest).await {
        Ok(found) => {
            let bundles = found.into_iter().filter(|found| found.artifact_type.starts_with(BUNDLE_TYPE));
            (bundles.take(MAX_BUNDLES).map(|found| found.digest).collect(), None)
        }
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// The signatures that cosign before its third version put beside a digest.
async fn simple(registry: &mut Registry, digest: &Digest) -> Result<Vec<Signature>, Error> {
    let Some(manifest) = registry.cosign_signatures(digest).await? else { return Ok(Vec::new()) };
    let layers = registry.attachments(&manifest, MAX_SIGNATURE_BYTES as u64).await?;
    let layers = layers.into_iter().filter(|layer| layer.media_type == SIMPLE_SIGNING_TYPE);
    Ok(layers
        .map(|layer| SimpleSigning { payload: layer.content.to_vec(), annotations: layer.annotations })
        .map(Signature::Simple)
        .collect())
}

/// Judges signatures where computing does not keep others waiting.
async fn judge(
    trust: &Arc<Trust>,
    digest: &Digest,
    signatures: Vec<Signature>,
    storage: &Storage,
) -> Result<Result<(), CosignError>, String> {
    let (trust, digest) = (trust.clone(), digest.to_string());
    let judge = move || trust.verify(Subject { digest: &digest }, &signatures);
    storage.blocking(judge).await.map_err(|error| error.to_string())
}

fn add(causes: &mut Vec<String>, error: CosignError) {
    let CosignError::NoMatch { causes: more } = error else { return };
    for cause in more {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
}
