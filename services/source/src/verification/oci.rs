//! Signatures of artifacts in registries, for `OCIRepository` and for charts of OCI registries (source.md 5.4,
//! SRC-CHT-10). The object and its Secrets name who is trusted. The registry has the signatures, found by the digest of what
//! will be pulled (SRC-SCK-5).

mod cosign;
mod inquiry;
mod log;
mod notation;
mod trust;

use weir_access::Secrets;
use weir_api::source::OciRepositoryVerification;
use weir_artifact::Digest;
use weir_http::Clients;
use weir_oci::Registry;
use weir_runtime::{EventDraft, ObjectKey};

use self::trust::OciTrust;
use super::{Verdicts, Warnings};
use crate::source::{Attempt, Source, Wiring};
use crate::storage::Storage;

const COSIGN: &str = "cosign";
pub(crate) const NOTATION: &str = "notation";
/// Name of this client to transparency logs and servers of certificate authorities.
const USER_AGENT: &str = "weir";

/// The result of a verification that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// A signature is good.
    Verified,
    /// The trust policy lets the artifact through whoever signed it: the status does not mention its signature.
    Ignored,
}

/// Reasons for which nothing is verified, each with its cause. [`refusal`] makes it a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unverified {
    /// Nobody can be trusted: specification or Secrets are at fault.
    Trust(String),
    /// No signature is good, or the registry does not give them.
    Signature(String),
    /// There is no signature that a key could fit.
    Unsigned(String),
}

/// The message of a condition about an artifact that is not verified, with the cause.
pub(crate) fn refusal(spec: &OciRepositoryVerification, cause: impl std::fmt::Display) -> String {
    let provider = if is_keyless(spec) { "cosign keyless" } else { &spec.provider };
    format!("failed to verify the signature using provider '{provider}': {cause}")
}

/// The cause for a provider that cannot do without a Secret and names none. Flux's message names the artifact, for charts the object.
pub(crate) fn lacks_secret(name: &str) -> String {
    format!("verification secret cannot be empty: '{name}'")
}

fn is_keyless(spec: &OciRepositoryVerification) -> bool {
    spec.provider == COSIGN && spec.secret_ref.is_none()
}

/// Checks the artifacts of one kind, each once as long as nothing changes that its verdict depends on.
pub(crate) struct OciVerifier {
    secrets: Secrets,
    storage: Storage,
    /// Clients for transparency logs, and for servers that know of revoked certificates.
    clients: Clients,
    verdicts: Verdicts<Verdict>,
    /// Warnings that anyone may sign.
    warnings: Warnings,
}

/// The subject of a check.
pub(crate) struct Subject<'a> {
    /// Name in the condition's message, for example `revision latest@sha256:…`.
    pub(crate) what: &'a str,
    /// The digest of its manifest.
    pub(crate) digest: &'a Digest,
}

/// An artifact, and where its signatures are looked for.
struct Case<'a> {
    trust: &'a OciTrust,
    registry: &'a mut Registry,
    /// The artifact by its digest, for messages.
    reference: &'a str,
    digest: &'a Digest,
}

impl OciVerifier {
    pub(crate) fn new(wiring: &Wiring<'_>) -> Self {
        Self {
            secrets: wiring.secrets.clone(),
            storage: wiring.storage.clone(),
            clients: Clients::new(USER_AGENT),
            verdicts: Verdicts::default(),
            warnings: Warnings::default(),
        }
    }

    /// Forgets an object that is gone.
    pub(crate) fn forget(&self, object: &ObjectKey) {
        self.verdicts.forget(object);
        self.warnings.forget(object);
    }

    /// Has an object's artifact checked at the next occasion, whatever was found before.
    pub(crate) fn recheck(&self, object: &ObjectKey) {
        self.verdicts.forget(object);
    }

    /// Says nothing of the signatures of an object for which they do not matter.
    pub(crate) fn ignore<S: Source>(&self, attempt: &mut Attempt<'_, S>) {
        attempt.not_verified();
        self.forget(attempt.key());
    }

    /// Checks an artifact before anything of it is pulled, if it was not checked with the same keys before
    /// (SRC-OCI-22).
    ///
    /// # Errors
    /// When nobody can be trusted, or nobody who is trusted has signed it.
    pub(crate) async fn verify<S: Source>(
        &self,
        attempt: &mut Attempt<'_, S>,
        spec: &OciRepositoryVerification,
        registry: &mut Registry,
        subject: Subject<'_>,
    ) -> Result<(), Unverified> {
        let Subject { what, digest } = subject;
        let trust = OciTrust::read(&self.secrets, attempt.key(), spec).await.map_err(Unverified::Trust)?;
        let generation = attempt.object.meta().generation.unwrap_or_default();
        let evidence = trust.evidence(&format!("{what}@{digest}"), generation);
        let held = self.verdicts.hold(attempt.key(), &evidence).filter(|_| !attempt.was_refuted());
        let judged = match held {
            Some(verdict) => Ok(verdict),
            None => self.judge(&trust, registry, digest, attempt.run.now).await,
        };
        if trust.takes_anyone() {
            self.warn(attempt, generation);
        }
        let verdict = judged?;
        // Said by each run: the one before may have been made obsolete, or its status not been written.
        match verdict {
            Verdict::Verified => attempt.verified(&format!("verified signature of {what}")),
            Verdict::Ignored => attempt.not_verified(),
        }
        self.verdicts.note(attempt.key(), evidence, verdict);
        Ok(())
    }

    /// Warns that anyone may sign, once a generation, and once more where the run that warned has come to nothing: then the status
    /// has no word about signatures.
    fn warn<S: Source>(&self, attempt: &mut Attempt<'_, S>, generation: i64) {
        if self.warnings.is_due(attempt.key(), generation) || !attempt.was_judged() {
            let message =
                "spec.verify names no key and no matchOIDCIdentity: a signature of any identity is accepted";
            attempt.remark(EventDraft::error("AnyIdentityTrusted", message));
        }
    }

    /// Looks for a good signature of the manifest with a digest.
    async fn judge(
        &self,
        trust: &OciTrust,
        registry: &mut Registry,
        digest: &Digest,
        now: jiff::Timestamp,
    ) -> Result<Verdict, Unverified> {
        let reference = format!("{}@{digest}", registry.repository());
        let case = Case { trust, registry, reference: &reference, digest };
        match trust.spec.provider.as_str() {
            COSIGN => cosign::verify(self, case).await,
            NOTATION => notation::verify(self, case, now).await,
            other => Err(Unverified::Trust(format!("unsupported verification provider: {other}"))),
        }
    }
}
