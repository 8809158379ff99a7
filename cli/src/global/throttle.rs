//! Requests to the API server at the pace of `--kube-api-qps` and `--kube-api-burst` (cli.md 1.1).

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use tower::{Layer, Service};

/// Longest time between two requests; whoever wants less has made a mistake.
const SLOWEST: Duration = Duration::from_secs(60);

/// Requests a second, and how many of them may come at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Time that one request takes of the second.
    each: Duration,
    /// Time by which requests may be ahead.
    ahead: Duration,
}

/// A client that keeps a pace.
pub(super) struct Throttled<S> {
    inner: S,
    pace: Option<Pace>,
    /// Moment at which all requests so far are paid for.
    paid: Instant,
    /// The wait before the next request.
    wait: Option<Pin<Box<Sleep>>>,
}

/// Makes clients keep a pace; without one, they do not wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Throttle(pub(super) Option<Pace>);

impl Pace {
    /// Returns the pace of the flags; none when the number of requests a second is not positive.
    pub(super) fn of(qps: f32, burst: u32) -> Option<Self> {
        let each = Duration::try_from_secs_f32(qps.recip()).ok().filter(|each| !each.is_zero())?.min(SLOWEST);
        Some(Self { each, ahead: each.saturating_mul(burst.max(1)) })
    }

    /// Pays for a request; returns when all are paid for then, and when the next request may be made.
    fn pay(self, paid: Instant, now: Instant) -> (Instant, Instant) {
        let paid = paid.max(now) + self.each;
        (paid, paid.checked_sub(self.ahead).map_or(now, |at| at + self.each))
    }
}

impl<S> Layer<S> for Throttle {
    type Service = Throttled<S>;

    fn layer(&self, inner: S) -> Throttled<S> {
        Throttled { inner, pace: self.0, paid: Instant::now(), wait: None }
    }
}

impl<S: Service<R>, R> Service<R> for Throttled<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        if let Some(pace) = self.pace {
            let now = Instant::now();
            let (paid, next) = pace.pay(self.paid, now);
            self.paid = paid;
            self.wait = (next > now).then(|| Box::pin(sleep_until(next)));
        }
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_pace() {
        let (pace, begin) = (Pace::of(10.0, 3).unwrap(), Instant::now());
        let (mut paid, mut now, mut sent) = (begin, begin, Vec::new());
        for _ in 0..6 {
            sent.push(now.duration_since(begin).as_millis());
            let next;
            (paid, next) = pace.pay(paid, now);
            now = now.max(next);
        }
        assert_eq!(sent, [0, 0, 0, 100, 200, 300]);
    }

    #[test]
    fn no_pace_without_a_rate() {
        assert!(Pace::of(0.0, 1).is_none() && Pace::of(-1.0, 1).is_none());
    }
}
