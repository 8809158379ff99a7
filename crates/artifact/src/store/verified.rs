//! Large files that are known to have the content of their digests, so that they are not read whole at
//! every run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::digest::Digest;
use crate::opened::FileState;

/// Smaller files are read each time: that costs less than remembering them all.
const LARGE_BYTES: u64 = 16 << 20;
/// Time for which the digest of a file is believed. A file that is changed is noticed at once; this is for disks that forget.
const TRUSTED: Duration = Duration::from_secs(60 * 60);

/// Large artifacts by path, with the states in which their files were last seen to be. One per object with such an artifact.
#[derive(Debug, Default)]
pub(super) struct Verified {
    artifacts: Mutex<HashMap<String, Known>>,
}

#[derive(Debug)]
struct Known {
    states: Vec<FileState>,
    digest: Digest,
    since: Instant,
}

impl Verified {
    /// Returns true when the artifact was seen to have this digest, and has not been touched since.
    pub(super) fn holds(&self, path: &str, states: &[FileState], digest: &Digest) -> bool {
        let artifacts = self.artifacts.lock();
        let known = artifacts.get(path);
        known.is_some_and(|known| {
            known.states == states && known.digest == *digest && known.since.elapsed() < TRUSTED
        })
    }

    /// Notes that an artifact whose files are in these states has this digest.
    pub(super) fn note(&self, path: &str, states: Vec<FileState>, digest: &Digest) {
        if states.iter().map(|state| state.size).sum::<u64>() >= LARGE_BYTES {
            let mut artifacts = self.artifacts.lock();
            artifacts.retain(|_, known| known.since.elapsed() < TRUSTED);
            let known = Known { states, digest: digest.clone(), since: Instant::now() };
            artifacts.insert(path.to_owned(), known);
        }
    }

    /// Returns true when anything is noted of an artifact.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.artifacts.lock().contains_key(path)
    }

    /// Notes that the store itself has removed links to the files of an artifact, which changes the time of their
    /// last change. A file that was unknown before stays unknown, and a file that differs in anything else too is
    /// distrusted.
    pub(super) fn renew(&self, path: &str, before: &[FileState], after: Vec<FileState>) {
        let mut artifacts = self.artifacts.lock();
        let by_links = |after: &[FileState]| {
            before.len() == after.len()
                && before.iter().zip(after).all(|(before, after)| before.differs_by_links(after))
        };
        if let Some(known) = artifacts.get_mut(path)
            && known.states == before
            && by_links(&after)
        {
            known.states = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::Algorithm;

    /// A change by the store's own links is no alteration; any other change is.
    #[test]
    fn only_links_that_the_store_removes_are_forgiven() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut file = std::fs::File::create(path("piece")).unwrap();
        file.set_len(LARGE_BYTES).unwrap();
        std::fs::hard_link(path("piece"), path("old")).unwrap();
        let digest = Digest::of(Algorithm::Sha256, b"");
        let (verified, before) = (Verified::default(), vec![FileState::now(&file).unwrap()]);
        verified.note("a", before.clone(), &digest);
        let wait_for_a_new_time = || {
            while FileState::now(&file).unwrap() == before[0] {
                std::fs::hard_link(path("piece"), path("link")).unwrap();
                std::fs::remove_file(path("link")).unwrap();
            }
        };
        wait_for_a_new_time();
        let unlinked = vec![FileState::now(&file).unwrap()];
        assert!(!verified.holds("a", &unlinked, &digest));
        verified.renew("a", &before, unlinked.clone());
        assert!(verified.holds("a", &unlinked, &digest));
        verified.renew("a", &before, before.clone());
        assert!(verified.holds("a", &unlinked, &digest), "what was not known is not taken over");
        file.write_all(b"x").unwrap();
        file.set_len(LARGE_BYTES + 1).unwrap();
        let altered = vec![FileState::now(&file).unwrap()];
        verified.renew("a", &unlinked, altered.clone());
        assert!(!verified.holds("a", &altered, &digest));
    }
}
