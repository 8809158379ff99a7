//! Kustomizations that this command builds for itself: files in, objects out.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use weir_kustomize::{FileSystem, FsPath, LoadRestriction, Options, Remote, Resource, RootedFs};

use crate::command::build::remote;
use crate::error::Error;

/// Builds the kustomization of a folder. Bases may lie anywhere in the file system, and remote ones are fetched, as the service
/// does. Fetchers block, which a thread of the runtime may not.
pub(crate) fn objects<F: FileSystem + Sync>(files: &F, folder: &FsPath) -> Result<Vec<Value>, Error> {
    let building = || build(files, folder, Some(remote::fetcher()));
    let built = std::thread::scope(|scope| scope.spawn(building).join());
    built.unwrap_or_else(|_| Err(Error::Build("the build has not come to its end".to_owned())))
}

/// Builds a kustomization of this program's own files, which name nothing elsewhere.
pub(crate) fn own_objects<F: FileSystem>(files: &F, folder: &FsPath) -> Result<Vec<Value>, Error> {
    build(files, folder, None)
}

fn build<F: FileSystem>(
    files: &F,
    folder: &FsPath,
    remote: Option<Arc<dyn Remote>>,
) -> Result<Vec<Value>, Error> {
    let options = Options { load_restriction: LoadRestriction::None, remote, ..Options::cli() };
    let built = weir_kustomize::build(files, folder, &options).map_err(|error| refused(&error))?;
    let objects = built.resources.iter().map(Resource::to_json).collect::<Result<_, _>>();
    objects.map_err(|error| refused(&error))
}

/// Returns a directory of this machine, and the whole disk, as bases may lie beside the directory.
pub(crate) fn on_disk(directory: &Path) -> Result<(RootedFs, FsPath), Error> {
    let place = directory.canonicalize();
    let place = place.map_err(|cause| Error::File { path: directory.display().to_string(), cause })?;
    let disk = RootedFs::new(Path::new("/")).map_err(|error| refused(&error))?;
    let place = FsPath::new(&place.to_string_lossy()).map_err(|error| refused(&error))?;
    Ok((disk, place))
}

fn refused(error: &dyn std::error::Error) -> Error {
    Error::Build(error.to_string())
}
