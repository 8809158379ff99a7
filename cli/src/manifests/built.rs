//! Kustomizations of the manifests in this program, built.

use serde_json::Value;
use weir_kustomize::{FsPath, MemoryFs};

use super::FILES;
use crate::error::Error;
use crate::kustomization;

/// Folder of the kustomization that is made here.
const OVERLAY: &str = "overlays/chosen";
/// Folder of the CRDs.
const CRDS: &str = "crds";

/// Builds a kustomization that is not one of the files.
pub(super) fn overlay(kustomization: String) -> Result<Vec<Value>, Error> {
    objects(OVERLAY, Some(kustomization))
}

/// The CRDs of all services.
pub(crate) fn crds() -> Result<Vec<Value>, Error> {
    objects(CRDS, None)
}

fn objects(folder: &str, added: Option<String>) -> Result<Vec<Value>, Error> {
    let failed = |error: &dyn std::error::Error| Error::Build(error.to_string());
    let mut files = MemoryFs::from_files(FILES.iter().copied()).map_err(|error| failed(&error))?;
    if let Some(text) = added {
        files.insert(&format!("{folder}/kustomization.yaml"), text).map_err(|error| failed(&error))?;
    }
    let folder = FsPath::new(folder).map_err(|error| failed(&error))?;
    kustomization::own_objects(&files, &folder)
}
