//! The pace at which waits for health are announced in statuses.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time between two announcements. An announcement is two requests, a third of what an upgrade of one object takes.
const EACH: Duration = Duration::from_millis(100);

/// Announcements that may come at once.
const AT_ONCE: u32 = 20;

/// Lets few of many waits announce themselves at a time. When a thousand Kustomizations change together, all of them wait long, because the
/// API server is busy; to announce each would keep it busy for longer. A wait that goes on has its turn later
/// (docs/adr/0013-progress-after-two-seconds.md).
#[derive(Debug, Default)]
pub(crate) struct Announcements {
    /// Moment at which those made so far are paid for.
    paid: Mutex<Option<Instant>>,
}

impl Announcements {
    /// Returns true when a wait may be announced now, and counts it.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let mut paid = self.paid.lock();
        let next = paid.map_or(now, |paid| paid.max(now)) + EACH;
        let is_early = next > now + EACH * AT_ONCE;
        if !is_early {
            *paid = Some(next);
        }
        !is_early
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_of_many_waits_are_announced_at_once_and_the_others_later() {
        let start = Instant::now();
        let announcements = Announcements::default();
        let taken = |after: u64, wanted: usize| {
            let now = start + Duration::from_millis(after);
            (0..wanted).filter(|_| announcements.take(now)).count()
        };
        assert_eq!(taken(0, 1000), 20);
        assert_eq!(taken(99, 1000), 0);
        assert_eq!(taken(2_000, 1000), 20);
        assert_eq!(taken(2_500, 1000), 5);
        assert_eq!(taken(60_000, 7), 7);
    }
}
