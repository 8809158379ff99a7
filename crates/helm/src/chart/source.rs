//! Charts in a tree of files, such as the artifact of a Git repository (SRC-CHT-11, SRC-CHT-12).

use std::io::Read;

use bytes::Bytes;
use weir_artifact::archive::find;
use weir_artifact::{RelPath, Tree, TreeKind};

use super::ignore::{IGNORE_FILE, Rules};
use super::{Chart, ChartError, Files, Room, VALUES_FILE, without_mark};
use crate::{Limits, values};

/// A file of a tree, if it has at most `limit` bytes. `None` when there is no such file.
///
/// # Errors
/// When it is larger, or the tree cannot be read.
pub fn read(tree: &dyn Tree, path: &RelPath, limit: u64) -> Result<Option<Bytes>, ChartError> {
    let failed = |source| ChartError::Read { path: path.to_string(), source };
    if !matches!(find(tree, Some(path)).map_err(failed)?, Some(TreeKind::File { .. })) {
        return Ok(None);
    }
    let file = tree.open(path).map_err(failed)?;
    let mut content = Vec::new();
    file.reader.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
    let size = file.size.max(content.len() as u64);
    if size > limit {
        return Err(ChartError::FileTooLarge { path: path.to_string(), size, limit });
    }
    Ok(Some(without_mark(content.into())))
}

impl Chart {
    /// Reads the chart in a directory of a tree; `None` is the root. Files that its `.helmignore` names stay out.
    ///
    /// # Errors
    /// When there is no chart, or it is beyond the limits.
    pub fn from_tree(
        tree: &dyn Tree,
        directory: Option<&RelPath>,
        limits: &Limits,
    ) -> Result<Self, ChartError> {
        let place = || directory.map_or_else(|| "/".to_owned(), |directory| format!("/{directory}/"));
        let rules = rules(tree, directory, limits);
        let rules = rules.map_err(|source| ChartError::Ignore { source: Box::new(source) })?;
        let mut room = Room::new(limits);
        let files = Collector { tree, directory, room: &mut room, rules }.collect();
        let files = files.map_err(|source| ChartError::Files { place: place(), source: Box::new(source) })?;
        Self::from_files(files, &mut room)
            .map_err(|source| ChartError::Directory { place: place(), source: Box::new(source) })
    }

    fn from_files(files: Files, room: &mut Room<'_>) -> Result<Self, ChartError> {
        if let Some(content) = files.get(VALUES_FILE) {
            values::parse_all(VALUES_FILE, content).map_err(|source| ChartError::Values { source })?;
        }
        Self::assemble(files, room, 0)
    }
}

/// Gathers the files of a chart's directory.
struct Collector<'a, 'l> {
    tree: &'a dyn Tree,
    directory: Option<&'a RelPath>,
    room: &'a mut Room<'l>,
    rules: Rules,
}

/// The patterns of the files that stay out.
fn rules(tree: &dyn Tree, directory: Option<&RelPath>, limits: &Limits) -> Result<Rules, ChartError> {
    let file = read(tree, &below(directory, IGNORE_FILE)?, limits.file)?;
    Rules::parse(&String::from_utf8_lossy(&file.unwrap_or_default()))
}

impl Collector<'_, '_> {
    fn collect(self) -> Result<Files, ChartError> {
        let mut files = Files::new();
        let mut pending: Vec<Option<RelPath>> = vec![None];
        while let Some(directory) = pending.pop() {
            for (path, kind) in self.list(directory.as_ref())? {
                let is_directory = kind == TreeKind::Directory;
                if kind == TreeKind::Other || self.rules.excludes(&path, is_directory) {
                    continue;
                }
                if is_directory {
                    pending.push(Some(path));
                } else {
                    let place = below(self.directory, path.as_str())?;
                    let content = read(self.tree, &place, self.room.limits.file)?.unwrap_or_default();
                    self.room.add(&content)?;
                    files.insert(path, content);
                }
            }
        }
        Ok(files)
    }

    /// The entries of a directory of the chart, by their path in the chart.
    fn list(&self, directory: Option<&RelPath>) -> Result<Vec<(RelPath, TreeKind)>, ChartError> {
        if directory.is_some_and(|directory| directory.depth() >= self.room.limits.depth) {
            return Err(ChartError::TooMuch {
                what: "directories inside each other",
                limit: self.room.limits.depth as u64,
            });
        }
        let place = match directory {
            Some(directory) => Some(below(self.directory, directory.as_str())?),
            None => self.directory.cloned(),
        };
        let shown = || place.as_ref().map_or_else(|| ".".to_owned(), ToString::to_string);
        let entries = self.tree.list(place.as_ref());
        let entries = entries.map_err(|source| ChartError::Read { path: shown(), source })?;
        let named = |entry: weir_artifact::TreeEntry| Ok((below(directory, &entry.name)?, entry.kind));
        entries.into_iter().map(named).collect()
    }
}

fn below(directory: Option<&RelPath>, name: &str) -> Result<RelPath, ChartError> {
    directory
        .map_or_else(|| RelPath::parse(name), |directory| directory.join(name))
        .map_err(|_| ChartError::Name)
}
