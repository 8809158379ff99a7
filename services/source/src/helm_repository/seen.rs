//! Indexes as their servers have sent them last: an index that is still the same is not sent again at each interval.

use std::collections::HashMap;

use parking_lot::Mutex;
use weir_api::{Artifact, HelmRepository};
use weir_helm::Mark;
use weir_runtime::{Cause, ObjectKey};

use crate::source::Attempt;

/// The index of an object.
struct Seen {
    /// `spec.url`.
    url: String,
    mark: Mark,
    /// The artifact that has its content.
    revision: String,
}

/// The indexes of all objects, in memory: the first run of a process fetches each.
#[derive(Default)]
pub(super) struct Indexes(Mutex<HashMap<ObjectKey, Seen>>);

impl Indexes {
    /// Returns the mark of the index that the known artifact has, and that artifact. None in a run that has another cause than
    /// the interval: a person who asks for the index gets what the server sends, and a new Secret may open another one.
    pub(super) fn current(&self, attempt: &Attempt<'_, HelmRepository>) -> Option<(Mark, Artifact)> {
        if attempt.run.causes != [Cause::Timer] {
            return None;
        }
        let known = attempt.known.as_ref()?;
        let all = self.0.lock();
        let seen = all.get(attempt.key())?;
        let is_known = seen.url == attempt.object.spec.url && seen.revision == known.revision;
        is_known.then(|| (seen.mark.clone(), known.clone()))
    }

    /// Keeps the mark of the index that is now the object's artifact.
    pub(super) fn note(&self, attempt: &Attempt<'_, HelmRepository>, mark: Option<Mark>, revision: &str) {
        let (key, url) = (attempt.key(), attempt.object.spec.url.clone());
        match mark {
            Some(mark) => {
                self.0.lock().insert(key.clone(), Seen { url, mark, revision: revision.to_owned() });
            }
            None => self.forget(key),
        }
    }

    /// Drops what is known of an object.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}
