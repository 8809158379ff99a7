//! The lines that `weir watch` prints.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use weir_proto::status::v1::{ChangeType, ObjectStatus, WatchResponse};

use super::Form;
use crate::error::Error;
use crate::output::{Table, plain, print_next, rfc3339, shorten, terminal_width};

/// Clears a terminal and goes to its top left corner.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Kind, namespace and name: the order of the table.
type Key = (String, String, String);

/// The output, and the objects that it shows.
pub(super) struct View {
    form: Form,
    terminal: bool,
    all_namespaces: bool,
    objects: BTreeMap<Key, Row>,
    /// Services that have not sent all that was there at the start; a table is not drawn before.
    unsynced: usize,
}

/// One object or change, in words.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    change: &'static str,
    kind: String,
    namespace: String,
    name: String,
    revision: String,
    suspended: bool,
    ready: String,
    reason: String,
    message: String,
}

impl View {
    pub(super) fn new(form: Form, terminal: bool, all_namespaces: bool, services: usize) -> Self {
        Self { form, terminal, all_namespaces, objects: BTreeMap::new(), unsynced: services }
    }

    /// Takes a change in, and prints it if the form is one of lines.
    pub(super) fn apply(&mut self, change: WatchResponse) -> Result<(), Error> {
        let type_ = change.r#type();
        if type_ == ChangeType::Synced {
            self.has_synced();
        }
        let Some(object) = change.object else { return Ok(()) };
        let key = (object.kind.clone(), object.namespace.clone(), object.name.clone());
        let row = Row::new(type_, object);
        match self.form {
            Form::Line => print_next(&row.line(Timestamp::now())),
            Form::Json => {
                let text = serde_json::to_string(&row).map_err(std::io::Error::from)?;
                print_next(&format!("{text}\n"))
            }
            Form::Table => {
                if type_ == ChangeType::Deleted {
                    self.objects.remove(&key);
                } else {
                    self.objects.insert(key, row);
                }
                Ok(())
            }
        }
    }

    /// Notes that a service has sent what was there, or has nothing to send.
    pub(super) fn has_synced(&mut self) {
        self.unsynced = self.unsynced.saturating_sub(1);
    }

    /// Draws the table.
    pub(super) fn draw(&self) -> Result<(), Error> {
        if self.form != Form::Table || self.unsynced > 0 {
            return Ok(());
        }
        let clear = if self.terminal { CLEAR } else { "" };
        print_next(&format!("{clear}{}", self.table()))
    }

    fn table(&self) -> String {
        let namespace = self.all_namespaces.then_some("Namespace");
        let columns = ["Name", "Revision", "Suspended", "Ready", "Message"];
        let mut table = Table::new(namespace.into_iter().chain(columns));
        for row in self.objects.values() {
            let namespace = self.all_namespaces.then(|| row.namespace.clone());
            let suspended = if row.suspended { "True" } else { "False" };
            let cells = [
                format!("{}/{}", row.kind.to_lowercase(), row.name),
                row.revision.clone(),
                suspended.to_owned(),
                row.ready.clone(),
                row.message.clone(),
            ];
            table.push(namespace.into_iter().chain(cells).collect());
        }
        table.render(terminal_width())
    }
}

impl Row {
    fn new(type_: ChangeType, object: ObjectStatus) -> Self {
        let ready = object.conditions.into_iter().find(|condition| condition.r#type == "Ready");
        let ready = ready.unwrap_or_default();
        Self {
            change: if type_ == ChangeType::Deleted { "deleted" } else { "applied" },
            kind: object.kind,
            namespace: object.namespace,
            name: object.name,
            revision: shorten(&object.revision).into_owned(),
            suspended: object.suspended,
            ready: if ready.status.is_empty() { "-".to_owned() } else { ready.status },
            reason: ready.reason,
            message: shorten(&ready.message).into_owned(),
        }
    }

    fn line(&self, now: Timestamp) -> String {
        let time = rfc3339(&now.to_string(), &TimeZone::system());
        let Self { kind, namespace, name, ready, reason, message, .. } = self;
        let subject = format!("{time} {kind}/{namespace}/{name}");
        if self.change == "deleted" {
            return format!("{subject} deleted\n");
        }
        let suspended = if self.suspended { " suspended" } else { "" };
        // One line a change, whatever the message is made of.
        let message = message.replace('\n', " ");
        let line = format!("{subject}{suspended} Ready={ready} {reason} {message}");
        plain(line.trim_end()) + "\n"
    }
}
