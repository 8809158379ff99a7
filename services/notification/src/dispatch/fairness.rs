//! The order of sending: many deliveries wait, few are in flight, and one slow service holds up nobody else.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_runtime::ObjectKey;

/// Deliveries in flight. A delivery holds a connection and some KiB.
const IN_FLIGHT: usize = 128;
/// Of these, how many one Provider may have: while its service hangs, seven others can as well before anyone waits.
const IN_FLIGHT_PER_PROVIDER: usize = 16;
/// Deliveries of one Provider that wait or are in flight. A service that is away would otherwise fill the outbox, and
/// events of everybody would be turned away. Enough for half an hour of failing tries.
pub const MAX_WAITING_PER_PROVIDER: usize = 2048;

/// The turns of all Providers.
pub struct Fairness {
    all: Arc<Semaphore>,
    each: Mutex<HashMap<ObjectKey, Queue>>,
}

#[derive(Clone)]
struct Queue {
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

impl Default for Fairness {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(IN_FLIGHT)), each: Mutex::default() }
    }
}

/// The right to send; ends when dropped.
pub struct Turn {
    _permits: [OwnedSemaphorePermit; 3],
}

impl Fairness {
    /// Waits for a turn of the Provider; `None` at once when too many wait already.
    pub async fn turn(&self, provider: &ObjectKey) -> Option<Turn> {
        let Queue { places, turns } = self.queue(provider);
        let place = places.try_acquire_owned().ok()?;
        // The Provider's own limit first: whoever waits for a slow service must not hold one of the shared turns.
        // None of these semaphores is ever closed.
        let own = turns.acquire_owned().await.ok()?;
        let shared = self.all.clone().acquire_owned().await.ok()?;
        Some(Turn { _permits: [place, own, shared] })
    }

    fn queue(&self, provider: &ObjectKey) -> Queue {
        let mut each = self.each.lock();
        // Providers without deliveries need no entry; the map holds those in use and what came since the last look.
        if each.len() > IN_FLIGHT {
            each.retain(|_, queue| queue.places.available_permits() < MAX_WAITING_PER_PROVIDER);
        }
        let queue = each.entry(provider.clone()).or_insert_with(|| Queue {
            places: Arc::new(Semaphore::new(MAX_WAITING_PER_PROVIDER)),
            turns: Arc::new(Semaphore::new(IN_FLIGHT_PER_PROVIDER)),
        });
        queue.clone()
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
            turns.push(fairness.turn(&slow).await.unwrap());
        }
        assert!(fairness.turn(&slow).now_or_never().is_none(), "has to wait");
        assert!(fairness.turn(&other).now_or_never().is_some());
        turns.pop();
        assert!(fairness.turn(&slow).now_or_never().is_some());
    }

    #[tokio::test]
    async fn the_line_before_a_provider_has_an_end() {
        let fairness = Fairness::default();
        let slow = ObjectKey::new("a", "slow");
        let mut waiting: Vec<_> =
            (0..MAX_WAITING_PER_PROVIDER).map(|_| Box::pin(fairness.turn(&slow))).collect();
        let turns: Vec<_> = waiting.iter_mut().filter_map(|turn| turn.now_or_never()).collect();
        assert_eq!(turns.len(), IN_FLIGHT_PER_PROVIDER);
        assert!(fairness.turn(&slow).await.is_none());
    }
}
