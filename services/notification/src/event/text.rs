//! Words that several providers make of an event.

use std::borrow::Cow;

use super::{Event, ObjectReference};

/// `kind/name.namespace` with a lower-case kind, e.g. `kustomization/webapp.apps`.
pub fn object_title(object: &ObjectReference) -> String {
    format!("{}/{}.{}", object.kind.to_lowercase(), object.name, object.namespace)
}

/// `kind/name`, lower-case, e.g. `kustomization/webapp`.
pub fn object_name(object: &ObjectReference) -> String {
    format!("{}/{}", object.kind, object.name).to_lowercase()
}

/// The reason in words: `HealthCheckFailed` is `health check failed`, `HTTPError404` is `http error 404`.
///
/// A border lies wherever the class (lower, upper, digit, other) changes; an upper-case run followed by lower case gives
/// its last letter to the next word.
pub fn reason_in_words(reason: &str) -> String {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Lower,
        Upper,
        Digit,
        Other,
    }
    let class = |c: char| match c {
        c if c.is_lowercase() => Class::Lower,
        c if c.is_uppercase() => Class::Upper,
        c if c.is_numeric() => Class::Digit,
        _ => Class::Other,
    };
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for c in reason.chars() {
        match (last, class(c), words.last_mut()) {
            (Some(before), now, Some(word)) if before == now => word.push(c),
            (Some(Class::Upper), Class::Lower, Some(word)) => {
                let head = word.pop();
                if word.is_empty() {
                    words.pop();
                }
                words.push(head.into_iter().chain([c]).collect());
            }
            _ => words.push(c.to_string()),
        }
        last = Some(class(c));
    }
    words.join(" ").to_lowercase()
}

/// Returns a text of so many bytes at most, for services that refuse longer ones; one that is cut ends in `…`.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let end = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
    format!("{}…", text.get(..end).unwrap_or_default()).into()
}

/// The event as Markdown, for services that render it (NTF-63).
pub fn markdown(event: &Event) -> String {
    let emoji = if event.is_error() { "\u{26a0}\u{fe0f}" } else { "\u{2139}\u{fe0f}" };
    let mut text = format!(
        "## Flux Status\n\n{emoji} {}\n\n{}\n\nMetadata:\n",
        event.involved_object.path(),
        event.message
    );
    for (key, value) in event.metadata.iter().filter(|(key, _)| *key != super::metadata::CHANGE_REQUEST) {
        text.push_str(&format!("* `{key}`: {value}\n"));
    }
    text
}
