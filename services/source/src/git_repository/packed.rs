//! Where the parts of the last artifact of each repository lie, so that its next one copies what did not change
//! (docs/adr/0007). Only in memory: after a restart one artifact is compressed anew, and nothing on disk needs trust.

use parking_lot::Mutex;
use std::collections::HashMap;
use weir_api::Artifact;
use weir_artifact::archive::{Parts, Previous};
use weir_artifact::{RelPath, Store};
use weir_runtime::ObjectKey;

/// Bytes of the smallest artifact of which this is kept: smaller ones are compressed in a moment.
const MIN_BYTES: i64 = 4 << 20;

/// Parts of artifacts, by object.
#[derive(Default)]
pub(super) struct Packed {
    by_object: Mutex<HashMap<ObjectKey, (RelPath, Parts)>>,
}

impl Packed {
    /// The last artifact of an object, if its file is still there. It is forgotten until there is a new one: if the file
    /// is not what it was, the next try compresses everything.
    pub(super) fn take(&self, key: &ObjectKey, store: &Store) -> Option<Previous> {
        let (path, parts) = self.by_object.lock().remove(key)?;
        Some(Previous { parts, file: store.open_file(&path).ok()? })
    }

    /// Remembers the parts of a stored artifact.
    pub(super) fn keep(&self, key: &ObjectKey, artifact: &Artifact, parts: Parts) {
        if artifact.size.is_some_and(|size| size >= MIN_BYTES)
            && let Ok(path) = RelPath::parse(&artifact.path)
        {
            self.by_object.lock().insert(key.clone(), (path, parts));
        }
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.by_object.lock().remove(key);
    }
}
