//! The work queue of a controller: keyed, deduplicated, ordered by urgency, with one timer an object.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cache::{Cached, ObjectKey};

/// The cause of a run; later ones are more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The process started.
    Startup,
    /// The interval or a deadline passed.
    Timer,
    /// A failed run is tried again.
    Retry,
    /// The object's spec changed, or the object is new.
    Spec,
    /// Something that was applied is not as it was applied.
    Drift,
    /// A referenced Secret or ConfigMap changed.
    Config,
    /// A dependency became ready.
    Dependency,
    /// Something that a waiting run waits for has changed.
    Health,
    /// A source has a new revision.
    Revision,
    /// A person or a webhook requested it.
    Requested,
    /// The object is being deleted, or is gone.
    Deleted,
}

impl Cause {
    /// Returns true when a run in flight is obsolete with this cause and is to be cancelled. A request does not cancel a run that was
    /// requested: else requests that follow each other faster than a run takes would never let one end.
    fn supersedes(self, is_requested: bool) -> bool {
        match self {
            Self::Spec | Self::Revision | Self::Deleted => true,
            Self::Requested => !is_requested,
            _ => false,
        }
    }
}

/// Handle of a controller's queue; clones share it.
#[derive(Clone, Default)]
pub struct Queue {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    sequence: u64,
    /// Objects that have been queued since the start.
    added: u64,
    pending: HashMap<ObjectKey, Pending>,
    /// Most urgent first, then in the order of arrival.
    ready: BTreeMap<(Reverse<Cause>, u64), ObjectKey>,
    running: HashMap<ObjectKey, Running>,
    /// When each object runs again, as its last run has asked.
    timers: Timers,
    /// Causes that were put off.
    delayed: Timers,
}

/// One timer an object, first due first.
#[derive(Default)]
struct Timers {
    by_due: BTreeMap<(Instant, u64), (ObjectKey, Cause)>,
    of: HashMap<ObjectKey, (Instant, u64)>,
}

struct Pending {
    causes: BTreeSet<Cause>,
    slot: (Reverse<Cause>, u64),
    since: Instant,
}

struct Running {
    cancel: CancellationToken,
    /// True when a request is among its causes.
    is_requested: bool,
    again: BTreeSet<Cause>,
}

/// Permission to run one object; give it back with [`Queue::done`].
#[derive(Debug)]
pub struct Ticket {
    /// Object to run.
    pub key: ObjectKey,
    /// Causes, most urgent first.
    pub causes: Vec<Cause>,
    /// Cancelled when the run is superseded.
    pub cancel: CancellationToken,
    /// Time that it stood in the queue.
    pub waited: Duration,
    /// When the object's timer, which this run replaces, would have been due.
    pub due: Option<Instant>,
}

impl Queue {
    /// Adds a cause for an object. An object that is running runs again afterwards; if the cause makes the run in flight
    /// obsolete, that run is cancelled.
    pub fn enqueue(&self, key: ObjectKey, cause: Cause) {
        self.inner.state.lock().add(key, cause, Instant::now());
        self.inner.changed.notify_one();
    }

    /// Adds a cause for each object.
    pub fn wake<K: Cached>(&self, objects: impl IntoIterator<Item = Arc<K>>, cause: Cause) {
        objects.into_iter().for_each(|object| self.enqueue(ObjectKey::of(&*object), cause));
    }

    /// Adds a cause after a delay, unless one is put off already that comes earlier. A run that comes meanwhile does not take its place:
    /// it may look at something else only.
    pub fn enqueue_after(&self, key: ObjectKey, cause: Cause, delay: Duration) {
        let mut state = self.inner.state.lock();
        let due = Instant::now() + delay;
        if state.delayed.due(&key).is_none_or(|known| known > due) {
            let slot = (due, state.number());
            state.delayed.set(key, cause, slot);
        }
        drop(state);
        self.inner.changed.notify_one();
    }

    /// Waits for the next object to run. Dropping the future loses nothing.
    pub async fn next(&self) -> Ticket {
        loop {
            let changed = self.inner.changed.notified();
            let timer = {
                let mut state = self.inner.state.lock();
                state.fire(Instant::now());
                if let Some(ticket) = state.pop() {
                    if !state.ready.is_empty() {
                        self.inner.changed.notify_one();
                    }
                    return ticket;
                }
                state.timers.first().into_iter().chain(state.delayed.first()).min()
            };
            match timer {
                Some(due) => {
                    let _ = tokio::time::timeout_at(due, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// Ends a run. `again` replaces the object's timer; causes that came meanwhile are queued at once.
    pub fn done(&self, key: &ObjectKey, again: Option<(Cause, Duration)>) {
        let mut state = self.inner.state.lock();
        let now = Instant::now();
        if let Some((cause, delay)) = again {
            let slot = (now + delay, state.number());
            state.timers.set(key.clone(), cause, slot);
        }
        if let Some(running) = state.running.remove(key) {
            for cause in running.again {
                state.add(key.clone(), cause, now);
            }
        }
        drop(state);
        self.inner.changed.notify_one();
    }

    /// Number of objects that wait to run now.
    pub fn depth(&self) -> usize {
        self.inner.state.lock().ready.len()
    }

    /// Number of objects that have been queued since the start.
    pub(crate) fn added(&self) -> u64 {
        self.inner.state.lock().added
    }

    /// Cancels all runs in flight, for the graceful stop.
    pub(crate) fn cancel_all(&self) {
        self.inner.state.lock().running.values().for_each(|running| running.cancel.cancel());
    }
}

impl State {
    fn add(&mut self, key: ObjectKey, cause: Cause, now: Instant) {
        if let Some(running) = self.running.get_mut(&key) {
            running.again.insert(cause);
            if cause.supersedes(running.is_requested) {
                running.cancel.cancel();
            }
            return;
        }
        let slot = (Reverse(cause), self.number());
        match self.pending.get_mut(&key) {
            None => {
                self.added += 1;
                self.pending.insert(key.clone(), Pending { causes: [cause].into(), slot, since: now });
                self.ready.insert(slot, key);
            }
            Some(pending) => {
                pending.causes.insert(cause);
                if slot.0 < pending.slot.0 {
                    self.ready.remove(&pending.slot);
                    pending.slot = slot;
                    self.ready.insert(slot, key);
                }
            }
        }
    }

    /// A number that nothing else has.
    fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn fire(&mut self, now: Instant) {
        while let Some((key, cause)) = self.timers.pop_due(now).or_else(|| self.delayed.pop_due(now)) {
            self.add(key, cause, now);
        }
    }

    /// The run replaces the object's timer: what it waited for is looked at now.
    fn pop(&mut self) -> Option<Ticket> {
        let (_, key) = self.ready.pop_first()?;
        let due = self.timers.clear(&key);
        let pending = self.pending.remove(&key)?;
        let cancel = CancellationToken::new();
        let is_requested = pending.causes.contains(&Cause::Requested);
        let running = Running { cancel: cancel.clone(), is_requested, again: BTreeSet::new() };
        self.running.insert(key.clone(), running);
        let causes = pending.causes.into_iter().rev().collect();
        Some(Ticket { key, causes, cancel, waited: pending.since.elapsed(), due })
    }
}

impl Timers {
    fn set(&mut self, key: ObjectKey, cause: Cause, slot: (Instant, u64)) {
        self.clear(&key);
        self.of.insert(key.clone(), slot);
        self.by_due.insert(slot, (key, cause));
    }

    /// Removes an object's timer; returns when it would have been due.
    fn clear(&mut self, key: &ObjectKey) -> Option<Instant> {
        let slot = self.of.remove(key)?;
        self.by_due.remove(&slot);
        Some(slot.0)
    }

    fn due(&self, key: &ObjectKey) -> Option<Instant> {
        self.of.get(key).map(|(due, _)| *due)
    }

    fn first(&self) -> Option<Instant> {
        self.by_due.keys().next().map(|(due, _)| *due)
    }

    /// Removes the first timer, if it is due.
    fn pop_due(&mut self, now: Instant) -> Option<(ObjectKey, Cause)> {
        let first = self.by_due.first_entry().filter(|first| first.key().0 <= now)?;
        let (key, cause) = first.remove();
        self.of.remove(&key);
        Some((key, cause))
    }
}

#[cfg(test)]
mod tests;
