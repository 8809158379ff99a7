//! The memory of a Kustomization between runs. One full run can find out all of it again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use weir_api::{Artifact, Kustomization};
use weir_runtime::{Cause, ObjectKey};
use weir_ssa::{Entry, ObjectId};

use super::attempt::Attempt;
use super::health::Check;
use super::inventory;
use crate::build::Footprint;

/// After this long without a full check one is made although the watches prove that nothing has changed.
const FULL_CHECK: Duration = Duration::from_secs(3600);

/// The first pause between two corrections of drift of one Kustomization, doubled with each up to the second: another
/// controller that keeps changing an object must not make this one spin.
const PACE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));

/// An object whose changes by others are undone for so many times is fought about: they come from no person.
const FIGHT: u32 = 3;

/// Objects of a Kustomization whose corrections are counted at the same time; more of them help nobody.
const MAX_COUNTED: usize = 100;

/// Corrections start over at the first pause, and at the first of an object, after this long without one.
const CALM: Duration = Duration::from_secs(1200);

/// The inputs of a result: the same inputs give the same manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub(crate) artifact: String,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) variables: u64,
    /// Fingerprint of the keys for decryption.
    pub(crate) keys: u64,
    /// Fingerprint of the remote cluster and of its user.
    pub(crate) target: Option<[u8; 32]>,
}

impl Inputs {
    /// Returns true when they are of the Kustomization as it is now.
    pub(crate) fn is_of(&self, kustomization: &Kustomization) -> bool {
        let metadata = &kustomization.metadata;
        (metadata.uid.as_deref().unwrap_or_default(), metadata.generation.unwrap_or_default())
            == (&*self.uid, self.generation)
    }

    /// Returns true when both are of one generation of one Kustomization.
    pub(crate) fn is_of_same_spec(&self, other: &Self) -> bool {
        (&self.uid, self.generation) == (&other.uid, other.generation)
    }
}

/// The last apply that went through.
#[derive(Clone)]
pub(crate) struct Applied {
    pub(crate) inputs: Inputs,
    /// Digest of the manifests.
    pub(crate) digest: String,
    /// Files and values that the build depends on.
    pub(crate) footprint: Arc<Footprint>,
    /// Number of objects in the inventory.
    pub(crate) objects: usize,
    /// Jobs among them that are gone when they are done (KS-HC-9).
    pub(crate) short_jobs: Arc<HashSet<ObjectId>>,
}

/// A run that waits for health.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) inputs: Inputs,
    pub(crate) attempt: Attempt,
    pub(crate) check: Check,
    /// True when the status says that it waits.
    pub(crate) is_announced: bool,
}

impl Waiting {
    /// The same, with a newer run behind it.
    pub(crate) fn overtaken(&self) -> Self {
        let attempt = Attempt { is_overtaken: true, ..self.attempt.clone() };
        Self { attempt, ..self.clone() }
    }
}

/// Objects that are being deleted before the finalizer may go (KS-GC-22).
#[derive(Clone)]
pub(crate) struct Deletion {
    pub(crate) entries: Vec<Entry>,
    pub(crate) started: Instant,
}

#[derive(Clone, Default)]
pub(crate) struct Unit {
    /// UID of the Kustomization; another one of the same name inherits nothing.
    uid: Option<String>,
    pub(crate) applied: Option<Applied>,
    /// When every object was last compared with the cluster; nothing before the first apply, which compares all.
    checked: Option<Instant>,
    pub(crate) waiting: Option<Arc<Waiting>>,
    pub(crate) deletion: Option<Deletion>,
    /// Artifact that the last run has found; an empty one while a run is about to look. The status names it only when that run ends, and by
    /// then the source may be back at the revision before (KS-REC-4).
    seen: Option<Arc<Artifact>>,
    /// True while a run looks at its dependencies, and after one that they have kept from beginning. The status tells of it only when
    /// that run ends, and they may be ready by then.
    is_blocked: bool,
    /// Causes of a run that has come to nothing, for the one that follows.
    owed: Vec<Cause>,
    /// The Secret or ConfigMap that has changed last, as `Kind/namespace/name`.
    pub(crate) woken_by: Option<String>,
    /// Runs in a row that failed and may succeed in a moment.
    pub(crate) tries_in_vain: u32,
    corrections: Option<Corrections>,
    /// The last message about another owner of the objects.
    told_of_owner: Option<String>,
}

/// Corrections of drift, none of them long after another.
#[derive(Clone)]
struct Corrections {
    /// When the last one was or will be made.
    due: Instant,
    /// Wait before the next one.
    pause: Duration,
    /// Number of corrections of each object that others had changed.
    counts: HashMap<ObjectId, u32>,
}

/// Objects whose changes by others were undone again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fight {
    pub(crate) objects: HashSet<ObjectId>,
    /// Wait before the next correction of drift.
    pub(crate) pause: Duration,
}

impl Unit {
    /// A unit whose objects were all compared long ago.
    #[cfg(test)]
    pub(crate) fn checked_long_ago() -> Self {
        Self { checked: Instant::now().checked_sub(FULL_CHECK * 2), ..Self::default() }
    }

    /// Returns true when it is time to compare everything again.
    pub(crate) fn is_stale(&self, now: Instant) -> bool {
        self.checked.is_some_and(|checked| now.saturating_duration_since(checked) > FULL_CHECK)
    }

    /// Remembers that everything is being compared. Where the run fails half way, the next one still compares the rest: the ledger has
    /// forgotten all objects.
    pub(crate) fn compare_all(&mut self) {
        self.checked = Some(Instant::now());
    }

    /// Remembers an apply that went through. One that is not full trusts the watches, and puts off no full one.
    pub(crate) fn remember(&mut self, applied: Applied) {
        self.applied = Some(applied);
        self.checked.get_or_insert_with(Instant::now);
    }

    /// Returns the causes of a run, with those of the one before that has done nothing about them.
    pub(crate) fn causes(&self, of_run: &[Cause]) -> Vec<Cause> {
        let owed = self.owed.iter().filter(|cause| !of_run.contains(cause));
        of_run.iter().chain(owed).copied().collect()
    }

    /// Remembers the end of a run: `owed` are the causes about which it has done nothing, `in_vain` says that it failed and may succeed in a
    /// moment.
    pub(crate) fn ended(&mut self, waiting: Option<Arc<Waiting>>, owed: Vec<Cause>, in_vain: bool) {
        self.waiting = waiting;
        self.owed = owed;
        self.tries_in_vain = if in_vain { self.tries_in_vain.saturating_add(1) } else { 0 };
    }

    /// Returns the inventory of a run that waits. The status may not have it yet.
    pub(crate) fn unwritten(&self) -> Option<&[Entry]> {
        self.waiting.as_ref().and_then(|waiting| waiting.attempt.inventory.as_deref())
    }

    /// Returns everything that may be in the cluster: the inventory of the status and what is not yet in it.
    pub(crate) fn known_inventory(&self, written: Vec<Entry>) -> Vec<Entry> {
        inventory::union(written, self.unwritten().unwrap_or_default())
    }
}

/// One entry a Kustomization, dropped with it. In boxes: half of a map's places are empty after it has grown.
#[derive(Default)]
pub(crate) struct Memory(Mutex<HashMap<ObjectKey, Box<Unit>>>);

impl Memory {
    /// Begins a run of the Kustomization with this UID. Forgets what is remembered of another one of its name: its deletion, and
    /// objects that it has left behind.
    pub(crate) fn begin(&self, key: &ObjectKey, uid: Option<&str>) {
        self.change(key, |unit| {
            if unit.uid.as_deref().is_some_and(|known| Some(known) != uid) {
                *unit = Unit::default();
            }
            unit.uid = uid.map(str::to_owned);
        });
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Unit {
        self.0.lock().get(key).map(|unit| (**unit).clone()).unwrap_or_default()
    }

    /// Remembers that a run is about to look at its source and its dependencies: whatever they tell from now on is news.
    pub(crate) fn looks(&self, key: &ObjectKey) {
        self.change(key, |unit| (unit.seen, unit.is_blocked) = (Some(Arc::default()), true));
    }

    /// Remembers if a run waits for its dependencies.
    pub(crate) fn decided(&self, key: &ObjectKey, is_blocked: bool) {
        self.change(key, |unit| unit.is_blocked = is_blocked);
    }

    /// Returns true when a dependency that becomes ready now is news, whatever the status says yet.
    pub(crate) fn is_blocked(&self, key: &ObjectKey) -> bool {
        self.0.lock().get(key).is_some_and(|unit| unit.is_blocked)
    }

    /// Remembers the artifact that a run has found.
    pub(crate) fn saw(&self, key: &ObjectKey, artifact: &Arc<Artifact>) {
        self.change(key, |unit| unit.seen = Some(Arc::clone(artifact)));
    }

    /// Returns the artifact that the last run has seen, if one has looked since the service started.
    pub(crate) fn seen(&self, key: &ObjectKey) -> Option<Arc<Artifact>> {
        self.0.lock().get(key)?.seen.clone()
    }

    /// Returns true while a run of the Kustomization waits for health.
    pub(crate) fn waits(&self, key: &ObjectKey) -> bool {
        self.0.lock().get(key).is_some_and(|unit| unit.waiting.is_some())
    }

    pub(crate) fn change(&self, key: &ObjectKey, change: impl FnOnce(&mut Unit)) {
        change(self.0.lock().entry(key.clone()).or_default());
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }

    /// Returns the time for which a correction of drift has to wait.
    pub(crate) fn pace(&self, key: &ObjectKey) -> Duration {
        let mut units = self.0.lock();
        let unit = units.entry(key.clone()).or_default();
        let now = Instant::now();
        let corrections = match &mut unit.corrections {
            Some(corrections) if now.saturating_duration_since(corrections.due) < CALM => corrections,
            calm => {
                *calm = Some(Corrections { due: now, pause: PACE.0, counts: HashMap::new() });
                return Duration::ZERO;
            }
        };
        // One that waits already is the one for this notice, too.
        if corrections.due <= now {
            corrections.due = (corrections.due + corrections.pause).max(now);
            corrections.pause = (corrections.pause * 2).min(PACE.1);
        }
        corrections.due - now
    }

    /// Remembers a message about another owner of the objects. Returns false for the same message again: two Kustomizations that apply one
    /// object take it from each other at each interval (KS-TEN-6), and a deleted one looks for its successor every few seconds.
    pub(crate) fn is_news(&self, key: &ObjectKey, message: &str) -> bool {
        let mut units = self.0.lock();
        let unit = units.entry(key.clone()).or_default();
        let is_news = unit.told_of_owner.as_deref() != Some(message);
        if is_news {
            unit.told_of_owner = Some(message.to_owned());
        }
        is_news
    }

    /// Counts a correction of objects that others had changed, and returns those that they keep changing.
    pub(crate) fn corrected<'a>(
        &self,
        key: &ObjectKey,
        objects: impl Iterator<Item = &'a ObjectId>,
    ) -> Option<Fight> {
        let mut units = self.0.lock();
        let corrections = units.get_mut(key)?.corrections.as_mut()?;
        let mut fought = HashSet::new();
        for id in objects.take(MAX_COUNTED) {
            if corrections.counts.len() >= MAX_COUNTED && !corrections.counts.contains_key(id) {
                continue;
            }
            let count = corrections.counts.entry(id.clone()).or_default();
            *count += 1;
            if *count >= FIGHT {
                fought.insert(id.clone());
            }
        }
        (!fought.is_empty()).then_some(Fight { objects: fought, pause: corrections.pause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied() -> Applied {
        let inputs = Inputs {
            artifact: "sha256:1".into(),
            uid: "u".into(),
            generation: 1,
            variables: 0,
            keys: 0,
            target: None,
        };
        Applied {
            inputs,
            digest: "sha256:d".into(),
            footprint: Arc::default(),
            objects: 0,
            short_jobs: Arc::default(),
        }
    }

    #[test]
    fn only_full_applies_put_off_the_next_full_one() {
        let mut unit = Unit::default();
        assert!(!unit.is_stale(Instant::now()), "the first apply compares everything");
        unit.remember(applied());
        assert!(!unit.is_stale(Instant::now()));
        unit = Unit::checked_long_ago();
        unit.remember(applied());
        assert!(unit.is_stale(Instant::now()));
        unit.compare_all();
        assert!(
            !unit.is_stale(Instant::now()),
            "also when the apply fails: the next one knows nothing and compares what is left"
        );
    }

    /// An object that was deleted and made again between two runs is another one.
    #[test]
    fn another_kustomization_of_the_same_name_inherits_nothing() {
        let (memory, key) = (Memory::default(), ObjectKey::new("flux-system", "app"));
        memory.pace(&key);
        memory.begin(&key, Some("1"));
        assert!(memory.pace(&key) > Duration::ZERO, "what came before the first run counts for it");
        let deletion = Deletion { entries: Vec::new(), started: Instant::now() };
        memory.change(&key, |unit| unit.deletion = Some(deletion));
        memory.begin(&key, Some("1"));
        assert!(memory.get(&key).deletion.is_some());
        memory.begin(&key, Some("2"));
        assert!(memory.get(&key).deletion.is_none());
    }

    #[test]
    fn causes_of_a_run_that_came_to_nothing_are_those_of_the_next_one_too() {
        let mut unit = Unit::default();
        unit.ended(None, vec![Cause::Drift, Cause::Timer], false);
        assert_eq!(unit.causes(&[Cause::Timer]), [Cause::Timer, Cause::Drift]);
        unit.ended(None, Vec::new(), false);
        assert_eq!(unit.causes(&[Cause::Timer]), [Cause::Timer]);
    }

    #[test]
    fn corrections_slow_down() {
        let (memory, key) = (Memory::default(), ObjectKey::new("flux-system", "app"));
        assert_eq!(memory.pace(&key), Duration::ZERO);
        let second = memory.pace(&key);
        assert!(second > Duration::ZERO && second <= PACE.0);
        assert!(memory.pace(&key) <= second, "notices of one drift wait for one correction");
    }

    #[test]
    fn only_objects_that_are_corrected_again_and_again_are_fought_about() {
        let (memory, key) = (Memory::default(), ObjectKey::new("flux-system", "app"));
        let [a, b] = ["n_a__ConfigMap", "n_b__ConfigMap"].map(|id| id.parse::<ObjectId>().unwrap());
        memory.pace(&key);
        assert_eq!(memory.corrected(&key, [&a].into_iter()), None);
        assert_eq!(memory.corrected(&key, [&b].into_iter()), None);
        assert_eq!(memory.corrected(&key, [&a].into_iter()), None, "one was about another object");
        let fight = memory.corrected(&key, [&a, &b].into_iter()).unwrap();
        assert_eq!(fight.objects, HashSet::from([a]));
    }
}
