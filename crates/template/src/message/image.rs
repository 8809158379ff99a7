//! Image references as the older templates see them.

use weir_setters::{Image, PolicyName};

use super::namespaced_name;
use crate::go::{Struct, Value};

/// The registry of names that have none.
const DEFAULT_REGISTRY: &str = "index.docker.io";

/// Makes an image reference; it prints as it is written into manifests.
pub(super) fn value(policy: &PolicyName, image: &Image) -> Value {
    let (registry, repository) = split(&image.name);
    let (identifier, separator) = image.digest.as_ref().map_or((&image.tag, ':'), |digest| (digest, '@'));
    let printed = image.to_string();
    Value::structure(Struct {
        go_type: "update.ImageRef",
        fields: vec![
            ("String", Value::text(&printed)),
            ("Name", Value::text(format!("{registry}/{repository}{separator}{identifier}"))),
            ("Registry", Value::text(registry)),
            ("Repository", Value::text(&repository)),
            ("Identifier", Value::text(identifier)),
            ("Policy", namespaced_name(&policy.namespace, &policy.name)),
        ],
        printed: Some(printed),
        methods: Vec::new(),
    })
}

/// Splits a name into registry and repository, with Docker Hub's defaults (IR-6).
fn split(name: &str) -> (&str, String) {
    match name.split_once('/') {
        Some(("docker.io" | DEFAULT_REGISTRY, rest)) => (DEFAULT_REGISTRY, hub_repository(rest)),
        Some((host, rest)) if host == "localhost" || host.contains(['.', ':']) => (host, rest.to_owned()),
        _ => (DEFAULT_REGISTRY, hub_repository(name)),
    }
}

fn hub_repository(path: &str) -> String {
    if path.contains('/') { path.to_owned() } else { format!("library/{path}") }
}
