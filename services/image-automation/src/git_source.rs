//! The Git repository of an automation: which it is, what is checked out and where commits go.

mod plan;

use weir_api::ImageUpdateAutomation;
use weir_runtime::ObjectKey;

pub(crate) use self::plan::{GitPlan, PlanError, Refspec};

/// The GitRepository that an automation names.
pub(crate) fn repository_key(automation: &ImageUpdateAutomation) -> ObjectKey {
    let source = &automation.spec.source_ref;
    let own = automation.metadata.namespace.as_deref().unwrap_or_default();
    let given = source.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    ObjectKey::new(given.unwrap_or(own), &source.name)
}
