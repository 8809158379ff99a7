//! The files of an artifact as the build engine sees them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use weir_artifact::{FileStack, Span};
use weir_kustomize::{DirEntry, FileKind, FileSystem, FsError, FsPath, Stop};

use crate::budget::Share;

/// Unpacked files. Most of them are on disk; what is read is in memory.
#[derive(Debug)]
pub struct ArtifactFiles {
    /// The place of each file; nothing of a directory.
    entries: BTreeMap<Path, Option<Span>>,
    stack: FileStack,
}

/// A path in the order of its components, so that what is below a directory stands together.
#[derive(Debug, PartialEq, Eq)]
struct Path(String);

impl Ord for Path {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.split('/').cmp(other.0.split('/'))
    }
}

impl PartialOrd for Path {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ArtifactFiles {
    /// Files, by where each of them lies.
    #[must_use]
    pub fn new(spans: BTreeMap<weir_artifact::RelPath, Span>, stack: FileStack) -> Self {
        let of = |path: &weir_artifact::RelPath| Path(path.as_str().to_owned());
        // A directory without files is there too: nothing is applied of it.
        let directories = stack.directories().map(|path| (of(path), None));
        let files = spans.into_iter().map(|(path, span)| (of(&path), Some(span)));
        let entries = directories.chain(files).collect();
        Self { entries, stack }
    }

    /// Bytes of all files.
    pub(crate) fn size(&self) -> u64 {
        self.stack.size()
    }

    /// Bytes of a file; none of what is no file.
    fn length(&self, path: &FsPath) -> u64 {
        let entry = self.entries.get(&Path(path.as_str().to_owned()));
        entry.and_then(Option::as_ref).map_or(0, |span| span.length)
    }

    /// The first path at or behind `from`, without the prefix, if it has it, and what it leads to.
    fn next_below(&self, prefix: &str, from: String) -> Option<(&str, FileKind)> {
        let (next, span) = self.entries.range(Path(from)..).next()?;
        Some((next.0.strip_prefix(prefix)?, kind_of(*span)))
    }
}

fn kind_of(span: Option<Span>) -> FileKind {
    span.map_or(FileKind::Directory, |_| FileKind::File)
}

/// With what the paths below a directory begin.
fn prefix(directory: &FsPath) -> String {
    if *directory == FsPath::root() { String::new() } else { format!("{}/", directory.as_str()) }
}

impl FileSystem for ArtifactFiles {
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        let Some(Some(span)) = self.entries.get(&Path(path.as_str().to_owned())) else {
            self.resolve(path)?;
            return Err(FsError::IsDirectory { path: path.clone() });
        };
        if span.length > limit {
            return Err(FsError::TooLarge { path: path.clone(), limit });
        }
        self.stack.read(*span).map_err(|cause| FsError::Io { path: path.clone(), cause })
    }

    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        if let Some(span) = self.entries.get(&Path(path.as_str().to_owned())) {
            return Ok((path.clone(), kind_of(*span)));
        }
        if *path == FsPath::root() || self.next_below(&prefix(path), prefix(path)).is_some() {
            return Ok((path.clone(), FileKind::Directory));
        }
        Err(FsError::NotFound { path: path.clone() })
    }

    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError> {
        if let (_, FileKind::File) = self.resolve(path)? {
            return Err(FsError::NotADirectory { path: path.clone() });
        }
        let prefix = prefix(path);
        let mut entries = Vec::new();
        let mut from = prefix.clone();
        while let Some((below, kind)) = self.next_below(&prefix, from) {
            let (name, kind) = match below.split_once('/') {
                Some((directory, _)) => (directory, FileKind::Directory),
                None => (below, kind),
            };
            // No name holds this character, so that this stands behind all that is below the name.
            from = format!("{prefix}{name}\0");
            entries.push(DirEntry { name: name.to_owned(), kind });
        }
        Ok(entries)
    }
}

/// Files of which one build reads so many bytes and no more, and none once it is given up.
#[derive(Debug, Clone)]
pub struct Metered {
    files: Arc<ArtifactFiles>,
    meter: Arc<Mutex<Meter>>,
    stop: Stop,
}

#[derive(Debug)]
struct Meter {
    limit: u64,
    /// The memory behind the limit, which grows as long as there is some.
    share: Option<Share>,
    used: u64,
    /// Bytes that the build would have needed to go on.
    lacking: Option<u64>,
}

impl Meter {
    /// Makes room for so many bytes more.
    fn admits(&mut self, length: u64) -> bool {
        let needed = self.used.saturating_add(length);
        if needed > self.limit
            && let Some(share) = self.share.as_ref().filter(|share| share.grow_to(needed))
        {
            self.limit = share.bytes();
        }
        let is_admitted = needed <= self.limit;
        if !is_admitted {
            self.lacking = Some(needed);
        }
        is_admitted
    }
}

impl Metered {
    /// Files of which `limit` bytes may be read, until `stop`. Clones share the limit.
    #[must_use]
    pub fn new(files: Arc<ArtifactFiles>, limit: u64, stop: Stop) -> Self {
        let meter = Meter { limit, share: None, used: 0, lacking: None };
        Self { files, meter: Arc::new(Mutex::new(meter)), stop }
    }

    /// Files of which as many bytes may be read as there is memory for.
    pub(crate) fn sharing(files: Arc<ArtifactFiles>, share: Share, stop: Stop) -> Self {
        let metered = Self::new(files, share.bytes(), stop);
        metered.meter.lock().share = Some(share);
        metered
    }

    /// Bytes that were read.
    pub(crate) fn used(&self) -> u64 {
        self.meter.lock().used
    }

    /// Returns how many bytes a build would have needed to go on that wanted more than it might.
    pub(crate) fn lacking(&self) -> Option<u64> {
        self.meter.lock().lacking
    }
}

impl FileSystem for Metered {
    fn read(&self, path: &FsPath, limit: u64) -> Result<Vec<u8>, FsError> {
        if let Err(error) = self.stop.check() {
            return Err(FsError::Io { path: path.clone(), cause: io::Error::other(error) });
        }
        let mut meter = self.meter.lock();
        // A file beyond its own cap is no excess of the build where a smaller one would be none either.
        if !meter.admits(self.files.length(path).min(limit)) {
            let cause = io::Error::other("the build reads too much");
            return Err(FsError::Io { path: path.clone(), cause });
        }
        let content = self.files.read(path, limit)?;
        meter.used = meter.used.saturating_add(content.len() as u64);
        Ok(content)
    }

    fn resolve(&self, path: &FsPath) -> Result<(FsPath, FileKind), FsError> {
        self.files.resolve(path)
    }

    fn list(&self, path: &FsPath) -> Result<Vec<DirEntry>, FsError> {
        self.files.list(path)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use weir_artifact::{Limits, Untar};

    use super::*;

    /// Files whose content is their path.
    pub(crate) fn files(paths: &[&str]) -> ArtifactFiles {
        // The path of a directory ends with a slash.
        let content = |path: &str| if path.ends_with('/') { Vec::new() } else { path.as_bytes().to_vec() };
        let files: Vec<_> = paths.iter().map(|path| (*path, content(path))).collect();
        unpacked(&files, 20)
    }

    /// These files, of which those of up to `largest` bytes are kept.
    pub(crate) fn unpacked(files: &[(&str, Vec<u8>)], largest: u64) -> ArtifactFiles {
        let mut tar =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o644);
            if content.is_empty() {
                header.set_entry_type(tar::EntryType::Directory);
            }
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, path, content.as_slice()).unwrap();
        }
        let archive = tar.into_inner().unwrap().finish().unwrap();
        let (spans, stack) = Untar::new(Limits::default()).to_stack(archive.as_slice(), largest).unwrap();
        ArtifactFiles::new(spans, stack)
    }

    fn path(text: &str) -> FsPath {
        FsPath::new(text).unwrap()
    }

    #[test]
    fn they_look_like_those_in_memory() {
        let paths = ["a-b/x.yaml", "a/b/c.yaml", "a/b.yaml", "a/b-c/d", "z", "a.yaml"];
        let memory = weir_kustomize::MemoryFs::from_files(paths.map(|path| (path, path))).unwrap();
        let files = files(&paths);
        for directory in ["", "a", "a/b", "a-b", "a/b-c"].map(path) {
            assert_eq!(files.list(&directory).unwrap(), memory.list(&directory).unwrap(), "{directory}");
        }
        for place in ["", "a", "a/b", "a/b.yaml", "a/", "b", "a/b/c.yaml/d", "z", "a/b-"].map(path) {
            assert_eq!(files.resolve(&place).ok(), memory.resolve(&place).ok(), "{place}");
            assert_eq!(files.read(&place, 100).ok(), memory.read(&place, 100).ok(), "{place}");
        }
    }

    /// Sources leave files out, and so directories without any: a path that names one is there, and empty.
    #[test]
    fn directories_without_files_are_there() {
        let files = files(&["a/b.yaml", "a/none/", "empty/", "empty/below/", "empty.yaml"]);
        let names = |place: &str| {
            let entries = files.list(&path(place)).unwrap();
            entries.into_iter().map(|entry| (entry.name, entry.kind)).collect::<Vec<_>>()
        };
        let (directory, file) = (|name: &str| (name.to_owned(), FileKind::Directory), FileKind::File);
        assert_eq!(names(""), [directory("a"), directory("empty"), ("empty.yaml".to_owned(), file)]);
        assert_eq!(names("a"), [("b.yaml".to_owned(), file), directory("none")]);
        assert_eq!(names("empty"), [directory("below")]);
        assert_eq!((names("empty/below"), names("a/none")), (vec![], vec![]));
        assert!(matches!(files.read(&path("empty"), 9), Err(FsError::IsDirectory { .. })));
        assert!(matches!(files.list(&path("empty/no")), Err(FsError::NotFound { .. })));
    }

    /// STO 14.6: what no build may read takes no room.
    #[test]
    fn large_files_are_listed_and_not_kept() {
        let files = files(&["a", "a-name-of-more-than-twenty-bytes", "b"]);
        let names: Vec<String> = files.list(&path("")).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!((names.len(), files.size()), (3, 2));
        assert_eq!(files.read(&path("b"), 100).unwrap(), b"b");
        assert!(matches!(files.read(&path(&names[1]), 20), Err(FsError::TooLarge { .. })));
        assert!(matches!(files.read(&path(&names[1]), 100), Err(FsError::Io { .. })));
    }

    #[test]
    fn a_build_reads_no_more_than_it_may() {
        let metered = Metered::new(Arc::new(files(&["1234", "12345678"])), 10, Stop::default());
        assert_eq!(metered.read(&path("1234"), 100).unwrap(), b"1234");
        assert!(matches!(metered.read(&path("12345678"), 5), Err(FsError::TooLarge { limit: 5, .. })));
        assert_eq!(metered.lacking(), None, "a file beyond its own cap is no excess of the build");
        assert!(matches!(metered.read(&path("12345678"), 7), Err(FsError::Io { .. })));
        assert_eq!(metered.lacking(), Some(11), "one of the size of the cap would be one, too");
        metered.read(&path("12345678"), 100).unwrap_err();
        assert_eq!(metered.lacking(), Some(12));
        assert_eq!(metered.used(), 4);
    }
}
