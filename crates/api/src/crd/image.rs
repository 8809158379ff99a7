//! Older versions of the image kinds: the stored schema, which is wider than theirs (GEN-2).

use kube::CustomResourceExt;

use super::edit::Edit::Require;
use super::{CrdError, Definition, Older, definition};
use crate::{ImagePolicy, ImageRepository, ImageUpdateAutomation};

const REFLECTOR: &str = "image-reflector-controller";
const AUTOMATION: &str = "image-automation-controller";

pub(super) fn definitions() -> Result<Vec<Definition>, CrdError> {
    Ok(vec![
        same_in_all::<ImagePolicy>(REFLECTOR)?,
        same_in_all::<ImageRepository>(REFLECTOR)?,
        definition::<ImageUpdateAutomation>(
            AUTOMATION,
            vec![Older::new("v1beta2", []), Older::new("v1beta1", [Require("spec.update.strategy")])],
        )?,
    ])
}

fn same_in_all<K: CustomResourceExt>(component: &str) -> Result<Definition, CrdError> {
    definition::<K>(component, vec![Older::new("v1beta2", []), Older::new("v1beta1", [])])
}
