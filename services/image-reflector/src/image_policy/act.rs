//! Looks digests up.

use std::fmt::Display;

use weir_api::image::ImageRef;
use weir_runtime::Failure;

use super::{
    Selector,
    decide::{Choice, DigestPlan},
    observe::Observed,
};
use crate::access::AccessError;

impl Selector {
    /// Completes the choice to a reference.
    pub(super) async fn act(&self, observed: &Observed, choice: &Choice) -> Result<ImageRef, Failure> {
        let digest = match &choice.digest {
            DigestPlan::None => String::new(),
            DigestPlan::Keep(digest) => digest.clone(),
            DigestPlan::Fetch => self.digest(observed, choice).await.map_err(|cause| {
                let Choice { name, tag, .. } = choice;
                let message = format!("failed fetching digest of {name}:{tag}: {cause}");
                Failure::retried(weir_api::reason::FAILED, message)
            })?,
        };
        Ok(ImageRef { name: choice.name.clone(), tag: choice.tag.clone(), digest })
    }

    async fn digest(&self, observed: &Observed, choice: &Choice) -> Result<String, String> {
        let Some(object) = &observed.repository else { return Err("the repository is gone".to_owned()) };
        let unusable = |error: &dyn Display| format!("failed to configure authentication options: {error}");
        let failed = |error: &dyn Display| {
            let Choice { name, tag, .. } = choice;
            format!("failed fetching descriptor for \"{name}:{tag}\": {error}")
        };
        let options =
            self.accesses.options(object, &choice.repository).await.map_err(|error| match error {
                // A login belongs to the question to the registry.
                AccessError::Login(cause) => failed(&cause),
                other => unusable(&other),
            })?;
        let registry = self.registries.open(&choice.repository, options);
        let mut registry = registry.map_err(|error| unusable(&error))?;
        let digest = registry.head(&choice.tag).await.map_err(|error| failed(&error))?;
        Ok(digest.to_string())
    }
}
