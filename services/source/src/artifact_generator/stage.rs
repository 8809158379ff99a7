//! The copy operations of one artifact, into a directory of its own (SRC-AGN-12…17).

mod target;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use weir_api::source::CopyOperation;
use weir_artifact::{Limits, RelPath, RelPathError, Symlinks, TreeKind, Untar};

use self::target::{Target, TargetError};
use super::glob::Syntax;
use super::selection::{Excludes, Selection, SelectionError, is_glob, literal_prefix};
use super::source_tree::SourceTree;

/// Bytes that one archive may unpack to (SRC-AGN-16).
const MAX_EXTRACTED: u64 = 100 << 20;

/// Strategies; anything else overwrites.
const MERGE: &str = "Merge";
const EXTRACT: &str = "Extract";

/// Unpacked sources by alias.
pub(super) type Sources = BTreeMap<String, SourceTree>;

/// Errors of a copy operation.
#[derive(Debug, thiserror::Error)]
pub(super) enum CopyError {
    /// A copy operation that fails, with the cause.
    #[error("failed to apply copy operation from '{from}' to '{to}': {source}")]
    Operation { from: String, to: String, source: Box<Self> },
    /// `from` is not `@alias/path`.
    #[error("invalid copy source '{from}': {message}")]
    From { from: String, message: String },
    /// `to` is not `@artifact/path`, or its path leads out of the artifact.
    #[error("invalid copy destination '{to}': {message}")]
    To { to: String, message: String },
    /// A path without patterns that leads out of the source.
    #[error("failed to stat source '{0}': statat {0}: path escapes from parent")]
    Escapes(String),
    /// No source has the alias.
    #[error("source alias '{0}' not found")]
    Alias(String),
    /// A path without patterns that is not there.
    #[error("source '{0}' does not exist")]
    Missing(String),
    /// A pattern that nothing matches.
    #[error("no files match pattern '{pattern}' in source '{alias}'")]
    NoMatch { pattern: String, alias: String },
    /// A pattern of whose matches nothing is left.
    #[error("all files matching pattern '{pattern}' in source '{alias}' were excluded")]
    AllExcluded { pattern: String, alias: String },
    /// A pattern that cannot be read.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// A directory cannot be extracted.
    #[error("extract strategy is not supported for directories, got '{0}'")]
    ExtractDirectory(String),
    /// Only tarballs can be extracted.
    #[error("extract strategy requires tarball file (.tar.gz or .tgz), got '{0}'")]
    ExtractFile(String),
    /// A tarball that cannot be extracted.
    #[error("failed to extract tarball '{file}' to '{to}': {message}")]
    Extract { file: String, to: String, message: String },
    /// The directory of the artifact cannot be opened.
    #[error("failed to open staging dir: {0}")]
    Open(TargetError),
    /// A file that cannot be merged, or has something in its way.
    #[error(transparent)]
    Target(TargetError),
    /// A file that cannot be copied.
    #[error("failed to copy file '{from}' to '{to}': {source}")]
    Copy { from: String, to: String, source: Box<TargetError> },
    /// The path that comes out of `to` and what is copied is none.
    #[error(transparent)]
    Path(#[from] RelPathError),
}

/// Does all operations in order, within `limits`; what comes later replaces what was there.
pub(super) fn stage(
    sources: &Sources,
    operations: &[CopyOperation],
    directory: &std::path::Path,
    limits: Limits,
) -> Result<(), CopyError> {
    let mut stage = Stage { sources, target: Target::open(directory, limits).map_err(CopyError::Open)? };
    for operation in operations {
        stage.apply(operation).map_err(|source| CopyError::Operation {
            from: operation.from.clone(),
            to: operation.to.clone(),
            source: Box::new(source),
        })?;
    }
    Ok(())
}

struct Stage<'s> {
    sources: &'s Sources,
    target: Target,
}

/// An operation, read.
struct Job<'s> {
    source: &'s SourceTree,
    alias: &'s str,
    /// Path or pattern in the source; empty for all of it.
    pattern: Cow<'s, str>,
    /// Directory or file in the artifact; none for its root.
    to: Option<RelPath>,
    /// True when `to` is a directory whatever is there.
    into_directory: bool,
    exclude: Excludes,
    merges: bool,
    extracts: bool,
}

impl<'s> Stage<'s> {
    fn apply(&mut self, operation: &CopyOperation) -> Result<(), CopyError> {
        let job = self.read(operation)?;
        if is_glob(&job.pattern) {
            return self.copy_matches(&job);
        }
        let path = match RelPath::parse(&job.pattern) {
            Ok(path) => path,
            Err(RelPathError::Empty) if job.extracts => {
                return Err(CopyError::ExtractDirectory(".".to_owned()));
            }
            Err(RelPathError::Empty) => return self.copy_directory(&job, None, None, job.to.as_ref()),
            Err(RelPathError::Absolute { .. } | RelPathError::Parent { .. }) => {
                return Err(CopyError::Escapes(job.pattern.into_owned()));
            }
            Err(error) => {
                return Err(CopyError::From { from: operation.from.clone(), message: error.to_string() });
            }
        };
        match job.source.kind(&path) {
            Some(TreeKind::Directory) if job.extracts => Err(CopyError::ExtractDirectory(path.to_string())),
            Some(TreeKind::Directory) => {
                let to = joined(job.to.as_ref(), path.file_name())?;
                self.copy_directory(&job, Some(&path), Some(&path), Some(&to))
            }
            Some(TreeKind::File { .. }) => self.copy_one(&job, &path),
            Some(TreeKind::Other) | None => Err(CopyError::Missing(path.to_string())),
        }
    }

    fn read<'o>(&self, operation: &'o CopyOperation) -> Result<Job<'o>, CopyError>
    where
        's: 'o,
    {
        let from = |message: &str| CopyError::From { from: operation.from.clone(), message: message.into() };
        let to = |message: String| CopyError::To { to: operation.to.clone(), message };
        let (alias, pattern) = operation
            .from
            .strip_prefix('@')
            .and_then(|rest| rest.split_once('/'))
            .ok_or_else(|| from("source format must be '@alias/pattern'"))?;
        let pattern = if is_glob(pattern) { pattern.into() } else { normal(pattern) };
        let destination = operation
            .to
            .strip_prefix("@artifact/")
            .ok_or_else(|| to("destination must start with '@artifact/'".to_owned()))?;
        let path = match RelPath::parse(&normal(destination)) {
            Ok(path) => Some(path),
            Err(RelPathError::Empty) => None,
            Err(error) => return Err(to(error.to_string())),
        };
        Ok(Job {
            source: self.sources.get(alias).ok_or_else(|| CopyError::Alias(alias.to_owned()))?,
            alias,
            pattern,
            into_directory: path.is_none() || destination.ends_with('/'),
            to: path,
            exclude: Excludes::parse(&operation.exclude)?,
            merges: operation.strategy.as_deref() == Some(MERGE),
            extracts: operation.strategy.as_deref() == Some(EXTRACT),
        })
    }

    fn copy_matches(&mut self, job: &Job<'_>) -> Result<(), CopyError> {
        let syntax = if job.extracts { Syntax::Doublestar } else { Syntax::PathMatch };
        let selection = Selection::parse(&job.pattern, syntax)?;
        let mut matches = job.source.entries().filter(|(path, _)| selection.takes(path)).peekable();
        let (pattern, alias) = (job.pattern.to_string(), job.alias.to_owned());
        if matches.peek().is_none() {
            return Err(CopyError::NoMatch { pattern, alias });
        }
        let base = literal_prefix(&job.pattern);
        let mut matches = matches.filter(|(path, _)| !job.exclude.leave_out(path, base.as_ref())).peekable();
        if matches.peek().is_none() {
            return Err(CopyError::AllExcluded { pattern, alias });
        }
        for (path, kind) in matches {
            if job.extracts {
                if kind != TreeKind::Directory && is_tarball(path) {
                    self.extract(job, path)?;
                }
                continue;
            }
            let to = joined(job.to.as_ref(), below_pattern(&job.pattern, path))?;
            match kind {
                TreeKind::Directory => self.copy_directory(job, Some(path), base.as_ref(), Some(&to)),
                TreeKind::File { .. } | TreeKind::Other => self.place(job, path, &to),
            }
            .map_err(|error| named(error, path, &to))?;
        }
        Ok(())
    }

    /// Copies a file that is named without a pattern (SRC-AGN-12).
    fn copy_one(&mut self, job: &Job<'_>, path: &RelPath) -> Result<(), CopyError> {
        if job.exclude.leave_out(path, None) {
            return Ok(());
        }
        if job.extracts {
            if !is_tarball(path) {
                return Err(CopyError::ExtractFile(path.to_string()));
            }
            return self.extract(job, path);
        }
        match &job.to {
            Some(to) if !job.into_directory && !self.target.is_directory(to) => self.place(job, path, to),
            to => self.place(job, path, &joined(to.as_ref(), path.file_name())?),
        }
    }

    /// Copies a directory with all that is in it; files are replaced, never merged (SRC-AGN-15).
    fn copy_directory(
        &mut self,
        job: &Job<'_>,
        directory: Option<&RelPath>,
        base: Option<&RelPath>,
        to: Option<&RelPath>,
    ) -> Result<(), CopyError> {
        if let Some(to) = to {
            self.target.make_directory(to).map_err(|source| copying(directory, to, source))?;
        }
        let mut skipped: Option<&RelPath> = None;
        for (path, kind) in job.source.below(directory) {
            if skipped.is_some_and(|skipped| path.is_below(skipped)) {
                continue;
            }
            if job.exclude.leave_out(path, base) {
                skipped = Some(path);
                continue;
            }
            let below = directory.and_then(|it| path.as_str().strip_prefix(it.as_str())?.strip_prefix('/'));
            let to = joined(to, below.unwrap_or(path.as_str()))?;
            let copied = self.target.copy(job.source, (path, kind), &to);
            copied.map_err(|source| copying(Some(path), &to, source))?;
        }
        Ok(())
    }

    /// Copies one file, or merges it with the one that is there.
    fn place(&mut self, job: &Job<'_>, path: &RelPath, to: &RelPath) -> Result<(), CopyError> {
        let executable = job.source.kind(path) == Some(TreeKind::File { executable: true });
        let done = if job.merges && self.target.is_file(to) {
            self.target.merge(to, path, || job.source.file(path))
        } else {
            self.target.write(to, executable, || job.source.file(path))
        };
        done.map_err(|source| copying(Some(path), to, source))
    }

    /// Unpacks a tarball of the source (SRC-AGN-16). It goes through a directory of its own, so that its names and
    /// sizes are judged before anything reaches the artifact.
    fn extract(&mut self, job: &Job<'_>, path: &RelPath) -> Result<(), CopyError> {
        let shown = job.to.as_ref().map_or(".", RelPath::as_str).to_owned();
        let failed =
            |message: String| CopyError::Extract { file: path.to_string(), to: shown.clone(), message };
        let unpacked = unpack(job.source, path).map_err(|error| failed(error.to_string()))?;
        let tree = SourceTree::open(unpacked.path()).map_err(|error| failed(error.to_string()))?;
        for (inside, kind) in tree.entries() {
            let to = joined(job.to.as_ref(), inside.as_str())?;
            let copied = self.target.copy(&tree, (inside, kind), &to);
            copied.map_err(|error| failed(error.to_string()))?;
        }
        Ok(())
    }
}

fn unpack(source: &SourceTree, path: &RelPath) -> io::Result<tempfile::TempDir> {
    let directory = tempfile::tempdir()?;
    let limits = Limits { unpacked: MAX_EXTRACTED, file: MAX_EXTRACTED, ..Limits::default() };
    let untar = Untar::new(limits).symlinks(Symlinks::Reject);
    untar.to_directory(source.file(path)?, directory.path()).map_err(io::Error::other)?;
    Ok(directory)
}

fn copying(from: Option<&RelPath>, to: &RelPath, source: TargetError) -> CopyError {
    if !matches!(source, TargetError::Io(_)) {
        return CopyError::Target(source);
    }
    let from = from.map(ToString::to_string).unwrap_or_default();
    CopyError::Copy { from, to: to.to_string(), source: Box::new(source) }
}

/// Names the match of a pattern that an error is about; an operation without a pattern is named anyway.
fn named(error: CopyError, from: &RelPath, to: &RelPath) -> CopyError {
    match error {
        CopyError::Target(source) => {
            CopyError::Copy { from: from.to_string(), to: to.to_string(), source: Box::new(source) }
        }
        other => other,
    }
}

fn joined(directory: Option<&RelPath>, name: &str) -> Result<RelPath, RelPathError> {
    directory.map_or_else(|| RelPath::parse(name), |directory| directory.join(name))
}

/// Returns a path without its `..`, as far as they stay below the root: `a/../b` is `b`.
fn normal(path: &str) -> Cow<'_, str> {
    // An absolute path is refused as it is.
    if !leads_up(path) || path.starts_with('/') {
        return path.into();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match parts.last() {
            Some(above) if part == ".." && *above != ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/").into()
}

fn leads_up(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Returns the part of a match that is kept below the destination: the part behind the directory of a final `/**`,
/// else all of it.
fn below_pattern<'p>(pattern: &str, path: &'p RelPath) -> &'p str {
    let directory = pattern.trim_start_matches("./").strip_suffix("/**");
    let below = directory.and_then(|directory| path.as_str().strip_prefix(directory)?.strip_prefix('/'));
    below.unwrap_or(path.as_str())
}

fn is_tarball(path: &RelPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    name.ends_with(".tar.gz") || name.ends_with(".tgz")
}

#[cfg(test)]
mod tests;
