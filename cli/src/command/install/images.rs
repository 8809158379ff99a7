//! The names of the images that an installation wants: those that nobody can pull are told of before anything waits for them.

use serde_json::Value;

use crate::error::Error;

/// Prefix of the names that the manifests of this program have without a registry.
const UNPUBLISHED: &str = "weir/";

/// Returns a warning when the images have names under which nobody publishes any.
///
/// # Errors
/// When `--registry` makes names of them that are none.
pub(super) fn check(objects: &[Value]) -> Result<Option<String>, Error> {
    let mut warning = None;
    for image in objects.iter().flat_map(images) {
        if let Some(fault) = fault(image) {
            return Err(Error::Flags(format!("invalid image '{image}': --registry {fault}")));
        }
        if image.starts_with(UNPUBLISHED) {
            warning = Some(format!(
                "no images are published as {UNPUBLISHED}<service>, such as {image}: unless the nodes have them, \
                 give the registry that has yours, --registry HOST/PATH"
            ));
        }
    }
    Ok(warning)
}

/// Returns what is wrong with the place of an image, all before its tag and digest.
fn fault(image: &str) -> Option<&'static str> {
    let place = image.rsplit_once('/').map_or("", |(place, _)| place);
    if place.contains("://") {
        return Some("is HOST/PATH, without a scheme such as https://");
    }
    place.contains(char::is_uppercase).then_some("may have no capital letters")
}

fn images(object: &Value) -> impl Iterator<Item = &str> {
    let containers = object.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    containers.into_iter().flatten().filter_map(|container| container.get("image")?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(image: &str) -> Result<Option<String>, Error> {
        let containers = json!([{ "name": "manager", "image": image }]);
        let deployment =
            json!({ "kind": "Deployment", "spec": { "template": { "spec": { "containers": containers } } } });
        check(&[json!({ "kind": "Namespace" }), deployment])
    }

    #[test]
    fn images_of_nobody_are_warned_of() {
        let warning = checked("weir/source-controller:v0.1.0").unwrap().unwrap();
        assert!(
            warning.contains("weir/source-controller:v0.1.0") && warning.contains("--registry HOST/PATH")
        );
        for image in ["ghcr.io/weir/source-controller:v0.1.0", "localhost:5000/source-controller:V1"] {
            assert_eq!(checked(image).unwrap(), None, "{image}");
        }
    }

    #[rstest::rstest]
    #[case("https://h.io/weir/source-controller:v0.1.0", "is HOST/PATH, without a scheme such as https://")]
    #[case("h.io/Weir/source-controller:v0.1.0", "may have no capital letters")]
    fn a_registry_that_makes_no_names_is_refused(#[case] image: &str, #[case] fault: &str) {
        let error = checked(image).unwrap_err().to_string();
        assert_eq!(error, format!("invalid image '{image}': --registry {fault}"));
    }
}
