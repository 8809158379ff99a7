//! Objects in tables (CLI-GET01).

use kube::ResourceExt;
use kube::api::DynamicObject;

use crate::kind::{Column, Kind};
use crate::output::{Table, terminal_width};

/// The layout of the objects of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Namespaces are shown.
    pub(super) namespace: bool,
    /// Sources are shown.
    pub(super) source: bool,
    /// Names are shown with their kind, because several kinds are shown.
    pub(super) qualified: bool,
    /// There is a header.
    pub(super) header: bool,
}

impl Layout {
    /// The cells of an object, its namespace first if it is shown.
    pub(super) fn row(self, kind: &Kind, object: &DynamicObject) -> Vec<String> {
        let namespace = self.namespace.then(|| object.namespace().unwrap_or_default());
        let cells = self.columns(kind).map(|column| match column {
            Column::Name if self.qualified => format!("{}/{}", kind.name.to_lowercase(), object.name_any()),
            column => column.cell(kind, object),
        });
        namespace.into_iter().chain(cells).collect()
    }

    /// A table of the rows of objects.
    pub(super) fn table(self, kind: &Kind, rows: impl IntoIterator<Item = Vec<String>>) -> String {
        let namespace = self.namespace.then_some("Namespace");
        let header = namespace.into_iter().chain(self.columns(kind).map(Column::header));
        let mut table = Table::new(header.filter(|_| self.header));
        rows.into_iter().for_each(|row| table.push(row));
        table.render(terminal_width())
    }

    fn columns(self, kind: &Kind) -> impl Iterator<Item = Column> {
        kind.columns.iter().copied().filter(move |column| self.source || *column != Column::Source)
    }
}
