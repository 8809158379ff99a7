//! Metrics of automations (image.md §9.3).

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use weir_git::Error;
use weir_runtime::metrics::{Metrics, ObjectGauge};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

/// Pushes of all automations, and the files that each cannot edit.
pub(crate) struct AutomationMetrics {
    pushes: Family<ResultLabels, Counter>,
    /// Files that had to be left as they are: with markers, or too large to be searched for any.
    pub(crate) problem_files: ObjectGauge,
}

impl AutomationMetrics {
    /// Registers `weir_image_…`.
    pub(crate) fn new(metrics: &Metrics) -> Self {
        let pushes = Family::default();
        let help = "Pushes of branches and refspecs, by result";
        metrics.register(|registry| registry.register("weir_image_push", help, pushes.clone()));
        let help = "Files that an automation had to leave as they are in its last run: with markers, or too large to be searched for any";
        Self { pushes, problem_files: ObjectGauge::new(metrics, "weir_image_problem_files", help) }
    }

    /// Counts a push. One that came too late is no failure: the run starts over.
    pub(crate) fn pushed(&self, result: &Result<(), Error>) {
        let result = match result {
            Ok(()) => "success",
            Err(Error::LeaseLost { .. }) => "late",
            Err(_) => "failure",
        };
        self.pushes.get_or_create(&ResultLabels { result }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_are_counted_by_their_results() {
        let metrics = Metrics::default();
        let told = AutomationMetrics::new(&metrics);
        told.pushed(&Ok(()));
        told.pushed(&Ok(()));
        told.pushed(&Err(Error::PushOptionsUnsupported));
        let text = metrics.encode().unwrap();
        for line in
            ["weir_image_push_total{result=\"success\"} 2\n", "weir_image_push_total{result=\"failure\"} 1\n"]
        {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
