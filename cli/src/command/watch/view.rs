//! The lines that `weir watch` prints.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use weir_proto::status::v1::{ChangeType, ObjectStatus, WatchResponse};

use super::Form;
use crate::error::Error;
use crate::output::{Table, plain, print_next, rfc3339, shorten, terminal_height, terminal_width};

/// Clears a terminal and goes to its top left corner.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Lines of a window that show no object: the header, the count of objects without room, and the one of the cursor.
const OTHER_LINES: usize = 3;

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
        print_next(&format!("{clear}{}", self.screen(terminal_width(), terminal_height())))
    }

    /// The table, cut to a window of such a size; without a size it is whole.
    fn screen(&self, width: Option<usize>, height: Option<usize>) -> String {
        let room = height.map_or(usize::MAX, |height| height.saturating_sub(OTHER_LINES).max(1));
        let shown = fitting(self.objects.values(), room);
        let hidden = self.objects.len() - shown.len();
        let table = self.table(&shown, width);
        if hidden == 0 {
            return table;
        }
        let failing = |rows: &mut dyn Iterator<Item = &Row>| rows.filter(|row| !row.is_well()).count();
        let unseen = failing(&mut self.objects.values()) - failing(&mut shown.iter().copied());
        format!("{table}… {hidden} more, {unseen} of them not ready\n")
    }

    fn table(&self, rows: &[&Row], width: Option<usize>) -> String {
        let namespace = self.all_namespaces.then_some("Namespace");
        let columns = ["Name", "Revision", "Suspended", "Ready", "Message"];
        let mut table = Table::new(namespace.into_iter().chain(columns));
        for row in rows {
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
        table.render(width)
    }
}

/// Returns `room` rows at most, in the order they came in: all that are not well before any that is.
fn fitting<'a>(rows: impl Iterator<Item = &'a Row> + Clone, room: usize) -> Vec<&'a Row> {
    let failing = rows.clone().filter(|row| !row.is_well()).count();
    let (mut of_failing, mut of_well) = (room, room.saturating_sub(failing));
    rows.filter(|row| {
        let left = if row.is_well() { &mut of_well } else { &mut of_failing };
        let fits = *left > 0;
        *left = left.saturating_sub(1);
        fits
    })
    .collect()
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

    /// Returns true for objects that nobody needs to look at; those of some kinds have no condition.
    fn is_well(&self) -> bool {
        matches!(self.ready.as_str(), "True" | "-")
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

#[cfg(test)]
mod tests {
    use weir_proto::status::v1::Condition;

    use super::*;

    fn change(name: &str, ready: &str) -> WatchResponse {
        let (r#type, status) = ("Ready".to_owned(), ready.to_owned());
        let conditions = vec![Condition { r#type, status, ..Condition::default() }];
        let (kind, name) = ("Bucket".to_owned(), name.to_owned());
        WatchResponse {
            r#type: ChangeType::Applied.into(),
            object: Some(ObjectStatus { kind, name, conditions, ..ObjectStatus::default() }),
            ..WatchResponse::default()
        }
    }

    /// Names that a window of such a height shows, and the line below them.
    fn screen(height: usize) -> (Vec<String>, String) {
        let mut view = View::new(Form::Table, true, false, 0);
        for (name, ready) in [("a", "True"), ("b", "False"), ("c", "True"), ("d", "Unknown"), ("e", "True")] {
            view.apply(change(name, ready)).unwrap();
        }
        let text = view.screen(None, Some(height));
        let rows = text.lines().filter_map(|line| line.strip_prefix("bucket/"));
        let names = rows.filter_map(|row| row.split_whitespace().next()).map(str::to_owned).collect();
        (names, text.lines().find(|line| line.starts_with('…')).unwrap_or_default().to_owned())
    }

    #[test]
    fn a_small_window_shows_first_what_is_not_ready() {
        assert_eq!(screen(8), (["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(), String::new()));
        let cut = |names: &[&str], below: &str| {
            (names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), below.to_owned())
        };
        assert_eq!(screen(6), cut(&["a", "b", "d"], "… 2 more, 0 of them not ready"));
        assert_eq!(screen(5), cut(&["b", "d"], "… 3 more, 0 of them not ready"));
        assert_eq!(screen(0), cut(&["b"], "… 4 more, 1 of them not ready"));
    }
}
