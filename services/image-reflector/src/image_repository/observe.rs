//! Reads what a scan depends on.

use std::sync::Arc;

use jiff::Timestamp;
use weir_api::ImageRepository;
use weir_oci::{RegistryOptions, Repository};
use weir_runtime::Run;

use super::Scanner;
use crate::access::AccessError;
use crate::image_name::{self, ImageNameError};

/// Everything that a run is decided by.
pub(super) struct Observed {
    pub(super) object: Arc<ImageRepository>,
    /// The repository that the object names.
    pub(super) name: Result<Repository, ImageNameError>,
    /// The way to it, or the reason why there is none.
    pub(super) options: Result<RegistryOptions, AccessError>,
    /// True when the store has tags of it, or why that is not known.
    pub(super) has_tags: Result<bool, String>,
    pub(super) is_requested: bool,
    pub(super) workload_identity: bool,
    pub(super) now: Timestamp,
}

impl Scanner {
    pub(super) async fn observe(&self, run: &Run<ImageRepository>) -> Observed {
        let object = run.object.clone();
        let name = image_name::parse(&object.spec.image);
        let options = match &name {
            Ok(name) => self.accesses.options(&object, name).await,
            // Without a name no login is needed.
            Err(_) => Ok(RegistryOptions::default()),
        };
        let key = run.key.clone();
        let has_tags = self.store.blocking(move |store| store.has_tags(&key)).await;
        Observed {
            is_requested: run.is_requested(),
            workload_identity: self.workload_identity,
            now: run.now,
            object,
            name,
            options,
            has_tags: has_tags.map_err(|error| error.to_string()),
        }
    }
}
