//! Cosign: bundles that refer to the artifact, else the signatures that versions before 3 put beside it (SRC-OCI-25).

use std::sync::Arc;

use weir_access::Secret;
use weir_artifact::Digest;
use weir_oci::{Error, Registry};
use weir_verify::cosign::{
    BUNDLE_TYPE, CosignError, Identity, Keyless, MAX_SIGNATURE_BYTES, PublicKeys, SIMPLE_SIGNING_TYPE,
    Signature, SimpleSigning, Trust, TrustError,
};

use super::trust::OciTrust;
use super::{Case, OciVerifier, Unverified, Verdict, log};

const TRUSTED_ROOT_KEY: &str = "trusted_root.json";
/// Bundles of one artifact that are looked at; each is fetched on its own. Builds attach a handful.
const MAX_BUNDLES: usize = 50;
/// Signatures of one artifact that are looked up in a transparency log; who signs today brings its word along.
const MAX_LOOKED_UP: usize = 5;

/// Looks for a good signature.
pub(super) async fn verify(verifier: &OciVerifier, case: Case<'_>) -> Result<Verdict, Unverified> {
    let Case { trust, registry, reference, digest } = case;
    let read = Arc::new(read(trust).map_err(Unverified::Trust)?);
    let judge = Judge { verifier, trust: read, digest: digest.to_string() };
    match judge.search(registry, digest).await.map_err(Unverified::Signature)? {
        Search::Good => Ok(Verdict::Verified),
        Search::NoneGood { causes } => {
            tracing::info!(artifact = reference, ?causes, "no signature is good");
            let nothing = format!("no matching signatures were found for '{reference}'");
            Err(match (trust.is_keyless(), causes.is_empty()) {
                (false, false) => Unverified::Signature(nothing),
                (false, true) => Unverified::Unsigned(nothing),
                (true, true) => Unverified::Signature(CosignError::NoSignatures.to_string()),
                (true, false) => Unverified::Signature(CosignError::NoMatch { causes }.to_string()),
            })
        }
    }
}

/// The end of a search for a good signature.
enum Search {
    Good,
    /// No signature is good; with what is wrong with each.
    NoneGood {
        causes: Vec<String>,
    },
}

struct Judge<'a> {
    verifier: &'a OciVerifier,
    trust: Arc<Trust>,
    digest: String,
}

impl Judge<'_> {
    /// Looks at what is attached, one bundle in memory at a time.
    async fn search(&self, registry: &mut Registry, digest: &Digest) -> Result<Search, String> {
        let mut causes = Vec::new();
        let (bundles, unlisted) = bundles(registry, digest).await;
        for manifest in &bundles {
            let found = registry.attachments(manifest, MAX_SIGNATURE_BYTES as u64).await;
            let found = found.map_err(|error| error.to_string())?;
            let bundle = found.into_iter().take(1).map(|layer| Signature::Bundle(layer.content.to_vec()));
            if self.is_good(bundle.collect(), &mut causes).await? {
                return Ok(Search::Good);
            }
        }
        if bundles.is_empty() {
            let signatures = simple(registry, digest).await.map_err(|error| error.to_string())?;
            if let (true, Some(error)) = (signatures.is_empty(), unlisted) {
                return Err(error.to_string());
            }
            let signatures = self.logged(signatures, registry, &mut causes).await;
            if self.is_good(signatures, &mut causes).await? {
                return Ok(Search::Good);
            }
        }
        Ok(Search::NoneGood { causes })
    }

    /// The signatures that can be judged: with certificates, those of which a log knows, or for which one is not asked.
    async fn logged(
        &self,
        signatures: Vec<SimpleSigning>,
        registry: &Registry,
        causes: &mut Vec<String>,
    ) -> Vec<Signature> {
        let Trust::Keyless(keyless) = &*self.trust else {
            return signatures.into_iter().map(Signature::Simple).collect();
        };
        let (mut logged, mut asked) = (Vec::new(), 0);
        for signature in signatures {
            let known = match signature.log_query() {
                None => Ok(signature),
                Some(_) if asked == MAX_LOOKED_UP => Err(format!(
                    "more than {MAX_LOOKED_UP} signatures come without the word of a transparency log"
                )),
                Some(query) => {
                    asked += 1;
                    let answer = log::ask(query, keyless.log_url(), &self.verifier.clients, registry).await;
                    answer.and_then(|answer| signature.with_log_answer(&answer))
                }
            };
            match known {
                Ok(signature) => logged.push(Signature::Simple(signature)),
                Err(cause) if causes.contains(&cause) => {}
                Err(cause) => causes.push(cause),
            }
        }
        logged
    }

    /// Judges signatures where computing does not keep others waiting, and notes what is wrong with them.
    async fn is_good(&self, signatures: Vec<Signature>, causes: &mut Vec<String>) -> Result<bool, String> {
        let (trust, digest) = (self.trust.clone(), self.digest.clone());
        let judge = move || trust.verify(&digest, &signatures);
        match self.verifier.storage.blocking(judge).await.map_err(|error| error.to_string())? {
            Ok(()) => return Ok(true),
            Err(CosignError::NoSignatures) => {}
            Err(CosignError::NoMatch { causes: more }) => {
                let new: Vec<String> = more.into_iter().filter(|cause| !causes.contains(cause)).collect();
                causes.extend(new);
            }
        }
        Ok(false)
    }
}

/// Keys if there is a Secret of keys, else a Sigstore instance and identities.
fn read(trust: &OciTrust) -> Result<Trust, String> {
    if let Some(Secret { place, data, .. }) = &trust.secret {
        return match PublicKeys::from_secret(data) {
            Ok(keys) => Ok(Trust::Keys(keys)),
            Err(TrustError::NoKeys) => Err(format!("no public keys found in secret '{place}'")),
            Err(error) => Err(error.to_string()),
        };
    }
    let root = match &trust.root {
        Some(Secret { place, data, .. }) => Some(data.get(TRUSTED_ROOT_KEY).ok_or_else(|| {
            format!(
                "failed to read trusted root from secret '{place}': '{TRUSTED_ROOT_KEY}' not found in secret '{place}'"
            )
        })?),
        None => None,
    };
    let identities = trust.spec.match_oidc_identity.iter();
    let identities: Vec<Identity> =
        identities.map(|it| Identity { issuer: it.issuer.clone(), subject: it.subject.clone() }).collect();
    let keyless = Keyless::new(root.map(Vec::as_slice), &identities).map_err(|error| error.to_string())?;
    Ok(Trust::Keyless(Box::new(keyless)))
}

/// The manifests of a digest's bundles, or why the registry does not list them.
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
async fn simple(registry: &mut Registry, digest: &Digest) -> Result<Vec<SimpleSigning>, Error> {
    let Some(manifest) = registry.cosign_signatures(digest).await? else { return Ok(Vec::new()) };
    let layers = registry.attachments(&manifest, MAX_SIGNATURE_BYTES as u64).await?;
    let layers = layers.into_iter().filter(|layer| layer.media_type == SIMPLE_SIGNING_TYPE);
    Ok(layers
        .map(|layer| SimpleSigning { payload: layer.content.to_vec(), annotations: layer.annotations })
        .collect())
}
