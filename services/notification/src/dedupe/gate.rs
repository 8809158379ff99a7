//! Admits events to the store: nothing is called a duplicate before the event that it repeats is kept.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Windows;

/// The windows of all keys, and the events that are on their way to the store. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    state: Arc<Mutex<State>>,
}

struct State {
    windows: Windows,
    /// Ends of the stores in progress, by key. Bounded by the room for events.
    storing: HashMap<String, CancellationToken>,
}

/// Permission to store one event. Dropped before [`Pass::keep`], it gives the window back: a repetition must pass.
pub struct Pass {
    state: Arc<Mutex<State>>,
    key: String,
    /// When the next event of the key may pass.
    pub reset: Timestamp,
    is_kept: bool,
}

impl Gate {
    /// Admits one event per key and interval.
    pub fn new(interval: SignedDuration) -> Self {
        let state = State { windows: Windows::new(interval), storing: HashMap::new() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Knows an event of before a restart.
    pub fn remember(&self, key: &str, accepted: Timestamp) {
        self.state.lock().windows.admit(key, accepted);
    }

    /// Takes the window of a key. While an event of it is being stored, waits for the result: senders give up a try sooner than a store
    /// may take, and count the answer that their next one is a duplicate as a delivery.
    ///
    /// # Errors
    /// When it is a duplicate; the time from which the next one is none.
    pub async fn admit(&self, key: &str, now: Timestamp) -> Result<Pass, Timestamp> {
        loop {
            let stored = match self.try_admit(key, now) {
                Ok(pass) => return Ok(pass),
                Err((reset, None)) => return Err(reset),
                Err((_, Some(stored))) => stored,
            };
            stored.cancelled().await;
        }
    }

    /// Takes the window of a key, or returns when it is free again and the end of the store that holds it.
    fn try_admit(&self, key: &str, now: Timestamp) -> Result<Pass, (Timestamp, Option<CancellationToken>)> {
        let mut state = self.state.lock();
        let admission = state.windows.admit(key, now);
        if !admission.is_admitted {
            return Err((admission.reset, state.storing.get(key).cloned()));
        }
        state.storing.insert(key.to_owned(), CancellationToken::new());
        Ok(Pass { state: self.state.clone(), key: key.to_owned(), reset: admission.reset, is_kept: false })
    }
}

impl Pass {
    /// The event is stored, or nobody wants it: its repetitions are duplicates.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if !self.is_kept {
            state.windows.release(&self.key);
        }
        if let Some(stored) = state.storing.remove(&self.key) {
            stored.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use rstest::rstest;

    use super::*;

    /// NTF-18: of the same event that comes while the first is being stored.
    #[rstest]
    #[case::kept(true)]
    #[case::lost(false)]
    #[tokio::test]
    async fn repetitions_wait_for_the_store(#[case] is_kept: bool) {
        let (gate, now) = (Gate::new(SignedDuration::from_secs(300)), Timestamp::UNIX_EPOCH);
        let first = gate.admit("a", now).await.ok().unwrap();
        let mut second = Box::pin(gate.admit("a", now));
        assert!(second.as_mut().now_or_never().is_none(), "nothing is known of the first");
        assert!(gate.admit("b", now).now_or_never().is_some_and(|other| other.is_ok()), "another key");
        if is_kept {
            first.keep()
        } else {
            drop(first)
        }
        let second = second.now_or_never().expect("the store has ended");
        assert_eq!(second.is_err(), is_kept);
    }

    /// NTF-18: no event is a duplicate.
    #[tokio::test]
    async fn without_an_interval_nothing_waits() {
        let (gate, now) = (Gate::new(SignedDuration::ZERO), Timestamp::UNIX_EPOCH);
        let first = gate.admit("a", now).await.ok().unwrap();
        let second = gate.admit("a", now).now_or_never();
        assert!(second.is_some_and(|second| second.is_ok()));
        first.keep();
    }
}
