//! The directory in which an artifact is put together. Nothing outside it is written, and it does not grow without end.

use std::io::{self, Read, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt, PermissionsExt};
use weir_artifact::{Limits, RelPath, Room, TreeKind};
use weir_helm::values::{Values, ValuesError, parse_all};

use super::super::source_tree::SourceTree;

/// Bytes of a file that is merged; it is held in memory with its parse. Values files have a few hundred KiB at most.
const MAX_MERGED: u64 = 4 << 20;
/// A file of no values, as Go writes an empty map.
const NO_VALUES: &str = "{}\n";
const FILE_MODE: u32 = 0o644;
const EXECUTABLE_MODE: u32 = 0o755;

/// Errors of adding something to the artifact.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum TargetError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file is where a directory has to be.
    #[error("{call} {path}: not a directory")]
    NotDirectory { call: &'static str, path: String },
    /// A directory is where a file has to be.
    #[error("openat {0}: is a directory")]
    IsDirectory(String),
    /// The operations together copy too much; the caps are those for unpacking an artifact, so that whatever is built can
    /// be consumed.
    #[error("artifact is larger than {0} bytes")]
    TooBig(u64),
    /// The operations together make too many files.
    #[error("artifact has more than {0} entries")]
    TooMany(usize),
    /// A file that is to be merged is too large to be held in memory.
    #[error("'{0}' is larger than the {MAX_MERGED} bytes that can be merged")]
    Merge(String),
    /// A file that is to be merged is not YAML.
    #[error("cannot unmarshal YAML document: error converting YAML to JSON: {0}")]
    Yaml(String),
    /// A file that is to be merged is YAML, and no mapping.
    #[error(
        "cannot unmarshal YAML document: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {0} into Go \
         value of type map[string]interface {{}}"
    )]
    Shape(&'static str),
    /// Merged values cannot be written.
    #[error("cannot write merged values: {0}")]
    Emit(String),
}

/// The directory of one artifact.
pub(super) struct Target {
    root: Dir,
    room: Room,
    limits: Limits,
    bytes: u64,
    entries: usize,
}

impl Target {
    /// Opens an empty directory.
    pub(super) fn open(path: &Path, limits: Limits) -> Result<Self, TargetError> {
        let root = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { root, room: Room::at(path), limits, bytes: 0, entries: 0 })
    }

    pub(super) fn is_directory(&self, path: &RelPath) -> bool {
        self.root.metadata(path).is_ok_and(|metadata| metadata.is_dir())
    }

    pub(super) fn is_file(&self, path: &RelPath) -> bool {
        self.root.metadata(path).is_ok_and(|metadata| metadata.is_file())
    }

    /// Makes a directory and those above it; one that exists is fine.
    pub(super) fn make_directory(&mut self, path: &RelPath) -> Result<(), TargetError> {
        self.take(0)?;
        match self.root.create_dir_all(path) {
            // A file in its place is told by the first file that goes below it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(TargetError::NotDirectory { call: "mkdirat", path: path.to_string() })
            }
            made => Ok(made?),
        }
    }

    /// Copies an entry of a source: a file, or a directory without its entries. Anything else is left out.
    pub(super) fn copy(
        &mut self,
        source: &SourceTree,
        (path, kind): (&RelPath, TreeKind),
        to: &RelPath,
    ) -> Result<(), TargetError> {
        match kind {
            TreeKind::Directory => self.make_directory(to),
            TreeKind::File { executable } => self.write(to, executable, || source.file(path)),
            TreeKind::Other => Ok(()),
        }
    }

    /// Writes a file, in place of one that is there.
    pub(super) fn write(
        &mut self,
        to: &RelPath,
        executable: bool,
        open: impl FnOnce() -> io::Result<File>,
    ) -> Result<(), TargetError> {
        let from = open()?;
        let size = from.metadata()?.len();
        self.take(size)?;
        let mut out = self.create(to, executable)?;
        io::copy(&mut from.take(size), &mut out)?;
        Ok(())
    }

    /// Merges a YAML file into the one that is there, which keeps its mode: mappings run together, all else is replaced
    /// (SRC-AGN-15).
    pub(super) fn merge(
        &mut self,
        to: &RelPath,
        from: &RelPath,
        open: impl FnOnce() -> io::Result<File>,
    ) -> Result<(), TargetError> {
        let over = values(open()?, from)?;
        let there = self.root.open(to)?;
        let executable = there.metadata()?.permissions().mode() & 0o100 != 0;
        let mut values = values(there, to)?;
        values.merge(over);
        let text = match values.to_yaml().map_err(|error| TargetError::Emit(error.to_string()))? {
            text if text.is_empty() => NO_VALUES.to_owned(),
            text => text,
        };
        self.take(text.len() as u64)?;
        self.create(to, executable)?.write_all(text.as_bytes())?;
        Ok(())
    }

    fn create(&self, to: &RelPath, executable: bool) -> Result<File, TargetError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                TargetError::NotDirectory { call: "openat", path: to.to_string() }
            }
            io::ErrorKind::IsADirectory => TargetError::IsDirectory(to.to_string()),
            _ => TargetError::Io(error),
        };
        if let Some(parent) = to.parent() {
            self.root.create_dir_all(&parent).map_err(failed)?;
        }
        match self.root.remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mode = if executable { EXECUTABLE_MODE } else { FILE_MODE };
        Ok(self.root.open_with(to, OpenOptions::new().write(true).create_new(true).mode(mode))?)
    }

    /// Counts one more entry of `size` bytes.
    fn take(&mut self, size: u64) -> Result<(), TargetError> {
        self.bytes = self.bytes.saturating_add(size);
        self.entries += 1;
        if self.bytes > self.limits.unpacked {
            return Err(TargetError::TooBig(self.limits.unpacked));
        }
        if self.entries > self.limits.entries {
            return Err(TargetError::TooMany(self.limits.entries));
        }
        Ok(self.room.entry(size)?)
    }
}

/// Reads all documents of a values file.
fn values(file: File, path: &RelPath) -> Result<Values, TargetError> {
    parse_all(path.as_str(), &small(file, path)?).map_err(|error| match error {
        ValuesError::Syntax { source, .. } => TargetError::Yaml(source.to_string()),
        ValuesError::Shape { found, .. } => TargetError::Shape(found),
        missing => TargetError::Io(io::Error::other(missing)),
    })
}

/// The content of a file that is small enough to be held.
fn small(file: File, path: &RelPath) -> Result<Vec<u8>, TargetError> {
    let mut content = Vec::new();
    file.take(MAX_MERGED + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_MERGED {
        return Err(TargetError::Merge(path.to_string()));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn small_target(directory: &Path) -> Target {
        let limits = Limits { unpacked: 10, entries: 3, ..Limits::default() };
        Target::open(directory, limits).unwrap()
    }

    #[rstest]
    #[case(&["12345", "12345"], None)]
    #[case(&["12345", "123456"], Some("artifact is larger than 10 bytes"))]
    #[case(&["1", "2", "3", "4"], Some("artifact has more than 3 entries"))]
    fn an_artifact_does_not_grow_without_end(#[case] files: &[&str], #[case] expected: Option<&str>) {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let source = Dir::open_ambient_dir(from.path(), ambient_authority()).unwrap();
        let mut target = small_target(to.path());
        let mut refused = None;
        for text in files {
            source.write("x", text).unwrap();
            // The same file again and again: what is replaced has been copied nevertheless.
            let written = target.write(&RelPath::parse("x").unwrap(), false, || source.open("x"));
            refused = refused.or(written.err().map(|error| error.to_string()));
        }
        assert_eq!(refused.as_deref(), expected);
    }

    #[test]
    fn what_is_merged_has_to_be_small() {
        let directory = tempfile::tempdir().unwrap();
        let mut target = Target::open(directory.path(), Limits::default()).unwrap();
        let path = RelPath::parse("values.yaml").unwrap();
        let large = format!("a: {}\n", "x".repeat(MAX_MERGED as usize));
        std::fs::write(directory.path().join("values.yaml"), large).unwrap();
        let root = Dir::open_ambient_dir(directory.path(), ambient_authority()).unwrap();
        let error = target.merge(&path, &path, || root.open("values.yaml")).unwrap_err();
        assert_eq!(error.to_string(), "'values.yaml' is larger than the 4194304 bytes that can be merged");
    }
}
