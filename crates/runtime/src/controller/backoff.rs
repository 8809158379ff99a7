//! When an object runs again: intervals with jitter, delays, and exponential backoff after failures.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use rand::RngExt;
use tokio::time::Instant;

use super::Next;
use crate::cache::ObjectKey;
use crate::queue::Cause;

/// The flags that govern retries and intervals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryDelays {
    /// Delay after the first failure.
    pub min: Duration,
    /// Cap of the doubled delay.
    pub max: Duration,
    /// Spread of intervals, 0 to 99 percent either way.
    pub jitter_percent: u32,
}

/// Failure counts by object; an entry lives until the object succeeds or is gone.
pub(super) struct Backoff {
    delays: RetryDelays,
    failures: Mutex<HashMap<ObjectKey, u32>>,
}

impl Backoff {
    pub(super) fn new(delays: RetryDelays) -> Self {
        Self { delays, failures: Mutex::default() }
    }

    pub(super) fn reset(&self, key: &ObjectKey) {
        self.failures.lock().remove(key);
    }

    /// Counts a failure of the object, and returns how long to wait after it.
    fn delay(&self, key: &ObjectKey) -> Duration {
        let mut failures = self.failures.lock();
        let count = failures.entry(key.clone()).or_insert(0);
        let delay = self.delays.after(*count);
        *count = count.saturating_add(1);
        delay
    }

    /// The object's next timer; `None` waits for a change of the object. The timer before was `due`.
    pub(super) fn schedule(
        &self,
        key: &ObjectKey,
        next: Next,
        due: Option<Instant>,
    ) -> Option<(Cause, Duration)> {
        let spread = rand::rng().random_range(-1.0..=1.0);
        match next {
            Next::Backoff => Some((Cause::Retry, self.delay(key))),
            Next::BackoffFrom(least) => Some((Cause::Retry, self.delay(key).max(least.min(self.delays.max)))),
            Next::Superseded => None,
            Next::Stop => {
                self.reset(key);
                None
            }
            Next::Unchanged(interval) => {
                let Some(due) = due else { return self.schedule(key, Next::Interval(interval), None) };
                self.reset(key);
                Some((Cause::Timer, due.saturating_duration_since(Instant::now())))
            }
            Next::Interval(interval) => {
                self.reset(key);
                (!interval.is_zero()).then(|| (Cause::Timer, self.delays.jittered(interval, spread)))
            }
            Next::After(delay) | Next::Wait { give_up: delay } => {
                self.reset(key);
                Some((Cause::Timer, delay))
            }
        }
    }
}

impl RetryDelays {
    fn after(&self, failures: u32) -> Duration {
        self.min.saturating_mul(2_u32.saturating_pow(failures)).min(self.max)
    }

    /// `spread` is between -1 and 1.
    fn jittered(&self, interval: Duration, spread: f64) -> Duration {
        interval.mul_f64(1.0 + spread * f64::from(self.jitter_percent.min(99)) / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAYS: RetryDelays =
        RetryDelays { min: Duration::from_millis(750), max: Duration::from_secs(900), jitter_percent: 5 };

    #[test]
    fn delays_double_up_to_the_cap() {
        let millis: Vec<_> = [0, 1, 2, 20, 40].map(|n| DELAYS.after(n).as_millis()).into();
        assert_eq!(millis, [750, 1500, 3000, 900_000, 900_000]);
    }

    #[test]
    fn jitter_stays_within_its_percentage() {
        let hour = Duration::from_secs(3600);
        assert_eq!(DELAYS.jittered(hour, -1.0).as_secs(), 3420);
        assert_eq!(DELAYS.jittered(hour, 1.0).as_secs(), 3780);
    }

    #[test]
    fn success_starts_the_delays_over() {
        let (backoff, key) = (Backoff::new(DELAYS), ObjectKey::new("apps", "a"));
        backoff.schedule(&key, Next::Backoff, None);
        backoff.schedule(&key, Next::Interval(Duration::from_secs(60)), None);
        assert_eq!(backoff.schedule(&key, Next::Backoff, None), Some((Cause::Retry, DELAYS.min)));
    }

    #[test]
    fn a_server_that_asks_for_time_gets_it() {
        let (backoff, key) = (Backoff::new(DELAYS), ObjectKey::new("apps", "a"));
        let from = |seconds| {
            let next = Next::BackoffFrom(Duration::from_secs(seconds));
            backoff.schedule(&key, next, None).unwrap().1.as_millis()
        };
        assert_eq!([from(0), from(1), from(20), from(86_400)], [750, 1500, 20_000, 900_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn runs_in_between_do_not_put_off_the_regular_one() {
        let (backoff, key, hour) =
            (Backoff::new(DELAYS), ObjectKey::new("apps", "a"), Duration::from_secs(3600));
        let due = Instant::now() + Duration::from_secs(5);
        let kept = backoff.schedule(&key, Next::Unchanged(hour), Some(due));
        assert_eq!(kept, Some((Cause::Timer, Duration::from_secs(5))));
        let (_, new) = backoff.schedule(&key, Next::Unchanged(hour), None).unwrap();
        assert!(new.as_secs() >= 3420, "{new:?}");
    }

    #[test]
    fn an_interval_of_zero_has_no_timer() {
        let backoff = Backoff::new(DELAYS);
        assert_eq!(
            backoff.schedule(&ObjectKey::new("apps", "a"), Next::Interval(Duration::ZERO), None),
            None
        );
    }
}
