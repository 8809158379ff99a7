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

/// The units in which a service counts the length of a text.
pub type Size = fn(char) -> usize;

/// Units that are kept for what stands around a title, or a key and its value.
const FRAME: usize = 16;

/// Parts of an event that a message shows.
pub struct Fitted<'e> {
    /// The title.
    pub title: Cow<'e, str>,
    /// The event's message.
    pub message: Cow<'e, str>,
    /// Keys and values of its metadata.
    pub facts: Vec<(&'e str, Cow<'e, str>)>,
}

/// Returns the part of an event that has `most` units at most, for services that refuse more; a text that is cut ends in `…`. The
/// message is cut first, down to half of the space, then the facts.
pub fn fit<'e>(title: &'e str, event: &'e Event, most: usize, size: Size) -> Fitted<'e> {
    let title = cut(title, most / 4, size);
    let left = most.saturating_sub(length(&title, size) + FRAME);
    let mut space = left - length(&event.message, size).min(left / 2);
    let for_message = left - space;
    let mut facts = Vec::new();
    for (key, value) in &event.metadata {
        let Some(for_value) = space.checked_sub(length(key, size) + FRAME) else { break };
        let value = cut(value, for_value, size);
        space = for_value - length(&value, size);
        facts.push((key.as_str(), value));
    }
    Fitted { title, message: cut(&event.message, for_message + space, size), facts }
}

/// Returns an event whose message and metadata are cut as by [`fit`]; one that fits is as it was.
pub fn shortened(event: &Event, most: usize, size: Size) -> Cow<'_, Event> {
    let title = object_title(&event.involved_object);
    let Fitted { message, facts, .. } = fit(&title, event, most, size);
    let is_whole =
        |(key, value): &(&str, Cow<'_, str>)| event.metadata.get(*key).is_some_and(|whole| whole == value);
    if *message == event.message && facts.len() == event.metadata.len() && facts.iter().all(is_whole) {
        return Cow::Borrowed(event);
    }
    let metadata = facts.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
    Cow::Owned(Event { message: message.into_owned(), metadata, ..event.clone() })
}

/// Returns the most bytes that a character takes in a payload: in JSON, with the signs of HTML as Go writes them, of a text in HTML.
pub fn in_payload(character: char) -> usize {
    match character {
        '&' | '<' | '>' => r"\u0026amp;".len(),
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '\u{2028}' | '\u{2029}' => 6,
        _ if character.is_control() => 6,
        _ => character.len_utf8(),
    }
}

fn length(text: &str, size: Size) -> usize {
    text.chars().map(size).sum()
}

/// Returns a text of so many units at most; one that is cut ends in `…`.
fn cut(text: &str, most: usize, size: Size) -> Cow<'_, str> {
    if length(text, size) <= most {
        return text.into();
    }
    let Some(space) = most.checked_sub(size('…')) else { return "".into() };
    let mut used = 0;
    let is_over = |character| {
        used += size(character);
        used > space
    };
    let end = text.find(is_over).unwrap_or(text.len());
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
