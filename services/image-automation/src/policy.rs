//! Which policies an automation uses, and what they select (IU-3, IU-4).

use std::collections::BTreeMap;

use weir_api::{ImagePolicy, ImageUpdateAutomation, image::ImageRef};
use weir_runtime::{Cache, ObjectKey};
use weir_setters::{Image, PolicyName, Setters};

use crate::{resolution::Resolutions, selector};

/// Selected images by the name of their policy.
pub(crate) type Selected = BTreeMap<String, ImageRef>;

/// Returns what the policies of the automation's namespace select, those without a selection left out.
///
/// # Errors
/// Kubernetes' text for a selector that means nothing.
pub(crate) fn selected(
    automation: &ImageUpdateAutomation,
    policies: &Cache<ImagePolicy>,
    resolutions: &Resolutions,
) -> Result<Selected, String> {
    let namespace = ObjectKey::of(automation).namespace;
    let (wanted, empty) = (automation.spec.policy_selector.as_ref(), selector::Labels::new());
    wanted.map_or(Ok(()), selector::check)?;
    let mut selected = Selected::new();
    for policy in policies.list() {
        let key = ObjectKey::of(&*policy);
        let labels = policy.metadata.labels.as_ref().unwrap_or(&empty);
        let is_wanted = wanted.is_none_or(|wanted| selector::matches(wanted, labels));
        if key.namespace != namespace || !is_wanted {
            continue;
        }
        let latest = resolutions.get(&key).or_else(|| policy.status.as_ref()?.latest_ref.clone());
        if let Some(latest) = latest {
            selected.insert(key.name, latest);
        }
    }
    Ok(selected)
}

/// Makes the setters of the selected images.
///
/// # Errors
/// The first reference that is none.
pub(crate) fn setters(namespace: &str, selected: &Selected) -> Result<Setters, String> {
    let mut setters = Setters::default();
    for (name, latest) in selected {
        if !is_reference(latest) {
            return Err(format!(
                "encountered invalid image ref {:?}: could not parse reference: {latest}",
                latest.to_string()
            ));
        }
        let policy = PolicyName { namespace: namespace.to_owned(), name: name.clone() };
        let digest = Some(latest.digest.clone()).filter(|digest| !digest.is_empty());
        setters.insert(policy, Image { name: latest.name.clone(), tag: latest.tag.clone(), digest });
    }
    Ok(setters)
}

/// A name of a repository, a tag, and a digest if there is one, each of the characters it may have (IR-5).
fn is_reference(latest: &ImageRef) -> bool {
    let has_only = |text: &str, others: &[u8], most: usize| {
        !text.is_empty()
            && text.len() <= most
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || others.contains(&byte))
    };
    has_only(&latest.name, b"_-./:", 512)
        && has_only(&latest.tag, b"_-.", 128)
        && (latest.digest.is_empty() || has_only(&latest.digest, b":+._-", 256))
}
