//! Places of the runs of the last artifact of each repository, so that its next one copies what did not change
//! (docs/adr/0007). Only in memory: after a restart one artifact is compressed anew, and nothing on disk needs trust.

use std::collections::HashMap;

use parking_lot::Mutex;
use weir_api::Artifact;
use weir_artifact::archive::{Previous, Runs};
use weir_artifact::{RelPath, Store};
use weir_runtime::ObjectKey;

/// Bytes of the smallest artifact of which this is kept: smaller ones are compressed in a moment.
const MIN_BYTES: i64 = 4 << 20;

/// Runs of artifacts, by object.
#[derive(Default)]
pub(super) struct Packed {
    by_object: Mutex<HashMap<ObjectKey, (RelPath, Runs)>>,
}

impl Packed {
    /// The last artifact of an object, if its file is still there. It is forgotten until there is a new one: if the file
    /// is not what it was, the next try compresses everything.
    pub(super) fn take(&self, key: &ObjectKey, store: &Store) -> Option<Previous> {
        let (path, runs) = self.by_object.lock().remove(key)?;
        Some(Previous { runs, file: store.open_file(&path).ok()? })
    }

    /// Remembers the runs of a stored artifact.
    pub(super) fn keep(&self, key: &ObjectKey, artifact: &Artifact, runs: Runs) {
        if artifact.size.is_some_and(|size| size >= MIN_BYTES)
            && let Ok(path) = RelPath::parse(&artifact.path)
        {
            self.by_object.lock().insert(key.clone(), (path, runs));
        }
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.by_object.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use weir_artifact::Location;

    use super::*;

    fn artifact(path: &str, size: i64) -> Artifact {
        let artifact = serde_json::json!({"path": path, "url": "http://source/x", "revision": "main@sha1:1",
            "lastUpdateTime": "2026-01-01T00:00:00Z", "size": size});
        serde_json::from_value(artifact).unwrap()
    }

    #[test]
    fn the_parts_of_large_artifacts_are_taken_once_while_their_file_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::storage::tests::store(folder.path());
        let at = Location::new("GitRepository", "flux-system", "app").unwrap();
        store.write(&at, "1.tar.gz", |out| out.write_all(b"archive")).unwrap();
        let there = artifact("gitrepository/flux-system/app/1.tar.gz", MIN_BYTES);
        let (packed, key) = (Packed::default(), ObjectKey::new("flux-system", "app"));

        packed.keep(&key, &there, Runs::default());
        assert!(packed.take(&key, &store).is_some());
        assert!(packed.take(&key, &store).is_none(), "a file that proved wrong is not tried again");

        packed.keep(&key, &there, Runs::default());
        packed.forget(&key);
        assert!(packed.take(&key, &store).is_none());

        packed.keep(&key, &artifact(&there.path, MIN_BYTES - 1), Runs::default());
        assert!(packed.take(&key, &store).is_none(), "small ones are not kept");

        packed.keep(&key, &artifact("gitrepository/flux-system/app/gone.tar.gz", MIN_BYTES), Runs::default());
        assert!(packed.take(&key, &store).is_none());
    }
}
