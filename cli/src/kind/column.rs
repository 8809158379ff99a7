//! The columns of `get`.

use jiff::tz::TimeZone;
use kube::ResourceExt;
use kube::api::DynamicObject;

use super::Kind;
use super::object::{first_of, is_suspended, ready, text};
use crate::output::{rfc3339, shorten};

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Name of the object.
    Name,
    /// Source of the object, shown with `--show-source`.
    Source,
    /// Source of the object, if it names one; always shown.
    MadeOf,
    /// A revision, its hash cut.
    Revision(&'static str),
    /// Any text: header and JSON pointer.
    Text(&'static str, &'static str),
    /// The first text that is there: header and JSON pointers.
    FirstOf(&'static str, &'static [&'static str]),
    /// A time: header and JSON pointer.
    Time(&'static str, &'static str),
    /// True when it is suspended.
    Suspended,
    /// Status of the Ready condition.
    Ready,
    /// Message of the Ready condition.
    Message,
}

impl Column {
    /// Returns the header of the column.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Name => "Name",
            Self::Source | Self::MadeOf => "Source",
            Self::Revision(_) => "Revision",
            Self::Text(header, _) | Self::Time(header, _) | Self::FirstOf(header, _) => header,
            Self::Suspended => "Suspended",
            Self::Ready => "Ready",
            Self::Message => "Message",
        }
    }

    /// Returns the value of an object in the column (CLI-GET01).
    pub(crate) fn cell(self, kind: &Kind, object: &DynamicObject) -> String {
        match self {
            Self::Name => object.name_any(),
            Self::MadeOf if object.data.pointer("/spec/sourceRef").is_none() => String::new(),
            Self::MadeOf => {
                let part = |name| text(object, &format!("/spec/sourceRef/{name}"));
                format!("{}/{}/{}", part("kind"), part("namespace"), part("name"))
            }
            Self::Source => source(object),
            Self::Revision(pointer) => shorten(&text(object, pointer)).into_owned(),
            Self::Text(_, pointer) => text(object, pointer),
            Self::FirstOf(_, pointers) => first_of(object, pointers),
            Self::Time(_, pointer) => rfc3339(&text(object, pointer), &TimeZone::system()),
            Self::Suspended => if is_suspended(object) { "True" } else { "False" }.to_owned(),
            Self::Ready => readiness(kind, object).0,
            Self::Message => readiness(kind, object).1,
        }
    }
}

/// Places of a reference to a source, by the kind of object.
const SOURCES: [&str; 3] = ["/spec/sourceRef", "/spec/chartRef", "/spec/chart/spec/sourceRef"];

fn source(object: &DynamicObject) -> String {
    let place = SOURCES.iter().find(|place| object.data.pointer(place).is_some()).unwrap_or(&"");
    let part = |name| text(object, &format!("{place}/{name}"));
    let namespace = match part("namespace") {
        namespace if namespace.is_empty() => object.namespace().unwrap_or_default(),
        namespace => namespace,
    };
    format!("{}/{namespace}/{}", part("kind"), part("name"))
}

fn readiness(kind: &Kind, object: &DynamicObject) -> (String, String) {
    if let Some(message) = (kind.static_message)(object) {
        return ("True".to_owned(), message.to_owned());
    }
    match ready(object) {
        Some((status, message)) if kind.shortens => (status.to_owned(), shorten(message).into_owned()),
        Some((status, message)) => (status.to_owned(), message.to_owned()),
        None => ("False".to_owned(), "waiting to be reconciled".to_owned()),
    }
}
