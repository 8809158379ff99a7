//! Alerts for which an event is dropped because of what it lacks, told in one line as Flux does it (guards 5 and 6).

use std::collections::BTreeMap;

use parking_lot::Mutex;
use weir_runtime::ObjectKey;

use crate::event::Event;

/// Alerts by the reason for which they get nothing of an event. Each delivery lets go of it when it has been judged, and the last
/// one of the event tells.
pub(super) struct Discarded {
    object: String,
    alerts: Mutex<BTreeMap<&'static str, Vec<String>>>,
}

impl Discarded {
    pub(super) fn of(event: &Event) -> Self {
        Self { object: event.involved_object.path(), alerts: Mutex::default() }
    }

    pub(super) fn add(&self, reason: &'static str, alert: &ObjectKey) {
        self.alerts.lock().entry(reason).or_default().push(alert.to_string());
    }
}

impl Drop for Discarded {
    fn drop(&mut self) {
        for (reason, alerts) in self.alerts.get_mut() {
            alerts.sort();
            // Written as a list, under the name without its ending (`weir_runtime::log`).
            tracing::info!(
                object = self.object,
                alerts_json = serde_json::json!(alerts).to_string(),
                "{reason}"
            );
        }
    }
}
