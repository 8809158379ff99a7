//! The rules about metadata keys: what is kept on receipt, what marks an event, and what an Alert adds (RFC-0008).

use std::collections::BTreeMap;

use weir_api::EVENT_PREFIX;

use super::Event;

/// Key of the pull or merge request that a comment belongs to.
pub const CHANGE_REQUEST: &str = "change_request";
/// Key of the commit that a user names himself.
pub const COMMIT: &str = "commit";
/// Key of the revision of an OCI artifact's origin.
pub const ORIGIN_REVISION: &str = "originRevision";
/// Key of the revision an object works with.
pub const REVISION: &str = "revision";
/// Key of a value that only distinguishes events that are otherwise equal; never sent out.
pub const TOKEN: &str = "token";
/// Key of the short text about an alert.
pub const SUMMARY: &str = "summary";
const COMMIT_STATUS: &str = "commit_status";
const COMMIT_STATUS_UPDATE: &str = "update";
/// Keys that older controllers send and nobody wants to see, compared without regard to case.
const DROPPED: [&str; 2] = ["checksum", "digest"];

/// Keeps keys of the object's own group and of users; drops digests and everything else (NTF-5).
pub fn clean(event: &mut Event) {
    let own = own_prefix(event);
    event.metadata.retain(|key, _| {
        let is_digest = key
            .strip_prefix(&own)
            .is_some_and(|rest| DROPPED.iter().any(|name| name.eq_ignore_ascii_case(rest)));
        (key.starts_with(EVENT_PREFIX) || key.starts_with(&own)) && !is_digest
    });
}

/// Removes the token, which has done its work once the event is known to be no duplicate.
pub fn drop_token(event: &mut Event) {
    let key = own_prefix(event) + TOKEN;
    event.metadata.remove(&key);
}

/// A value under the prefix of the object's own group, as received.
pub fn own<'a>(event: &'a Event, key: &str) -> Option<&'a str> {
    event.metadata.get(&(own_prefix(event) + key)).map(String::as_str)
}

/// A value that the user put on the object, as received; an empty one counts as absent.
pub fn user<'a>(event: &'a Event, key: &str) -> Option<&'a str> {
    event.metadata.get(&format!("{EVENT_PREFIX}{key}")).map(String::as_str).filter(|value| !value.is_empty())
}

/// Returns true when the event means only that a commit's status may be updated.
pub fn is_commit_status_update(event: &Event) -> bool {
    own(event, COMMIT_STATUS) == Some(COMMIT_STATUS_UPDATE)
}

fn own_prefix(event: &Event) -> String {
    format!("{}/", event.involved_object.group())
}

/// Metadata without prefixes, and the keys that had more than one source, with the names of these sources.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Combined {
    /// Metadata as it is sent.
    pub metadata: BTreeMap<String, String>,
    /// Key to source names in order of precedence, joined by a comma.
    pub conflicts: BTreeMap<String, String>,
}

/// Joins the four sources; the later one wins (NTF-31, NTF-32). An Alert's `summary` is empty when it is not set.
pub fn combine(event: &Event, event_metadata: &BTreeMap<String, String>, summary: &str) -> Combined {
    let own = own_prefix(event);
    let under = |prefix: &str| -> Vec<(String, String)> {
        let strip =
            |(key, value): (&String, &String)| Some((key.strip_prefix(prefix)?.to_owned(), value.clone()));
        event.metadata.iter().filter_map(strip).collect()
    };
    let from_alert = event_metadata.clone().into_iter().collect();
    let summary = match summary {
        "" => Vec::new(),
        text => vec![(SUMMARY.to_owned(), text.to_owned())],
    };
    let sources = [
        ("involved object annotations", under(EVENT_PREFIX)),
        ("Alert object .spec.eventMetadata", from_alert),
        ("Alert object .spec.summary", summary),
        ("involved object controller metadata", under(&own)),
    ];
    let mut combined = Combined::default();
    let mut origins: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (source, pairs) in sources {
        for (key, value) in pairs {
            origins.entry(key.clone()).or_default().push(source);
            combined.metadata.insert(key, value);
        }
    }
    origins.retain(|_, names| names.len() > 1);
    combined.conflicts = origins.into_iter().map(|(key, names)| (key, names.join(", "))).collect();
    combined
}
