//! The verification of artifacts, for all kinds whose signatures are checked.

mod oci;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use weir_artifact::{Algorithm, Digest, Hasher};
use weir_runtime::ObjectKey;

pub(crate) use self::oci::{NOTATION, OciVerifier, Subject, Unverified, lacks_secret, refusal};

/// Reason of conditions about a key or a signature that is not good, or cannot be checked.
pub(crate) const VERIFICATION_ERROR: &str = "VerificationError";

/// The objects whose artifacts were verified, each with the evidence: revision, settings, and the content of the Secrets. A Secret
/// that changes makes a verdict void although nothing else did (source.md 20, line 18).
///
/// Kept in memory: after a restart each object that asks for verification is verified once more. It has one entry per
/// such object. The status may not tell of a verdict yet: the run that came to it may have been made obsolete.
#[derive(Debug, Clone)]
pub(crate) struct Verdicts<V = ()> {
    known: Arc<Mutex<HashMap<ObjectKey, (Digest, V)>>>,
}

impl<V> Default for Verdicts<V> {
    fn default() -> Self {
        Self { known: Arc::default() }
    }
}

impl<V: Copy> Verdicts<V> {
    /// Returns the verdict of the object's last verification, if it was with the same evidence, and good.
    pub(crate) fn hold(&self, object: &ObjectKey, evidence: &Digest) -> Option<V> {
        self.known.lock().get(object).filter(|(known, _)| known == evidence).map(|(_, verdict)| *verdict)
    }

    /// Notes a good verification.
    pub(crate) fn note(&self, object: &ObjectKey, evidence: Digest, verdict: V) {
        self.known.lock().insert(object.clone(), (evidence, verdict));
    }

    /// Forgets an object that is gone or whose signature does not matter any more.
    pub(crate) fn forget(&self, object: &ObjectKey) {
        self.known.lock().remove(object);
    }
}

/// The objects whose users were warned, with the generation: the runs that follow do not warn again.
#[derive(Debug, Default)]
struct Warnings {
    generations: Mutex<HashMap<ObjectKey, i64>>,
}

impl Warnings {
    /// Returns true the first time that it is called for a generation of an object.
    fn is_due(&self, object: &ObjectKey, generation: i64) -> bool {
        self.generations.lock().insert(object.clone(), generation) != Some(generation)
    }

    /// Forgets an object that is gone or about which there is nothing to warn any more.
    fn forget(&self, object: &ObjectKey) {
        self.generations.lock().remove(object);
    }
}

/// All that a verdict depends on, as one digest. The parts cannot run into each other.
pub(crate) fn evidence<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_for_its_evidence_only() {
        let (verdicts, object) = (Verdicts::default(), ObjectKey::new("ns", "name"));
        let seen = evidence([b"main@sha1:a".as_slice(), b"key"]);
        verdicts.note(&object, seen.clone(), 7);
        assert_eq!(verdicts.hold(&object, &seen), Some(7));
        assert_eq!(verdicts.hold(&object, &evidence([b"main@sha1:a".as_slice(), b"other key"])), None);
        assert_eq!(verdicts.hold(&object, &evidence([b"main@sha1:ak".as_slice(), b"ey"])), None);
        verdicts.forget(&object);
        assert_eq!(verdicts.hold(&object, &seen), None);
    }

    #[test]
    fn each_generation_is_warned_once() {
        let (warnings, object) = (Warnings::default(), ObjectKey::new("ns", "name"));
        assert_eq!(
            [1, 1, 2, 2].map(|generation| warnings.is_due(&object, generation)),
            [true, false, true, false]
        );
        assert!(warnings.is_due(&ObjectKey::new("ns", "other"), 2));
        warnings.forget(&object);
        assert!(warnings.is_due(&object, 2));
    }
}
