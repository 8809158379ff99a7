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
    /// Returns true when a run in flight is obsolete with this cause and is to be cancelled.
    fn supersedes(self) -> bool {
        matches!(self, Self::Spec | Self::Revision | Self::Requested | Self::Deleted)
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
    pending: HashMap<ObjectKey, Pending>,
    /// Most urgent first, then in the order of arrival.
    ready: BTreeMap<(Reverse<Cause>, u64), ObjectKey>,
    running: HashMap<ObjectKey, Running>,
    timers: BTreeMap<(Instant, u64), (ObjectKey, Cause)>,
    timer_of: HashMap<ObjectKey, (Instant, u64)>,
}

struct Pending {
    causes: BTreeSet<Cause>,
    slot: (Reverse<Cause>, u64),
    since: Instant,
}

struct Running {
    cancel: CancellationToken,
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
    /// How long it stood in the queue.
    pub waited: Duration,
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

    /// Adds a cause after a delay, unless the object's timer is due earlier anyway.
    pub fn enqueue_after(&self, key: ObjectKey, cause: Cause, delay: Duration) {
        let mut state = self.inner.state.lock();
        let due = Instant::now() + delay;
        if state.timer_of.get(&key).is_none_or(|(known, _)| *known > due) {
            state.set_timer(key, cause, due);
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
                state.timers.keys().next().map(|(due, _)| *due)
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
            state.set_timer(key.clone(), cause, now + delay);
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

    /// Cancels all runs in flight, for the graceful stop.
    pub fn cancel_all(&self) {
        self.inner.state.lock().running.values().for_each(|running| running.cancel.cancel());
    }
}

impl State {
    fn add(&mut self, key: ObjectKey, cause: Cause, now: Instant) {
        if let Some(running) = self.running.get_mut(&key) {
            running.again.insert(cause);
            if cause.supersedes() {
                running.cancel.cancel();
            }
            return;
        }
        self.sequence += 1;
        let slot = (Reverse(cause), self.sequence);
        match self.pending.get_mut(&key) {
            None => {
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

    fn set_timer(&mut self, key: ObjectKey, cause: Cause, due: Instant) {
        self.clear_timer(&key);
        self.sequence += 1;
        let slot = (due, self.sequence);
        self.timer_of.insert(key.clone(), slot);
        self.timers.insert(slot, (key, cause));
    }

    fn clear_timer(&mut self, key: &ObjectKey) {
        if let Some(slot) = self.timer_of.remove(key) {
            self.timers.remove(&slot);
        }
    }

    fn fire(&mut self, now: Instant) {
        while let Some(entry) = self.timers.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let (key, cause) = entry.remove();
            self.timer_of.remove(&key);
            self.add(key, cause, now);
        }
    }

    /// The run replaces the object's timer: what it waited for is looked at now.
    fn pop(&mut self) -> Option<Ticket> {
        let (_, key) = self.ready.pop_first()?;
        self.clear_timer(&key);
        let pending = self.pending.remove(&key)?;
        let cancel = CancellationToken::new();
        self.running.insert(key.clone(), Running { cancel: cancel.clone(), again: BTreeSet::new() });
        let causes = pending.causes.into_iter().rev().collect();
        Some(Ticket { key, causes, cancel, waited: pending.since.elapsed() })
    }
}

#[cfg(test)]
mod tests;
