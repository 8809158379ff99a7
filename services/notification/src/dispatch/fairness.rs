//! Who may send now: many deliveries wait, few are in flight, and one slow service does not hold up the others.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_runtime::ObjectKey;

/// Deliveries in flight. A delivery holds a connection and some KiB.
const IN_FLIGHT: usize = 128;
/// Of these, how many one Provider may have: while its service hangs, seven others can as well before anyone waits.
const IN_FLIGHT_PER_PROVIDER: usize = 16;

/// The turns of all Providers.
pub struct Fairness {
    all: Arc<Semaphore>,
    each: Mutex<HashMap<ObjectKey, Arc<Semaphore>>>,
}

impl Default for Fairness {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(IN_FLIGHT)), each: Mutex::default() }
    }
}

/// The right to send; ends when dropped.
pub struct Turn {
    _permits: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
}

impl Fairness {
    /// Waits for a turn of the Provider.
    pub async fn turn(&self, provider: &ObjectKey) -> Turn {
        let own = self.semaphore(provider);
        // Own limit first: whoever waits for a slow service must not hold one of the shared places. The semaphores are
        // never closed, so that both permits are always there.
        let Ok(own) = own.acquire_owned().await else { return Turn { _permits: None } };
        let Ok(shared) = self.all.clone().acquire_owned().await else { return Turn { _permits: None } };
        Turn { _permits: Some((own, shared)) }
    }

    fn semaphore(&self, provider: &ObjectKey) -> Arc<Semaphore> {
        let mut each = self.each.lock();
        // Providers without deliveries need no entry; the map holds those in use and what came since the last look.
        if each.len() > IN_FLIGHT {
            each.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        }
        each.entry(provider.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(IN_FLIGHT_PER_PROVIDER)))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_slow_provider_leaves_room_for_others() {
        let fairness = Fairness::default();
        let (slow, other) = (ObjectKey::new("a", "slow"), ObjectKey::new("a", "other"));
        let mut turns = Vec::new();
        for _ in 0..IN_FLIGHT_PER_PROVIDER {
            turns.push(fairness.turn(&slow).await);
        }
        assert!(fairness.turn(&slow).now_or_never().is_none());
        assert!(fairness.turn(&other).now_or_never().is_some());
        turns.pop();
        assert!(fairness.turn(&slow).now_or_never().is_some());
    }
}
