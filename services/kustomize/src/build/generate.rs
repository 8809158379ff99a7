//! The kustomization file that a folder without one gets (KS-BLD-2..4).

use std::collections::VecDeque;

use weir_kustomize::{
    DirEntry, FileKind, FileSystem, FsError, FsPath, Kustomization, MAX_FILE, validate_manifest,
};

/// Files and folders looked at.
const MAX_ENTRIES: usize = 100_000;

/// Namespace of the generated file of a folder without manifests: it makes the empty result legal (KS-BLD-4).
const PLACEHOLDER: &str = "_placeholder";

/// Errors of making a generated file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A YAML file that is no manifest (KS-BLD-3).
    #[error("failed to decode Kubernetes YAML from {path}: {}", without_file(.source))]
    Manifest {
        /// The file.
        path: FsPath,
        /// Cause.
        source: Box<weir_kustomize::Error>,
    },
    /// A file or folder could not be read.
    #[error(transparent)]
    Files(#[from] FsError),
    /// More files than are looked at.
    #[error("more than {MAX_ENTRIES} files below '{path}'")]
    TooMany {
        /// The directory.
        path: FsPath,
    },
}

/// The file is named already.
fn without_file(error: &weir_kustomize::Error) -> String {
    match error {
        weir_kustomize::Error::MalformedYaml { cause, .. } => format!("MalformedYAMLError: {cause}"),
        other => other.to_string(),
    }
}

/// A file or folder that the generated file names.
pub(super) enum Member {
    /// A folder with a kustomization file of its own.
    Folder(FsPath),
    /// A YAML file.
    File(FsPath),
}

impl Member {
    pub(super) fn path(&self) -> &FsPath {
        match self {
            Self::Folder(path) | Self::File(path) => path,
        }
    }

    /// Refuses a file that is no manifest.
    pub(super) fn check(&self, files: &dyn FileSystem) -> Result<(), Error> {
        let Self::File(path) = self else { return Ok(()) };
        let content = files.read(path, MAX_FILE)?;
        validate_manifest(path, content)
            .map(drop)
            .map_err(|source| Error::Manifest { path: path.clone(), source: Box::new(source) })
    }
}

/// The generated file: manifests, and folders that have a kustomization file of their own, in the order of a walk; those
/// among them that are kept.
pub(super) fn generate(
    files: &dyn FileSystem,
    directory: &FsPath,
    is_kept: impl Fn(&str) -> bool,
) -> Result<Kustomization, Error> {
    let mut members = members(files, directory)?;
    members.retain(|member| is_kept(&member.path().relative_to(directory)));
    for member in &members {
        member.check(files)?;
    }
    let mut document = Kustomization::default();
    if members.is_empty() {
        document.namespace = PLACEHOLDER.to_owned();
    }
    let reference = |member: &Member| format!("./{}", member.path().relative_to(directory));
    document.resources = members.iter().map(reference).collect();
    Ok(document)
}

/// Returns the entries of the generated file.
pub(super) fn members(files: &dyn FileSystem, directory: &FsPath) -> Result<Vec<Member>, Error> {
    let mut members = Vec::new();
    let mut left: VecDeque<(FsPath, DirEntry)> = entries(files, directory)?.into();
    let mut seen = 0;
    while let Some((path, entry)) = left.pop_front() {
        seen += 1;
        if seen > MAX_ENTRIES {
            return Err(Error::TooMany { path: directory.clone() });
        }
        if entry.kind == FileKind::Directory {
            if Kustomization::files_of(&path, |path| files.is_file(path)).is_empty() {
                // The folder's content stands where the folder stood.
                entries(files, &path)?.into_iter().rev().for_each(|inner| left.push_front(inner));
            } else {
                members.push(Member::Folder(path));
            }
        } else if has_yaml_extension(&entry.name) {
            members.push(Member::File(path));
        }
    }
    Ok(members)
}

fn entries(files: &dyn FileSystem, directory: &FsPath) -> Result<Vec<(FsPath, DirEntry)>, FsError> {
    let entries = files.list(directory)?.into_iter();
    entries.map(|entry| Ok((directory.join(&entry.name)?, entry))).collect()
}

fn has_yaml_extension(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}
