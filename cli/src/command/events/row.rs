//! An event as a row.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;

use crate::output::age;

/// Returns the time by which events are sorted.
pub(super) fn time(event: &Event) -> Timestamp {
    let last_observed = event.series.as_ref().map(|series| series.last_observed_time.as_ref());
    let times = match last_observed {
        Some(time) => time.map(|time| time.0),
        None => {
            event.last_timestamp.as_ref().map(|time| time.0).or(event.event_time.as_ref().map(|time| time.0))
        }
    };
    times.unwrap_or(Timestamp::MIN)
}

/// Returns the cells of an event.
pub(super) fn cells(event: &Event, shows_namespace: bool, now: Timestamp) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let object = &event.involved_object;
    let cells = [
        last_seen(event, now),
        text(&event.type_),
        text(&event.reason),
        format!("{}/{}", text(&object.kind), text(&object.name)),
        text(&event.message),
    ];
    shows_namespace.then(|| text(&event.metadata.namespace)).into_iter().chain(cells).collect()
}

/// Returns how long ago an event was, and how often and since when, if it was more than once.
fn last_seen(event: &Event, now: Timestamp) -> String {
    let since = |time: Option<Timestamp>| time.map_or_else(|| "<unknown>".to_owned(), |time| age(time, now));
    let first_timestamp = event.first_timestamp.as_ref().map(|time| time.0);
    let first = since(event.event_time.as_ref().map(|time| time.0).or(first_timestamp));
    let repeated = |last: Option<Timestamp>, count: i32| format!("{} (x{count} over {first})", since(last));
    match (&event.series, event.count.unwrap_or_default()) {
        (Some(series), _) => {
            repeated(series.last_observed_time.as_ref().map(|time| time.0), series.count.unwrap_or_default())
        }
        (None, count) if count > 1 => repeated(event.last_timestamp.as_ref().map(|time| time.0), count),
        (None, _) => first,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[rstest::rstest]
    #[case(json!({ "firstTimestamp": "2022-02-03T01:00:00Z" }), "37m")]
    #[case(json!({ "firstTimestamp": "2022-02-03T01:00:00Z", "lastTimestamp": "2022-02-03T01:36:00Z", "count": 3 }), "60s (x3 over 37m)")]
    #[case(json!({ "eventTime": "2022-02-03T01:00:00.000000Z", "series": { "count": 2, "lastObservedTime": "2022-02-03T01:27:00.000000Z" } }), "10m (x2 over 37m)")]
    #[case(json!({}), "<unknown>")]
    fn an_event_was_seen_once_or_often(#[case] times: Value, #[case] expected: &str) {
        let mut event = json!({ "metadata": {}, "involvedObject": {} });
        event.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
        let event: Event = serde_json::from_value(event).unwrap();
        assert_eq!(last_seen(&event, "2022-02-03T01:37:00Z".parse().unwrap()), expected);
    }
}
