//! Manifests of a directory instead of those of this program (`--manifests`, CLI-INS02).

use std::path::Path;

use serde_json::Value;
use weir_kustomize::{LoadRestriction, Options, RelPath, Resource, RootedFs};

use crate::error::Error;

/// Builds the kustomization of a directory as it is.
pub(super) fn objects(directory: &Path) -> Result<Vec<Value>, Error> {
    let failed = |error: &dyn std::error::Error| Error::Build(error.to_string());
    let place = directory.canonicalize();
    let place = place.map_err(|cause| Error::File { path: directory.display().to_string(), cause })?;
    // The whole disk, because bases may lie beside the directory.
    let disk = RootedFs::new(Path::new("/")).map_err(|error| failed(&error))?;
    let place = RelPath::new(&place.to_string_lossy()).map_err(|error| failed(&error))?;
    let options = Options { load_restriction: LoadRestriction::None, ..Options::cli() };
    let built = weir_kustomize::build(&disk, &place, &options).map_err(|error| failed(&error))?;
    built.resources.iter().map(Resource::to_json).collect::<Result<_, _>>().map_err(|error| failed(&error))
}
