//! Receivers by the webhook path in their status: an unknown path costs one look-up (NTF-94). A status may be forged, so
//! that several may have the same path; their tokens decide whose it is.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::RwLock;
use weir_api::Receiver;
use weir_runtime::{Cache, Change, ObjectKey};

/// Receivers of one path that a call is checked against, the oldest first: who copies a path comes later. Each costs a
/// look at its Secret.
const MAX_CLAIMANTS: usize = 64;

/// The index; bounded by the number of Receivers.
#[derive(Clone, Default)]
pub struct PathIndex {
    paths: Arc<RwLock<HashMap<String, BTreeSet<Claim>>>>,
}

/// A Receiver whose status names a path; the oldest counts as the smallest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
    created: Timestamp,
    key: ObjectKey,
}

impl Claim {
    fn of(receiver: &Receiver) -> Option<(String, Self)> {
        let path = receiver.status.as_ref()?.webhook_path.clone()?;
        let created = receiver.metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0);
        Some((path, Self { created, key: ObjectKey::of(receiver) }))
    }
}

impl PathIndex {
    /// An index that follows a cache.
    pub fn over(receivers: &Cache<Receiver>) -> Self {
        let index = Self::default();
        let follower = index.clone();
        receivers.on_change(move |change| follower.apply(change));
        index
    }

    /// The Receivers whose status names the path, the oldest first.
    pub fn claimants(&self, path: &str) -> Vec<ObjectKey> {
        let paths = self.paths.read();
        let claims = paths.get(path).into_iter().flatten();
        claims.take(MAX_CLAIMANTS).map(|claim| claim.key.clone()).collect()
    }

    fn apply(&self, change: &Change<Receiver>) {
        let mut paths = self.paths.write();
        if let Some((path, claim)) = change.old.as_deref().and_then(Claim::of)
            && let Some(claims) = paths.get_mut(&path)
        {
            claims.remove(&claim);
            if claims.is_empty() {
                paths.remove(&path);
            }
        }
        if let Some((path, claim)) = change.new.as_deref().and_then(Claim::of) {
            paths.entry(path).or_default().insert(claim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(name: &str, created: i64, path: &str) -> Arc<Receiver> {
        let mut receiver = Receiver::default();
        receiver.metadata.name = Some(name.to_owned());
        let created = Timestamp::from_second(created).unwrap();
        receiver.metadata.creation_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(created));
        receiver.status.get_or_insert_default().webhook_path = Some(path.to_owned());
        Arc::new(receiver)
    }

    #[test]
    fn claims_come_and_go_by_age_and_are_bounded() {
        let index = PathIndex::default();
        let names = |path: &str| index.claimants(path).into_iter().map(|key| key.name).collect::<Vec<_>>();
        let (old, new) = (receiver("old", 1, "/hook/a"), receiver("new", 2, "/hook/a"));
        index.apply(&Change { old: None, new: Some(new.clone()) });
        index.apply(&Change { old: None, new: Some(old.clone()) });
        assert_eq!(names("/hook/a"), ["old", "new"]);
        index.apply(&Change { old: Some(old.clone()), new: Some(receiver("old", 1, "/hook/b")) });
        assert_eq!((names("/hook/a"), names("/hook/b")), (vec!["new".to_owned()], vec!["old".to_owned()]));
        index.apply(&Change { old: Some(new), new: None });
        assert!(!index.paths.read().contains_key("/hook/a"));
        for number in 0..100 {
            index.apply(&Change {
                old: None,
                new: Some(receiver(&number.to_string(), 10 + number, "/hook/b")),
            });
        }
        assert_eq!(names("/hook/b").len(), MAX_CLAIMANTS);
        assert_eq!(names("/hook/b")[0], "old");
    }
}
