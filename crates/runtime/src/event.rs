//! Events: the messages of a run, and the outbox that carries them to Kubernetes and to the notification service.

mod deliver;
mod kubernetes;
mod lanes;
mod outbox;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::outbox::{EventSink, Outbox, Peer};

/// Longest message of an event, in bytes (KS-EVT-1).
pub const MAX_MESSAGE: usize = 39_000;

/// The importance of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Tells of progress; a Normal event in Kubernetes, not sent to the notification service.
    Trace,
    /// Normal.
    Info,
    /// Something failed; a Warning event in Kubernetes.
    Error,
}

/// An event of a reconciler; the runtime adds object and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDraft {
    /// Its importance.
    pub severity: Severity,
    /// One word in CamelCase.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Full keys, such as `kustomize.toolkit.fluxcd.io/revision`.
    pub metadata: BTreeMap<String, String>,
}

impl EventDraft {
    pub(crate) fn new(severity: Severity, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity, reason: reason.into(), message: message.into(), metadata: BTreeMap::new() }
    }

    /// A normal event.
    pub fn info(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, reason, message)
    }

    /// A failure.
    pub fn error(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, reason, message)
    }

    /// A normal event for Kubernetes only.
    pub fn trace(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Trace, reason, message)
    }

    /// Adds a metadata entry.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// The object that an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InvolvedObject {
    /// Kind.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Unique id, if known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// `group/version`.
    pub api_version: String,
    /// Version of the object when the event was made.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// An event on the wire, as Flux's controllers post it (OBS-12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Object that the event is about.
    pub involved_object: InvolvedObject,
    /// Its importance.
    pub severity: Severity,
    /// When it happened.
    pub timestamp: Timestamp,
    /// For people.
    pub message: String,
    /// One word in CamelCase.
    pub reason: String,
    /// Further facts, full keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Controller that reports it.
    #[serde(default)]
    pub reporting_controller: String,
    /// Host it runs on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reporting_instance: String,
}
