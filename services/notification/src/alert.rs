//! Alerts: which events an Alert asks for (NTF-25 … NTF-29). Pure, but for the finalizer that old objects carry.

pub mod legacy;
pub mod messages;

use weir_api::CrossNamespaceObjectReference;
use weir_api::notification::AlertSpec;

use crate::event::{Event, SEVERITY_INFO};

/// The name that stands for all names.
const ANY: &str = "*";

/// The verdict of an Alert's event sources about an event.
#[derive(Debug, PartialEq)]
pub enum Match<'a> {
    /// None of them fits.
    No,
    /// One fits.
    Yes,
    /// These fit if the involved object has their labels.
    IfLabelled(Vec<&'a CrossNamespaceObjectReference>),
}

/// Returns true when one of the sources of an Alert in `namespace` fits the event.
pub fn match_sources<'a>(namespace: &str, alert: &'a AlertSpec, event: &Event) -> Match<'a> {
    if alert.suspend || !is_severe_enough(alert.event_severity.as_deref(), &event.severity) {
        return Match::No;
    }
    let fits = |source: &&CrossNamespaceObjectReference| {
        let object = &event.involved_object;
        object.namespace == source.namespace.as_deref().unwrap_or(namespace)
            && object.kind == source.kind
            && (source.name == ANY || object.name == source.name)
    };
    let (labelled, plain): (Vec<_>, Vec<_>) =
        alert.event_sources.iter().filter(fits).partition(|source| source.match_labels.is_some());
    match (plain.is_empty(), labelled.is_empty()) {
        (false, _) => Match::Yes,
        (true, false) => Match::IfLabelled(labelled),
        (true, true) => Match::No,
    }
}

fn is_severe_enough(wanted: Option<&str>, severity: &str) -> bool {
    let wanted = wanted.filter(|wanted| !wanted.is_empty()).unwrap_or(SEVERITY_INFO);
    wanted == SEVERITY_INFO || wanted == severity
}

#[cfg(test)]
mod tests;
