//! The event that travels through this service (Flux's `event.toolkit.fluxcd.io`, NTF-3, NTF-4).
//!
//! Decoding is as lenient as Go's: unknown keys are ignored, missing and null ones are empty. Encoding is byte-exact,
//! since the bytes are signed (generic-hmac) and hashed (matrix).

pub mod json;
pub mod metadata;
pub mod text;
mod time;

use std::collections::BTreeMap;

use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use self::time::parse as parse_time;

/// The severity of a failure; every other value counts as good news.
pub const SEVERITY_ERROR: &str = "error";
/// The severity of everything that is not a failure.
pub const SEVERITY_INFO: &str = "info";
/// The reason of a report on work that still goes on; incident and commit status providers skip it.
pub const REASON_PROGRESSING: &str = "Progressing";

/// Go's zero time, the beginning of the year 1, in nanoseconds.
const GO_ZERO: i128 = -62_135_596_800_000_000_000;

/// Something that happened to an object of the toolkit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// The object that the event is about.
    #[serde(deserialize_with = "object_or_null")]
    pub involved_object: ObjectReference,
    /// `trace`, `info` or `error`.
    #[serde(deserialize_with = "null_as_default")]
    pub severity: String,
    /// When it happened; whole seconds, UTC, `null` when unknown.
    #[serde(deserialize_with = "time_or_null", serialize_with = "whole_seconds")]
    pub timestamp: Option<Timestamp>,
    /// Description of the event for people.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
    /// Reason of the event, one CamelCase word.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// More facts; keys carry a group prefix on receipt and none when sent out (NTF-33).
    #[serde(deserialize_with = "null_values", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Controller that reports the event.
    #[serde(deserialize_with = "null_as_default")]
    pub reporting_controller: String,
    /// Pod of that controller.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reporting_instance: String,
}

/// Names one object of the cluster (core/v1 ObjectReference).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// Kind, as in the manifest.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Identity of this very object.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Group and version.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Version of the object when the event was made.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Part of the object; unused by the toolkit.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub field_path: String,
}

impl Event {
    /// Decodes the body of a request; the depth of nesting is bounded by serde_json (128).
    ///
    /// # Errors
    /// When the body is no event.
    pub fn from_slice(body: &[u8]) -> Result<Self, serde_json::Error> {
        // Serde would take a list for a struct; Go does not, and takes `null`.
        serde_json::from_slice::<Option<Map<String, Value>>>(body)
            .and_then(|object| serde_json::from_value(object.unwrap_or_default().into()))
    }

    /// The bytes that Go's `json.Marshal` makes of this event (NTF-3, NTF-57).
    pub fn to_bytes(&self) -> Vec<u8> {
        json::to_bytes(self)
    }

    /// Returns true for a failure.
    pub fn is_error(&self) -> bool {
        self.severity == SEVERITY_ERROR
    }

    /// Returns true when work is still going on.
    pub fn is_progressing(&self) -> bool {
        self.reason == REASON_PROGRESSING
    }

    /// RFC 3339 in whole seconds, UTC; Go's zero time when unknown.
    pub fn timestamp_text(&self) -> String {
        self.timestamp.map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), rfc3339)
    }
}

impl ObjectReference {
    /// The part of apiVersion before `/`; empty for a core object (NTF-4).
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// `Kind/namespace/name`, as log lines and Kubernetes events name an object.
    pub fn path(&self) -> String {
        format!("{}/{}/{}", self.kind, self.namespace, self.name)
    }
}

/// RFC 3339 in whole seconds, UTC.
pub fn rfc3339(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn whole_seconds<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.serialize_str(&rfc3339(*time)),
        None => serializer.serialize_none(),
    }
}

fn time_or_null<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(d)? else { return Ok(None) };
    let time =
        parse_time(&text).ok_or_else(|| serde::de::Error::custom("timestamp is no time of RFC 3339"))?;
    // Go's zero time stands for none.
    Ok(Some(time).filter(|time| time.as_nanosecond() != GO_ZERO))
}

fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(d)?.unwrap_or_default())
}

fn object_or_null<'de, D: Deserializer<'de>>(d: D) -> Result<ObjectReference, D::Error> {
    let object = Option::<Map<String, Value>>::deserialize(d)?.unwrap_or_default();
    serde_json::from_value(object.into()).map_err(serde::de::Error::custom)
}

fn null_values<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<String, String>, D::Error> {
    let values = Option::<BTreeMap<String, Option<String>>>::deserialize(d)?.unwrap_or_default();
    Ok(values.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests;
