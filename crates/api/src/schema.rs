//! Pieces of schema that several kinds share.

use schemars::Schema;
use serde_json::{Value, json};

/// Regular expressions of the API.
pub(crate) mod pattern {
    /// Intervals: hours to milliseconds, combined and with decimals (SRC-TYP-1, GEN-4).
    pub(crate) const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";
    /// Timeouts of sources, scans and deliveries: no hours (SRC-TYP-2, GEN-4).
    pub(crate) const TIMEOUT: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m))+$";
    /// Pattern of the durations that Go reads, for versions that had no pattern. Flux's controller stopped at objects
    /// with any other text; here the API server refuses them (KS-API-8).
    pub(crate) const GO_DURATION: &str = r"^[+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";
    /// `<algorithm>:<value>` of an artifact.
    pub(crate) const DIGEST: &str = r"^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$";
}

/// Returns true when a flag is off, and so left out when an object is written.
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// Returns true when a number is zero, and so left out when an object is written.
pub(crate) fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// Makes a selector one value: whoever applies it last owns all of it, as in Kubernetes' own kinds.
pub(crate) fn atomic_selector(schema: &mut Schema) {
    schema.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    for list in ["/properties/matchExpressions", "/properties/matchExpressions/items/properties/values"] {
        if let Some(Value::Object(keywords)) = schema.pointer_mut(list) {
            keywords.insert("x-kubernetes-list-type".to_owned(), json!("atomic"));
        }
    }
}
