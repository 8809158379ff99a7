//! The objects applied and the changes seen by the watches since: the proof that an object needs no request, and the
//! state of its health.
//!
//! Only objects that were recorded are kept, so the ledger is as large as what its owners manage. It is memory only: a
//! new process starts with an empty one and fills it by comparing once with the cluster.

mod records;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use kube::api::ObjectMeta;
use parking_lot::Mutex;
use weir_kstatus::{Assessment, Status};

use self::records::Records;
use crate::live_object::{LiveObject, Manager};
use crate::ownership::{Managers, is_of_subresource};
use crate::policy::{Mark, may_prune};
use crate::precise::Precise;
use crate::stage::Scope;
use crate::{Entry, GroupKind, ObjectId, Owner};

/// Field managers whose changes the next regular run puts back, as in Flux. The one of Flux's command, and of ours, writes what is in
/// the source soon: put back at once, an upgrade would go back and forth. `kubectl rollout restart` put back at once would restart
/// nothing.
const LEFT_FOR_NOW: [&str; 2] = ["flux", "kubectl-rollout"];

/// Comparisons of an object that prove nothing after the definition of its kind was written: they may still be made with the old schema,
/// which an API server keeps for a moment.
const DOUBTS: u8 = 2;

/// The reason for which an owner should look at its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An object is no longer as it was applied.
    Drift,
    /// The status of an object has changed while the owner waits for it ([`Ledger::await_status`]).
    Status,
}

type Notify = Box<dyn Fn(&Owner, &ObjectId, Notice) + Send + Sync>;

/// See the module's documentation.
pub struct Ledger {
    managers: Managers,
    notify: Notify,
    state: Mutex<State>,
}

/// The part of an object that a watch sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Its metadata: enough to see drift, not health.
    Metadata,
    /// All of it.
    Whole,
}

#[derive(Default)]
struct State {
    objects: Records,
    /// The watches that have listed everything and run, and what each sees of its objects.
    watched: HashMap<Scope, Depth>,
    waiting: HashSet<Owner>,
}

struct Record {
    owner: Arc<Owner>,
    settled: Option<Settled>,
    seen: Option<Seen>,
    /// The last state of an object that a watch has seen go.
    gone: Option<Box<Precise>>,
    /// True when it is there without the label by which watches see it.
    is_disowned: bool,
    /// Comparisons that are due before it is trusted again ([`DOUBTS`]).
    doubts: u8,
    touched: Instant,
}

/// An object that is as a manifest asks.
#[derive(Clone, Copy)]
struct Settled {
    /// Hash of the manifest.
    desired: u64,
    /// Fingerprint of the object then.
    fingerprint: u64,
    /// True when its end is no drift.
    ends_by_itself: bool,
}

#[derive(Clone)]
struct Seen {
    precise: Precise,
    fingerprint: u64,
    may_prune: bool,
    /// True when it carries the mark by which it may be replaced.
    may_replace: bool,
    /// True while it is being deleted.
    is_going: bool,
    /// True when what was written last is put back by the next regular run, and not at once.
    is_left: bool,
    /// Nothing when only metadata was seen.
    assessment: Option<Assessment>,
}

/// An object that a watch no longer sees, and that its owner misses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) id: ObjectId,
    /// `metadata.uid`
    pub(crate) uid: String,
}

/// The ledger's knowledge of an object that is about to be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It is as this manifest has left it.
    Settled,
    /// It is as another manifest of the same owner has left it, in this resource version.
    Untouched {
        /// Resource version.
        version: String,
    },
    /// It is a Job that this manifest has made, and that the cluster has deleted or is deleting.
    Ended,
    /// It is as this manifest has left it but for a write that the next regular run puts back.
    Left,
    /// Only a request can show it.
    None,
}

impl Ledger {
    /// A ledger for the objects that `manager` applies, which also takes over the fields of `overridden` managers.
    /// `notify` is called under no lock and must be quick.
    pub fn new(
        manager: &str,
        overridden: &[String],
        notify: impl Fn(&Owner, &ObjectId, Notice) + Send + Sync + 'static,
    ) -> Self {
        let managers = Managers { own: manager.to_owned(), overridden: overridden.to_vec() };
        Self { managers, notify: Box::new(notify), state: Mutex::default() }
    }

    /// Returns true when every object of an inventory is as its owner has left it; then nothing needs to be read or
    /// tried.
    pub fn proves(&self, owner: &Owner, inventory: &[Entry]) -> bool {
        let state = self.state.lock();
        inventory.iter().all(|entry| {
            state.is_watched(&entry.id)
                && state.objects.get_of(owner, &entry.id).is_some_and(|record| record.untouched().is_some())
        })
    }

    /// Returns true when an object of an inventory is to be compared though it is as its owner has left it: it may have other defaults now.
    pub fn doubts(&self, owner: &Owner, inventory: &[Entry]) -> bool {
        let state = self.state.lock();
        let is_doubted =
            |entry: &Entry| state.objects.get_of(owner, &entry.id).is_some_and(|it| it.doubts > 0);
        inventory.iter().any(is_doubted)
    }

    /// Returns the health of one of the owner's objects as last seen, if a watch vouches for it. The watches see with the
    /// rights of the service, so that the health of an object that somebody else has applied is not shown.
    pub fn assessment(&self, owner: &Owner, id: &ObjectId) -> Option<Assessment> {
        let state = self.state.lock();
        let depth = state.depth(id)?;
        let record = state.objects.get_of(owner, id)?;
        // One that was settled and is no longer seen is gone. One that never was settled may only not have been seen yet.
        let Some(seen) = &record.seen else {
            return record.settled.filter(|_| !record.is_disowned).map(|_| Assessment::not_found());
        };
        // An object can become Current without a metadata change, so that a metadata-only watch vouches for nothing else.
        let is_open = |found: &Assessment| depth == Depth::Metadata && found.status != Status::Current;
        seen.assessment.clone().filter(|found| !is_open(found))
    }

    /// Sends [`Notice::Status`] to this owner from now on.
    pub fn await_status(&self, owner: &Owner) {
        self.state.lock().waiting.insert(owner.clone());
    }

    /// Ends [`Self::await_status`].
    pub fn status_settled(&self, owner: &Owner) {
        self.state.lock().waiting.remove(owner);
    }

    /// Forgets an owner and its objects.
    pub fn forget(&self, owner: &Owner) {
        let mut state = self.state.lock();
        state.objects.remove_of(owner);
        state.waiting.remove(owner);
    }

    /// Forgets one of the owner's objects: it is about to be deleted, or to be left alone from now on. An object of
    /// another owner stays known.
    pub(crate) fn release(&self, owner: &Owner, id: &ObjectId) {
        let mut state = self.state.lock();
        if state.objects.get_of(owner, id).is_some() {
            state.objects.remove(id);
        }
    }

    pub(crate) fn trust(&self, owner: &Owner, id: &ObjectId, desired: u64) -> Trust {
        let state = self.state.lock();
        let record = state.objects.get_of(owner, id).filter(|_| state.is_watched(id));
        let is_doubted = record.is_some_and(|record| record.doubts > 0);
        match record.and_then(Record::untouched) {
            Some(_) if is_doubted => Trust::None,
            Some((settled, _)) if settled.desired == desired => Trust::Settled,
            Some((_, seen)) => Trust::Untouched { version: seen.precise.version.clone() },
            None if record.is_some_and(|record| record.has_ended(desired)) => Trust::Ended,
            None if record.is_some_and(|record| record.is_left(desired)) => Trust::Left,
            None => Trust::None,
        }
    }

    /// The definition of a kind was written: its objects may have other defaults now, of which no watch tells.
    pub(crate) fn redefine(&self, kind: &GroupKind) {
        self.state.lock().objects.of_kind_mut(kind).for_each(|record| record.doubts = DOUBTS);
    }

    /// Returns the state in which an owner may delete its object without reading it first.
    pub(crate) fn prunable(&self, owner: &Owner, id: &ObjectId) -> Option<Precise> {
        let state = self.state.lock();
        let record = state.objects.get_of(owner, id).filter(|_| state.is_watched(id))?;
        record.seen.as_ref().filter(|seen| seen.may_prune).map(|seen| seen.precise.clone())
    }

    /// Makes room for an object that is about to be applied, so that no watch event about it is missed. It takes the
    /// object from another owner: the server has let this one change it. Until the answer comes nothing is known of how it is to
    /// be: a watch that tells of this write first tells of no drift.
    pub(crate) fn open(&self, owner: &Owner, id: &ObjectId) {
        let mut state = self.state.lock();
        if state.objects.get_of(owner, id).is_some() {
            state.objects.get_mut(id).into_iter().for_each(|record| record.settled = None);
        } else {
            state.objects.insert(owner, id, Record::unknown);
        }
    }

    /// Makes room for an object that is about to be read, so that no watch event about it is missed.
    pub(crate) fn make_room(&self, owner: &Owner, id: &ObjectId) {
        let mut state = self.state.lock();
        if state.objects.get(id).is_none() {
            state.objects.insert(owner, id, Record::unknown);
        }
    }

    /// Records an object as the server has shown it. `desired` is the hash of the manifest that it now matches; nothing when the next
    /// apply still has something to change about it.
    pub(crate) fn settle(&self, owner: &Owner, id: &ObjectId, desired: Option<u64>, object: &mut LiveObject) {
        let Some(seen) = self.seen(owner, id, object) else { return };
        let (fingerprint, ends_by_itself) = (seen.fingerprint, ends_by_itself(id, object.spec()));
        let settled = desired.map(|desired| Settled { desired, fingerprint, ends_by_itself });
        let mut state = self.state.lock();
        if state.objects.get_of(owner, id).is_none() {
            state.objects.insert(owner, id, Record::unknown);
        }
        let Some(record) = state.objects.get_mut(id) else { return };
        record.touched = Instant::now();
        record.settled = settled;
        record.doubts = record.doubts.saturating_sub(1);
        record.is_disowned = false;
        record.gone.take_if(|gone| !seen.precise.is_older(gone));
        let newer = record.seen.take().filter(|known| seen.precise.is_older(&known.precise));
        let last = match newer {
            Some(newer) => Seen { assessment: newer.assessment.or(seen.assessment), ..newer },
            None => seen,
        };
        let has_drifted = settled.is_some_and(|settled| match &record.gone {
            Some(_) => !settled.ends_by_itself,
            None => settled.is_changed_to(&last),
        });
        // One that has gone meanwhile is not there, whatever the answer says.
        record.seen = Some(last).filter(|_| record.gone.is_none());
        drop(state);
        self.tell(owner, id, has_drifted, false);
    }

    /// A watch has seen an object.
    pub(crate) fn saw<const IS_METADATA: bool>(&self, id: &ObjectId, object: &mut LiveObject<IS_METADATA>) {
        let mut state = self.state.lock();
        let Some(owner) = state.objects.get(id).map(|record| Arc::clone(&record.owner)) else { return };
        let Some(mut seen) = self.seen(&owner, id, object) else { return };
        let is_waiting = state.waiting.contains(&owner);
        let Some(record) = state.objects.get_mut(id) else { return };
        if record.seen.as_ref().is_some_and(|before| seen.precise.is_older(&before.precise)) {
            return;
        }
        let before = record.seen.take();
        let has_drifted = record.settled.is_some_and(|settled| settled.is_changed_to(&seen))
            && before.as_ref().is_none_or(|before| before.fingerprint != seen.fingerprint)
            && !before.as_ref().is_some_and(|before| is_newly_marked(before, &seen, &owner, &object.meta));
        let known = before.map(|before| before.assessment);
        let has_status = is_waiting
            && known.as_ref().is_none_or(|known| {
                seen.assessment.is_some() && status_of(known) != status_of(&seen.assessment)
            });
        seen.assessment = seen.assessment.or(known.flatten());
        record.seen = Some(seen);
        record.is_disowned = false;
        record.gone = None;
        record.touched = Instant::now();
        drop(state);
        self.tell(&owner, id, has_drifted, has_status);
    }

    /// A watch has seen an object go, or lose its owner's label; `last` is its state by then, if the watch has told it. The answer to a
    /// request may come later, and show the object as it was before. Returns the object if its owner misses it: [`Self::missed`] or
    /// [`Self::release_lost`] is to be called once it is known which of the two has happened.
    #[must_use]
    pub(crate) fn lost(&self, id: &ObjectId, last: Option<&ObjectMeta>) -> Option<Missed> {
        let mut state = self.state.lock();
        let record = state.objects.get_mut(id)?;
        let is_missed = record.is_missed();
        let seen = record.seen.take().filter(|_| is_missed);
        record.gone = last.and_then(Precise::of).map(Box::new);
        record.touched = Instant::now();
        let owner = Arc::clone(&record.owner);
        let is_waiting = state.waiting.contains(&owner);
        drop(state);
        self.tell(&owner, id, false, is_waiting);
        seen.map(|seen| Missed { id: id.clone(), uid: seen.precise.uid })
    }

    /// An object that a watch has [lost](Self::lost) is no longer there.
    pub(crate) fn missed(&self, id: &ObjectId) {
        let state = self.state.lock();
        let owner =
            state.objects.get(id).filter(|record| record.is_lost()).map(|record| record.owner.clone());
        drop(state);
        owner.inspect(|owner| self.tell(owner, id, true, false));
    }

    /// An object that a watch has [lost](Self::lost) is there without the label of its owner, and so left alone until the next
    /// regular run.
    pub(crate) fn release_lost(&self, id: &ObjectId) {
        let mut state = self.state.lock();
        let Some(record) = state.objects.get_mut(id).filter(|record| record.is_lost()) else { return };
        record.is_disowned = true;
        let owner = Arc::clone(&record.owner);
        // A look that came meanwhile has taken it for gone.
        let is_waiting = state.waiting.contains(&owner);
        drop(state);
        self.tell(&owner, id, false, is_waiting);
    }

    /// A watch has listed all its objects: those recorded before the list began and not in it are [lost](Self::lost).
    #[must_use]
    pub(crate) fn listed(
        &self,
        scope: &Scope,
        depth: Depth,
        present: &HashSet<ObjectId>,
        began: Instant,
    ) -> Vec<Missed> {
        let mut state = self.state.lock();
        state.watched.insert(scope.clone(), depth);
        let is_in =
            |id: &ObjectId| scope.namespace.as_ref().is_none_or(|namespace| *namespace == id.namespace);
        let is_gone =
            |id: &ObjectId, record: &Record| is_in(id) && record.touched < began && !present.contains(id);
        let gone = state.objects.of_kind(&scope.kind).filter(|(id, record)| is_gone(id, record));
        let gone: Vec<ObjectId> = gone.map(|(id, _)| id).collect();
        drop(state);
        gone.iter().filter_map(|id| self.lost(id, None)).collect()
    }

    /// A watch has broken: nothing is proved until it has listed again.
    pub(crate) fn unwatched(&self, scope: &Scope) {
        self.state.lock().watched.remove(scope);
    }

    /// Returns the namespaces of the recorded objects of a kind.
    pub(crate) fn namespaces_of(&self, kind: &GroupKind) -> HashSet<String> {
        self.state.lock().objects.of_kind(kind).map(|(id, _)| id.namespace).collect()
    }

    fn seen<const IS_METADATA: bool>(
        &self,
        owner: &Owner,
        id: &ObjectId,
        object: &mut LiveObject<IS_METADATA>,
    ) -> Option<Seen> {
        let is_going = object.meta.deletion_timestamp.is_some();
        let assessment = match IS_METADATA {
            false => Some(object.assess(id)),
            true => is_going.then(|| Assessment::new(Status::Terminating, "Resource scheduled for deletion")),
        };
        Some(Seen {
            precise: Precise::of(&object.meta)?,
            fingerprint: self.managers.fingerprint(&owner.group, object),
            may_prune: may_prune(owner, &object.meta),
            may_replace: Mark::Force.on_live(&owner.group, &object.meta),
            is_going,
            is_left: is_left_for_now(&object.managers) || !owner.owns(&object.meta),
            assessment,
        })
    }

    fn tell(&self, owner: &Owner, id: &ObjectId, has_drifted: bool, has_status: bool) {
        if has_drifted {
            (self.notify)(owner, id, Notice::Drift);
        }
        if has_status {
            (self.notify)(owner, id, Notice::Status);
        }
    }
}

impl State {
    fn depth(&self, id: &ObjectId) -> Option<Depth> {
        let mut scope = Scope::everywhere(GroupKind { group: id.group.clone(), kind: id.kind.clone() });
        self.watched.get(&scope).copied().or_else(|| {
            scope.namespace = Some(id.namespace.clone());
            self.watched.get(&scope).copied()
        })
    }

    fn is_watched(&self, id: &ObjectId) -> bool {
        self.depth(id).is_some()
    }
}

impl Settled {
    /// Returns true when others have changed the object into this, or are about to take it away, and it is to be put back at once.
    fn is_changed_to(&self, seen: &Seen) -> bool {
        self.fingerprint != seen.fingerprint && !seen.is_left && !(self.ends_by_itself && seen.is_going)
    }
}

impl Record {
    /// Returns true when its end is drift.
    fn is_missed(&self) -> bool {
        self.settled.is_some_and(|settled| !settled.ends_by_itself)
    }

    /// Returns true for an object that its owner misses and that no watch has seen again.
    fn is_lost(&self) -> bool {
        self.is_missed() && self.seen.is_none() && !self.is_disowned
    }

    /// Returns true for an object that this manifest has made, and whose last write is put back by the next regular run.
    fn is_left(&self, desired: u64) -> bool {
        let is_left = self.is_disowned || self.seen.as_ref().is_some_and(|seen| seen.is_left);
        is_left && self.settled.is_some_and(|settled| settled.desired == desired)
    }

    /// Returns true for an object that this manifest has made and that has ended by itself.
    fn has_ended(&self, desired: u64) -> bool {
        let is_gone = self.seen.as_ref().is_none_or(|seen| seen.is_going);
        is_gone && self.settled.is_some_and(|settled| settled.ends_by_itself && settled.desired == desired)
    }

    /// Of an object that nothing is known of yet.
    fn unknown(owner: Arc<Owner>) -> Self {
        let touched = Instant::now();
        Self { owner, settled: None, seen: None, gone: None, is_disowned: false, doubts: 0, touched }
    }

    /// The object as its owner has left it, if nothing has touched it since.
    fn untouched(&self) -> Option<(Settled, &Seen)> {
        let settled = self.settled?;
        let seen = self.seen.as_ref().filter(|seen| seen.fingerprint == settled.fingerprint)?;
        Some((settled, seen))
    }
}

/// Returns true when this write says that the object is not to be pruned, or may be replaced: undone at once, the mark would be of no
/// use. The next regular run undoes it, as in Flux.
fn is_newly_marked(before: &Seen, seen: &Seen, owner: &Owner, meta: &ObjectMeta) -> bool {
    let is_protected = before.may_prune && Mark::PruneDisabled.on_live(&owner.group, meta);
    is_protected || (seen.may_replace && !before.may_replace)
}

/// Returns true for a Job that the cluster deletes once it has finished (KS-HC-9): made anew at once, its work would be done again and
/// again. The next regular run makes it, as in Flux. `spec` is that of the object.
pub fn ends_by_itself(id: &ObjectId, spec: Option<&serde_json::Value>) -> bool {
    let lifetime = spec.and_then(|spec| spec.get("ttlSecondsAfterFinished"));
    id.group == "batch" && id.kind == "Job" && lifetime.is_some_and(|lifetime| !lifetime.is_null())
}

/// Returns true when the last write was by one of [`LEFT_FOR_NOW`].
fn is_left_for_now(managers: &[Manager]) -> bool {
    let entries = managers.iter().filter(|entry| !is_of_subresource(entry.subresource.as_deref()));
    let time = |entry: &Manager| entry.time.as_ref().map(|time| time.0);
    let last = entries.clone().map(time).max();
    let is_left =
        |entry: &Manager| entry.manager.as_deref().is_some_and(|manager| LEFT_FOR_NOW.contains(&manager));
    entries.filter(|entry| Some(time(entry)) == last).any(is_left)
}

fn status_of(assessment: &Option<Assessment>) -> Option<Status> {
    assessment.as_ref().map(|assessment| assessment.status)
}

#[cfg(test)]
mod tests;
