//! Older versions of the image kinds: the stored schema, which is wider than theirs (GEN-2).

use super::edit::Edit::Require;
use super::{CrdError, Definition, Older, definition};
use crate::{ImagePolicy, ImageRepository, ImageUpdateAutomation};

const REFLECTOR: &str = "image-reflector-controller";
const AUTOMATION: &str = "image-automation-controller";

pub(super) fn definitions() -> Result<Vec<Definition>, CrdError> {
    Ok(vec![
        definition::<ImagePolicy>(REFLECTOR, older(None))?,
        definition::<ImageRepository>(REFLECTOR, older(None))?,
        definition::<ImageUpdateAutomation>(AUTOMATION, older(Some("spec.update.strategy")))?,
    ])
}

/// The older versions; those before v1beta2 may require a field. v1alpha2, which Flux served until
/// 2022, is v1beta1 by another name (AV-4).
fn older(required: Option<&'static str>) -> Vec<Older> {
    let required = || required.map(Require);
    vec![Older::new("v1beta2", []), Older::new("v1beta1", required()), Older::new("v1alpha2", required())]
}
