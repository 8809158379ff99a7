//! The memory that builds and what they have built may take, shared by all runs: who comes first is served first.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit of the budget, in bytes: with it the count of any budget fits a semaphore.
const UNIT_BYTES: u64 = 1024;

/// Bytes that all runs share. Clones share them too.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    free: Arc<Semaphore>,
    units: u32,
}

/// A part of the budget, which goes back with the last clone. Nobody who has one waits for another, so that none waits for ever.
#[derive(Debug, Clone)]
pub(crate) struct Share(Arc<Mutex<OwnedSemaphorePermit>>);

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let units = units(bytes).clamp(1, most);
        Self { free: Arc::new(Semaphore::new(units as usize)), units }
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.units) * UNIT_BYTES
    }

    /// Waits for so many bytes, or for all of them where more are asked for. Nothing when the service ends.
    pub(crate) async fn take(&self, bytes: u64) -> Option<Share> {
        let units = units(bytes).clamp(1, self.units);
        let permit = Arc::clone(&self.free).acquire_many_owned(units).await.ok()?;
        Some(Share(Arc::new(Mutex::new(permit))))
    }
}

impl Share {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.lock().num_permits() as u64 * UNIT_BYTES
    }

    /// Grows to so many bytes, if the difference is free and nobody waits for memory; else it stays as it is.
    pub(crate) fn grow_to(&self, bytes: u64) -> bool {
        let mut permit = self.0.lock();
        let missing = (units(bytes) as usize).saturating_sub(permit.num_permits());
        let Ok(missing) = u32::try_from(missing) else { return false };
        let more = Arc::clone(permit.semaphore()).try_acquire_many_owned(missing);
        more.map(|more| permit.merge(more)).is_ok()
    }

    /// Gives back what is beyond so many bytes.
    pub(crate) fn shrink_to(&self, bytes: u64) {
        let mut permit = self.0.lock();
        let spare = permit.num_permits().saturating_sub(units(bytes).max(1) as usize);
        drop(permit.split(spare));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn what_is_given_back_is_there_for_the_next() {
        let budget = Budget::new(10 * UNIT_BYTES);
        let large = budget.take(u64::MAX).now_or_never().unwrap().unwrap();
        assert_eq!(large.bytes(), budget.bytes());
        assert!(budget.take(0).now_or_never().is_none(), "nothing is left");
        large.shrink_to(3 * UNIT_BYTES + 1);
        assert_eq!(large.bytes(), 4 * UNIT_BYTES);
        let rest = budget.take(6 * UNIT_BYTES).now_or_never().unwrap().unwrap();
        assert_eq!(rest.bytes(), 6 * UNIT_BYTES);
    }

    #[test]
    fn a_share_grows_by_what_is_free_and_takes_nothing_that_others_wait_for() {
        let budget = Budget::new(10 * UNIT_BYTES);
        let one = budget.take(2 * UNIT_BYTES).now_or_never().unwrap().unwrap();
        let other = budget.take(UNIT_BYTES).now_or_never().unwrap().unwrap();
        assert!(one.grow_to(6 * UNIT_BYTES - 1) && one.grow_to(3));
        assert_eq!(one.bytes(), 6 * UNIT_BYTES);
        assert!(!one.grow_to(10 * UNIT_BYTES), "the other one has a part of it");
        assert_eq!(one.bytes(), 6 * UNIT_BYTES);
        let mut waiting = std::pin::pin!(budget.take(5 * UNIT_BYTES));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(!one.grow_to(7 * UNIT_BYTES), "that would be at the cost of who waits");
        drop((one, other));
        assert_eq!(waiting.now_or_never().unwrap().unwrap().bytes(), 5 * UNIT_BYTES);
    }
}
