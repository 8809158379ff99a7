//! The files of an artifact on this machine, and their tarball (CLI-ART01, CLI-ART02).

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use tempfile::{NamedTempFile, TempDir};
use weir_artifact::archive;
use weir_ignore::Rules;

use crate::csv::Record;
use crate::error::Error;

/// Path with which standard input is read.
const STDIN: &str = "-";
/// Permission bits of the directory of copies.
const FOLDER_MODE: u32 = 0o700;
/// Largest input from standard input, in bytes: all manifests of a cluster are smaller.
const MAX_STDIN: u64 = 256 << 20;
/// Longest way through links from the first directory down, in directories: ends a tree that no one can read.
const MAX_DEPTH: usize = 128;

/// Paths that stay out of an artifact.
#[derive(Args, Debug)]
pub(super) struct Ignored {
    /// Paths to leave out, as in a .gitignore.
    #[arg(
        long,
        value_name = "LIST",
        default_value = ".git/,.gitignore,.gitmodules,.gitattributes,*.jpg,*.jpeg,*.gif,*.png,*.wmv,*.flv,*.tar.gz,*.zip"
    )]
    ignore_paths: Vec<Record>,
    /// More paths to leave out.
    #[arg(long, value_name = "LIST")]
    add_ignore_paths: Vec<Record>,
}

/// Files on this machine; temporary ones are removed with it.
pub(super) struct Content {
    pub(super) path: PathBuf,
    _stdin: Option<NamedTempFile>,
    _copy: Option<TempDir>,
}

impl Content {
    /// Finds the files. `-` is standard input, as one file.
    pub(super) fn find(path: &str, resolve_symlinks: bool, shows_reason: bool) -> Result<Self, Error> {
        if path.is_empty() {
            return Err(Error::Flags("invalid path \"\"".to_owned()));
        }
        let stdin = if path == STDIN { Some(stdin()?) } else { None };
        let path = stdin.as_ref().map_or_else(|| PathBuf::from(path), |file| file.path().to_owned());
        std::fs::metadata(&path).map_err(|error| {
            let reason = if shows_reason { format!(": {}", reason(&path, &error)) } else { String::new() };
            let path = path.display();
            Error::Flags(format!(
                "invalid path '{path}', must point to an existing directory or file{reason}"
            ))
        })?;
        if !resolve_symlinks {
            return Ok(Self { path, _stdin: stdin, _copy: None });
        }
        let resolved = resolve(&path);
        let (path, copy) =
            resolved.map_err(|error| Error::Artifact(format!("resolving symlinks failed: {error}")))?;
        Ok(Self { path, _stdin: stdin, _copy: Some(copy) })
    }

    /// Packs the tarball into a temporary file, outside of what is packed.
    pub(super) fn packed(&self, ignored: &Ignored) -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        self.pack(ignored, BufWriter::new(&file))?;
        file.rewind()?;
        Ok(file)
    }

    /// Writes the tarball.
    fn pack(&self, ignored: &Ignored, out: impl Write) -> io::Result<()> {
        let mut rules = Rules::default();
        let patterns = Record::items(&ignored.ignore_paths).chain(Record::items(&ignored.add_ignore_paths));
        let patterns: Vec<&str> = patterns.map(String::as_str).collect();
        rules.read(&patterns.join("\n"), &[]);
        let matcher = rules.into_plain_matcher();
        archive::pack(&self.path, &|path, is_directory| !matcher.excludes(path.as_str(), is_directory), out)
    }
}

/// Returns the words that Flux has for a path that cannot be used.
pub(super) fn reason(path: &Path, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    format!("stat {}: {reason}", path.display())
}

/// Returns the words that Flux has for a link that leads nowhere, with the path at which it ends.
fn broken_link(link: &Path, error: &io::Error) -> String {
    let mut end = link.to_owned();
    for _ in 0..MAX_DEPTH {
        let Ok(target) = std::fs::read_link(&end) else { break };
        end = end.parent().unwrap_or(Path::new("")).join(target);
    }
    format!("resolving symlink {}: lstat {}", link.display(), reason(&end, error).trim_start_matches("stat "))
}

/// Keeps standard input in a file, without the ends of lines behind it.
fn stdin() -> Result<NamedTempFile, Error> {
    let mut text = Vec::new();
    io::stdin().lock().take(MAX_STDIN + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_STDIN {
        return Err(Error::Flags(format!("standard input is larger than {MAX_STDIN} bytes")));
    }
    while text.last().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
        text.pop();
    }
    let mut file = tempfile::Builder::new().prefix("").suffix(".yaml").tempfile()?;
    file.write_all(&text)?;
    Ok(file)
}

/// Copies a file or a directory, with the targets in the place of links, and returns the path of the copy.
fn resolve(path: &Path) -> io::Result<(PathBuf, TempDir)> {
    // Nobody else reads the copies; the artifact's root has this mode in Flux, too.
    let mut builder = tempfile::Builder::new();
    let folder =
        builder.prefix("weir-artifact-").permissions(Permissions::from_mode(FOLDER_MODE)).tempdir()?;
    if path.is_dir() {
        copy_directory(path, folder.path(), &mut BTreeSet::new())?;
        return Ok((folder.path().to_owned(), folder));
    }
    let copy = folder.path().join(path.file_name().unwrap_or_default());
    std::fs::copy(path.canonicalize()?, &copy)?;
    Ok((copy, folder))
}

/// Copies what is in a directory. A link to one of the directories on the way ends there: it would go in circles.
fn copy_directory(from: &Path, to: &Path, on_the_way: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let real = from.canonicalize()?;
    if on_the_way.len() >= MAX_DEPTH {
        let reason = format!("{}: directories are nested deeper than {MAX_DEPTH}", from.display());
        return Err(io::Error::other(reason));
    }
    if !on_the_way.insert(real.clone()) {
        return Ok(());
    }
    let mut entries = std::fs::read_dir(from)?.collect::<io::Result<Vec<_>>>()?;
    // Of several broken links the same one is named on every machine.
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (found, target) = (entry.path(), to.join(entry.file_name()));
        let source = found.canonicalize().map_err(|error| io::Error::other(broken_link(&found, &error)))?;
        let metadata = source.metadata()?;
        if metadata.is_dir() {
            std::fs::create_dir_all(&target)?;
            copy_directory(&source, &target, on_the_way)?;
            std::fs::set_permissions(&target, metadata.permissions())?;
        } else if metadata.is_file() {
            std::fs::copy(&source, &target)?;
        }
    }
    on_the_way.remove(&real);
    Ok(())
}
