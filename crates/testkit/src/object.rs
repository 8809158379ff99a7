//! Objects as tests apply them: the least that the API server takes, in the newest version.
//!
//! Intervals are long, so that what happens in a test happens because of the test.

use serde_json::{Value, json};

/// Long enough never to come up in a test.
const INTERVAL: &str = "1h";

/// A GitRepository of the branch `main`.
#[must_use]
pub fn git_repository(name: &str, url: &str) -> Value {
    let spec = json!({"interval": INTERVAL, "url": url, "ref": {"branch": "main"}});
    object("source.toolkit.fluxcd.io/v1", "GitRepository", name, spec)
}

/// An OCIRepository of the tag `v1` in a registry that serves plain HTTP.
#[must_use]
pub fn oci_repository(name: &str, url: &str) -> Value {
    let spec = json!({"interval": INTERVAL, "url": url, "insecure": true, "ref": {"tag": "v1"}});
    object("source.toolkit.fluxcd.io/v1", "OCIRepository", name, spec)
}

/// A Kustomization of a folder of a source that prunes.
#[must_use]
pub fn kustomization(name: &str, source_kind: &str, source: &str, path: &str) -> Value {
    let source = json!({"kind": source_kind, "name": source});
    let spec = json!({"interval": INTERVAL, "path": path, "prune": true, "sourceRef": source});
    object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, spec)
}

/// An ImageRepository in a registry that serves plain HTTP.
#[must_use]
pub fn image_repository(name: &str, image: &str) -> Value {
    let spec = json!({"interval": INTERVAL, "image": image, "insecure": true});
    object("image.toolkit.fluxcd.io/v1", "ImageRepository", name, spec)
}

/// An ImagePolicy that picks the newest of a range of versions.
#[must_use]
pub fn image_policy(name: &str, repository: &str, range: &str) -> Value {
    let spec = json!({"imageRepositoryRef": {"name": repository}, "policy": {"semver": {"range": range}}});
    object("image.toolkit.fluxcd.io/v1", "ImagePolicy", name, spec)
}

/// The same object with further or other fields in its spec.
#[must_use]
pub fn with_spec(mut object: Value, fields: Value) -> Value {
    if let (Some(Value::Object(spec)), Value::Object(fields)) = (object.get_mut("spec"), fields) {
        spec.extend(fields);
    }
    object
}

fn object(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}
