//! Signatures of the commit, its tag, or both, by someone who is trusted (SRC-GIT-22…26).

use jiff::Timestamp;
use weir_api::GitRepository;
use weir_api::condition_type::SOURCE_VERIFIED;
use weir_artifact::Digest;
use weir_git::{Checkout, Reference, Signed, TagObject};
use weir_runtime::{EventDraft, condition};
use weir_verify::git::{GitKeys, Object};

use super::GitReconciler;
use crate::source::{Attempt, Failure};
use crate::verification::{VERIFICATION_ERROR, evidence};

const TAGS: &str = "refs/tags/";
/// End of a name that stands for the object that a tag points at.
const PEELED: &str = "^{}";

/// The Git objects that have to be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Head,
    Tag,
    TagAndHead,
}

/// The Git objects that have to be signed, and the keys that are trusted.
pub(super) struct Trust {
    mode: Mode,
    keys: GitKeys,
    /// Digest of the Secret's content.
    secret: Digest,
}

/// The fetched Git objects, as their signers saw them.
struct Objects {
    /// Short name of the wanted tag.
    tag_name: Option<String>,
    tag: Option<TagObject>,
    commit: Signed,
}

impl GitReconciler {
    /// Returns the trusted keys; none when signatures do not matter.
    pub(super) async fn trust(&self, attempt: &Attempt<'_, GitRepository>) -> Result<Option<Trust>, Failure> {
        let Some(verify) = &attempt.object.spec.verify else { return Ok(None) };
        let read = self.secrets.get(&attempt.key().namespace, &verify.secret_ref.name).await;
        let secret = read.map_err(|error| {
            Failure::verification(VERIFICATION_ERROR, format!("public keys secret error: {error}"))
        })?;
        let parts = secret.data.iter().flat_map(|(key, value)| [key.as_bytes(), value.as_slice()]);
        Ok(Some(Trust {
            mode: Mode::parse(verify.mode.as_deref()),
            keys: GitKeys::from_secret(&secret.data),
            secret: evidence(parts),
        }))
    }

    /// Returns true when the artifact that is there was verified with what would be asked of it now.
    pub(super) fn is_verified(
        &self,
        attempt: &Attempt<'_, GitRepository>,
        trust: Option<&Trust>,
        revision: &str,
    ) -> bool {
        let conditions = attempt.object.status.as_ref().map(|status| status.conditions.as_slice());
        trust.is_none_or(|trust| {
            condition::is_true(conditions.unwrap_or_default(), SOURCE_VERIFIED)
                && self.verdicts.hold(attempt.key(), &trust.evidence(revision)).is_some()
        })
    }

    /// Checks what was fetched, before anything of it is used.
    pub(super) async fn verify(
        &self,
        attempt: &mut Attempt<'_, GitRepository>,
        checkout: &Checkout,
        reference: &Reference,
        trust: Trust,
    ) -> Result<(), Failure> {
        let (evidence, mode) = (trust.evidence(checkout.revision()), trust.mode);
        let tag_name = tag_name(reference, checkout.revision());
        let (checkout, now) = (checkout.clone(), attempt.run.now);
        let judge = move || {
            let commit = checkout.commit_signature().map_err(unreadable)?;
            let tag = checkout.tag().map_err(unreadable)?;
            trust.judge(&Objects { tag_name, tag, commit }, now)
        };
        let message = self.storage.blocking(judge).await.map_err(unreadable)??;
        attempt.verified(&message);
        attempt.remark(EventDraft::trace(weir_api::reason::SUCCEEDED, message));
        attempt.object.status.get_or_insert_default().source_verification_mode = Some(mode.name().to_owned());
        self.verdicts.note(attempt.key(), evidence, ());
        Ok(())
    }

    /// Removes the condition about signatures, which do not matter here (SRC-GIT-22).
    pub(super) fn ignore_signatures(&self, attempt: &mut Attempt<'_, GitRepository>) {
        attempt.not_verified();
        attempt.object.status.get_or_insert_default().source_verification_mode = None;
        self.verdicts.forget(attempt.key());
    }
}

impl Trust {
    fn evidence(&self, revision: &str) -> Digest {
        let secret = self.secret.to_string();
        evidence([revision.as_bytes(), self.mode.name().as_bytes(), secret.as_bytes()])
    }

    /// Returns the verified objects and their keys, or the first object that failed (SRC-GIT-24, SRC-GIT-25). Pure.
    fn judge(&self, objects: &Objects, now: Timestamp) -> Result<String, Failure> {
        let mut lines = String::new();
        if self.mode != Mode::Head {
            let (tag, key) = self.judge_tag(objects, now)?;
            lines.push_str(&format!("\n\t- tag '{tag}' with key '{key}'"));
        }
        if self.mode != Mode::Tag {
            let Signed { id, payload, signature } = &objects.commit;
            let key = self.keys.verify(Object::Commit, payload, signature.as_deref(), now);
            let key = key.map_err(|error| {
                let message = format!("signature verification of commit '{id}' failed: {error}");
                Failure::verification("InvalidCommitSignature", message)
            })?;
            lines.push_str(&format!("\n\t- commit '{id}' with key '{key}'"));
        }
        Ok(format!("verified signature of{lines}"))
    }

    fn judge_tag(&self, objects: &Objects, now: Timestamp) -> Result<(String, String), Failure> {
        let Some(asked) = &objects.tag_name else {
            let message = "cannot verify tag object's signature if a tag reference is not specified";
            return Err(Failure::verification("InvalidVerificationMode", message).stalled());
        };
        let unsigned = |tag: &str| {
            let message = format!("cannot verify signature of tag '{tag}' since it is not signed");
            Failure::verification("InvalidGitObject", message)
        };
        let tag = objects.tag.as_ref().ok_or_else(|| unsigned(asked))?;
        let shown = format!("{}@{}", tag.name, tag.signed.id);
        if tag.signed.signature.is_none() {
            return Err(unsigned(&shown));
        }
        let key = self.keys.verify(Object::Tag, &tag.signed.payload, tag.signed.signature.as_deref(), now);
        match key {
            Ok(key) => Ok((shown, key)),
            Err(error) => {
                let message = format!("signature verification of tag '{shown}' failed: {error}");
                Err(Failure::verification("InvalidTagSignature", message))
            }
        }
    }
}

impl Mode {
    /// The mode of a specification; the API server lets no others through.
    fn parse(text: Option<&str>) -> Self {
        match text {
            Some("Tag") => Self::Tag,
            Some("TagAndHEAD") => Self::TagAndHead,
            _ => Self::Head,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Head => "HEAD",
            Self::Tag => "Tag",
            Self::TagAndHead => "TagAndHEAD",
        }
    }
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::fetch("GitOperationFailed", error.to_string())
}

/// The short name of the tag that a reference stands for, if it is a tag.
fn tag_name(reference: &Reference, revision: &str) -> Option<String> {
    match reference {
        Reference::Tag(name) => Some(name.clone()),
        Reference::Semver(_) => revision.split_once('@').map(|(tag, _)| tag.to_owned()),
        // A commit has no tag object of its own, so that its tag is reported as not signed.
        Reference::Name(name) | Reference::Commit { name: Some(name), .. } => {
            name.strip_prefix(TAGS).map(|tag| tag.strip_suffix(PEELED).unwrap_or(tag).to_owned())
        }
        Reference::Branch(_) | Reference::Short(_) | Reference::Commit { .. } => None,
    }
}

#[cfg(test)]
mod tests;
