//! Writing files of a person's disk as `flux push artifact` does (CLI-ART01): unlike in the artifacts of the source service,
//! permission bits are kept.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::entry::{self, Entry};
use super::runs::ROOT;
use super::{Tree, TreeKind, walk};
use crate::{DirectoryTree, RelPath};

/// Permission bits of the root of an archive that holds one file only.
const ROOT_OF_FILE: u32 = 0o700;

/// Largest content of a pipe, in bytes: all manifests of a cluster are smaller.
const MAX_PIPE: u64 = 256 << 20;

/// Writes a directory, or one file, as gzipped tarball: the entries that `keep` wants (path, and true for a directory),
/// with their permission bits. The rules for the entries of a directory that is not kept are those of [`super::write`].
///
/// # Errors
/// When a file cannot be read or `out` does not take the bytes.
pub fn pack(path: &Path, keep: &dyn Fn(&RelPath, bool) -> bool, out: impl Write) -> io::Result<()> {
    let mut tar = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    if std::fs::metadata(path)?.is_dir() {
        directory(path, keep, &mut tar)?;
    } else {
        one_file(path, keep, &mut tar)?;
    }
    tar.into_inner()?.finish()?.flush()
}

fn directory(
    path: &Path,
    keep: &dyn Fn(&RelPath, bool) -> bool,
    tar: &mut tar::Builder<impl Write>,
) -> io::Result<()> {
    let tree = DirectoryTree::open_path(path)?;
    entry::append(tar, ROOT, Entry::directory(tree.mode(None)?), &mut io::empty())?;
    walk(&tree, |path, kind| {
        let is_directory = kind == TreeKind::Directory;
        if !keep(path, is_directory) {
            return Ok(());
        }
        let mode = tree.mode(Some(path))?;
        if is_directory {
            return entry::append(tar, path.as_str(), Entry::directory(mode), &mut io::empty());
        }
        let mut file = tree.open(path)?;
        entry::append(tar, path.as_str(), Entry::file(mode, file.size), &mut file.reader)
    })
}

fn one_file(
    path: &Path,
    keep: &dyn Fn(&RelPath, bool) -> bool,
    tar: &mut tar::Builder<impl Write>,
) -> io::Result<()> {
    entry::append(tar, ROOT, Entry::directory(ROOT_OF_FILE), &mut io::empty())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = RelPath::parse(&name).map_err(io::Error::other)?;
    if !keep(&name, false) {
        return Ok(());
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mode = std::os::unix::fs::MetadataExt::mode(&metadata);
    if !metadata.is_file() {
        file = copied(file)?;
    }
    let size = file.metadata()?.len();
    entry::append(tar, name.as_str(), Entry::file(mode, size), &mut file)
}

/// Copies a pipe, such as `/dev/stdin` or `<(…)` of a shell, to a temporary file: only its end tells its length, which stands before the
/// content in an archive.
fn copied(pipe: File) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    if io::copy(&mut pipe.take(MAX_PIPE + 1), &mut file)? > MAX_PIPE {
        return Err(io::Error::other(format!("a pipe has more than {MAX_PIPE} bytes")));
    }
    file.rewind()?;
    Ok(file)
}
