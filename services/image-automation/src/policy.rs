//! The policies that an automation uses, and the images that they select (IU-3, IU-4).

use std::collections::BTreeMap;

use weir_api::{ImagePolicy, ImageUpdateAutomation, image::ImageRef};
use weir_oci::{Reference, is_tag};
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

/// Returns true for an image with a tag, and a digest if there is one (IR-5).
fn is_reference(latest: &ImageRef) -> bool {
    is_tag(&latest.tag) && Reference::from_url(&format!("oci://{latest}")).is_ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use weir_api::image::ImageRef;

    #[rstest]
    #[case("ghcr.io/acme/app", "1.0_a-b", "", true)]
    #[case("reg.example.com:5000/a/b", "1", "", true)]
    #[case("LOCALHOST:5000/app", "1", "", true)]
    #[case("acme/app", "V1", &format!("sha256:{}", "0a".repeat(32)), true)]
    #[case("ghcr.io/Acme/app", "1", "", false)]
    #[case("Acme/app", "1", "", false)]
    #[case("a b", "1", "", false)]
    #[case("", "1", "", false)]
    #[case("acme/app", "", "", false)]
    #[case("acme/app", "a b", "", false)]
    #[case("acme/app", "1", "sha256:0a", false)]
    #[case("acme/app", "1", &format!("sha256:{}", "0A".repeat(32)), false)]
    #[case("acme/app", "1", &format!("sha512:{}", "0a".repeat(64)), false)]
    fn references(#[case] name: &str, #[case] tag: &str, #[case] digest: &str, #[case] expected: bool) {
        let latest = ImageRef { name: name.to_owned(), tag: tag.to_owned(), digest: digest.to_owned() };
        assert_eq!(super::is_reference(&latest), expected);
    }
}
