//! Manifests of a directory instead of those of this program (`--manifests`, CLI-INS02).

use std::path::Path;

use serde_json::Value;

use crate::error::Error;
use crate::kustomization;

/// Builds the kustomization of a directory as it is.
pub(super) fn objects(directory: &Path) -> Result<Vec<Value>, Error> {
    let (disk, place) = kustomization::on_disk(directory)?;
    kustomization::objects(&disk, &place)
}
