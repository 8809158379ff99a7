//! `weir migrate -f`: writes newer API versions into manifests (CLI-MIG02). Lines are edited, so that comments and layout stay.

use std::io::{ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use clap::Args;
use weir_runtime::args::Switch;

use super::line::{Edit, Versions, edits, rewritten};
use crate::csv::Record;
use crate::error::{Error, opening};
use crate::input;
use crate::output::progress;

/// Files that are looked at in one run.
const MAX_FILES: usize = 100_000;
/// Folders one in the other; file systems allow some hundred.
const MAX_DEPTH: usize = 64;
/// Bytes of a manifest. CRDs of large projects have some MiB.
const MAX_FILE: u64 = 16 << 20;

/// Flags about manifests.
#[derive(Args, Debug)]
pub(super) struct Flags {
    /// Migrate the manifests of this file or directory instead of the cluster; it must be below the current directory.
    #[arg(short = 'f', long)]
    path: Option<PathBuf>,
    /// Ends of the names of manifests.
    #[arg(short, long, default_value = ".yaml,.yml", value_name = "LIST", requires = "path")]
    extensions: Vec<Record>,
    /// Minor version of Flux whose API versions are written, such as 2.8; without it, the newest ones.
    #[arg(short, long, value_name = "VERSION", requires = "path")]
    version: Option<String>,
    /// Do not ask before files are written.
    #[arg(short, long, switched_off())]
    yes: bool,
    /// Only show what would be written.
    #[arg(long, requires = "path")]
    dry_run: bool,
}

/// A manifest that is to change.
struct Change {
    path: PathBuf,
    text: String,
    edits: Vec<Edit>,
}

impl Flags {
    /// Returns the path of the manifests, if it is about manifests.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Migrates the manifests at a path.
    pub(super) fn run(&self, path: &Path) -> Result<(), Error> {
        let versions = Versions::of(self.version.as_deref()).map_err(Error::Flags)?;
        let root = Dir::open_ambient_dir(".", ambient_authority())?;
        progress::action("starting migration of custom resources");
        let mut changes = Vec::new();
        for file in self.files(&root, &plain(path))? {
            changes.extend(change(&root, file, &versions)?);
        }
        if changes.is_empty() {
            progress::success("no custom resources found that require migration");
            return Ok(());
        }
        if self.dry_run {
            progress::success("dry-run mode enabled, no changes will be made");
            return Ok(());
        }
        if !self.yes && !input::confirm("Are you sure you want to proceed with the above upgrades")? {
            return Err(Error::Aborted);
        }
        for Change { path, text, edits } in &changes {
            write(&root, path, &rewritten(text, edits))
                .map_err(|cause| failed("failed to write file", path, &cause))?;
            progress::success(&format!("file {} migrated successfully", path.display()));
        }
        progress::success("custom resources migrated successfully");
        Ok(())
    }

    fn files(&self, root: &Dir, path: &Path) -> Result<Vec<PathBuf>, Error> {
        let metadata = root.metadata(path).map_err(|cause| unseen(path, &cause))?;
        if metadata.is_dir() {
            let mut found = Vec::new();
            self.walk(root, path, 0, &mut found)?;
            return Ok(found);
        }
        let shown = path.display();
        if !self.is_manifest(path) {
            let extensions = self.extensions().collect::<Vec<_>>().join(", ");
            let reason = format!("file {shown} does not match the specified extensions: {extensions}");
            return Err(Error::Flags(reason));
        }
        match root.symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(vec![path.to_owned()]),
            Ok(_) => Err(Error::Flags(format!("file {shown} is irregular"))),
            Err(cause) => Err(unseen(path, &cause)),
        }
    }

    /// Finds the manifests below a folder, in the order of their names. Links are not followed.
    fn walk(&self, root: &Dir, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Error> {
        let unread = |cause: std::io::Error| failed("failed to walk directory", folder, &cause);
        if depth > MAX_DEPTH {
            return Err(unread(std::io::Error::other(format!("more than {MAX_DEPTH} folders deep"))));
        }
        let entries = root.read_dir(folder).map_err(unread)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(unread)?;
        entries.sort_by_key(cap_std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (plain(&folder.join(entry.file_name())), entry.file_type().map_err(unread)?);
            if kind.is_dir() {
                self.walk(root, &path, depth + 1, found)?;
            } else if self.is_manifest(&path) && !kind.is_file() {
                progress::warning(&format!("skipping irregular file {}", path.display()));
            } else if self.is_manifest(&path) {
                found.push(path);
            }
            if found.len() > MAX_FILES {
                return Err(unread(std::io::Error::other(format!("more than {MAX_FILES} manifests"))));
            }
        }
        Ok(())
    }

    fn is_manifest(&self, path: &Path) -> bool {
        let name = path.to_string_lossy();
        self.extensions().any(|extension| name.ends_with(extension))
    }

    /// Ends of names; an empty one, which every name has, is left out.
    fn extensions(&self) -> impl Iterator<Item = &str> {
        Record::items(&self.extensions).map(String::as_str)
    }
}

/// Looks for the lines of a manifest that are to change, and shows them.
fn change(root: &Dir, path: PathBuf, versions: &Versions) -> Result<Option<Change>, Error> {
    let text = read(root, &path).map_err(|cause| failed("failed to read file", &path, &cause))?;
    let shown = path.display();
    let Ok(text) = String::from_utf8(text) else {
        progress::warning(&format!("skipping file {shown}: it is no UTF-8 text"));
        return Ok(None);
    };
    let (edits, problems) = edits(&text, versions);
    for (line, problem) in problems {
        progress::warning(&format!("{shown}:{line}: {problem}"));
    }
    for Edit { line, kind, old, new } in &edits {
        progress::generating(&format!("{shown}:{line}: {kind} {old} -> {new}"));
    }
    Ok((!edits.is_empty()).then_some(Change { path, text, edits }))
}

fn read(root: &Dir, path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    root.open(path)?.take(MAX_FILE + 1).read_to_end(&mut text)?;
    match text.len() as u64 > MAX_FILE {
        true => Err(std::io::Error::other(format!("larger than {MAX_FILE} bytes"))),
        false => Ok(text),
    }
}

/// Writes into the file that is there, so that it keeps its mode and its owner.
fn write(root: &Dir, path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = root.open_with(path, OpenOptions::new().write(true).truncate(true))?;
    file.write_all(text.as_bytes())
}

/// Returns a path without `.` parts and doubled slashes.
fn plain(path: &Path) -> PathBuf {
    let parts: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    if parts.as_os_str().is_empty() { PathBuf::from(".") } else { parts }
}

/// Says that a path is not there, as Go does for a path below a folder, or leads out of the folder.
fn unseen(path: &Path, cause: &std::io::Error) -> Error {
    const DOING: &str = "failed to stat path";
    match cause.kind() {
        ErrorKind::NotFound => {
            let shown = path.display();
            Error::Flags(format!("{DOING} {shown}: openat {shown}: {}", opening(cause)))
        }
        _ => failed(DOING, path, cause),
    }
}

fn failed(doing: &str, path: &Path, cause: &std::io::Error) -> Error {
    Error::Flags(format!("{doing} {}: {cause}", path.display()))
}
