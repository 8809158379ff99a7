//! Outages: a person is told once when changes do not come any more, and once when they come again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::output::progress;

/// Failures behind each other from which on there is an outage. A stream that is taken up again at once is none.
const TOLERATED: u32 = 2;

/// The number of streams of one server that are interrupted. They fail together, and are told of together.
#[derive(Debug, Clone, Default)]
pub(super) struct Outages(Arc<AtomicUsize>);

/// The state of one stream.
#[derive(Debug, Default)]
pub(super) struct Outage {
    all: Outages,
    failures: u32,
}

impl Outages {
    /// A stream of the server.
    pub(super) fn stream(&self) -> Outage {
        Outage { all: self.clone(), failures: 0 }
    }
}

impl Outage {
    /// Notes a failure of the stream, and warns of the first outage.
    pub(super) fn failed(&mut self, server: &str, reason: &str) {
        if self.begins() {
            // A hint below the reason would stand within the sentence.
            let reason = reason.lines().next().unwrap_or_default();
            progress::warning(&format!("no changes come from {server}: {reason}; trying again"));
        }
    }

    /// Notes that the stream works.
    pub(super) fn works(&mut self, server: &str) {
        if self.ends() {
            progress::success(&format!("changes come from {server} again"));
        }
    }

    /// Returns true when a failure is the begin of an outage.
    fn begins(&mut self) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.failures == TOLERATED && self.all.0.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// Returns true when this was the last stream of an outage.
    fn ends(&mut self) -> bool {
        let was_out = std::mem::take(&mut self.failures) >= TOLERATED;
        was_out && self.all.0.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_once_and_its_end_too() {
        let server = Outages::default();
        let (mut one, mut other) = (server.stream(), server.stream());
        assert!(!one.begins() && !one.ends(), "one failure is none");
        assert_eq!([one.begins(), one.begins(), one.begins()], [false, true, false]);
        assert_eq!([other.begins(), other.begins()], [false, false]);
        assert_eq!([one.ends(), one.ends(), other.ends(), other.ends()], [false, false, true, false]);
        assert_eq!([other.begins(), other.begins()], [false, true]);
    }
}
