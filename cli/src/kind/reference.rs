//! The objects that an object refers to.

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;

use super::Kind;

/// An object that another one refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The part that it plays.
    pub(crate) role: Role,
    /// Kind, as the reference writes it.
    pub(crate) kind: String,
    /// Namespace; that of the referring object where the reference names none.
    pub(crate) namespace: String,
    /// Name.
    pub(crate) name: String,
}

/// The part that an object plays for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It has the files, the chart or the tags.
    Source,
    /// It has to be ready first.
    Dependency,
    /// It sends the messages.
    Provider,
}

/// A field that refers to other objects.
struct Field {
    /// Kind that has it.
    of: &'static str,
    /// JSON pointer to a reference, or to a list of them.
    place: &'static str,
    /// Kind that it refers to, where the reference does not say.
    kind: &'static str,
    role: Role,
}

const FIELDS: [Field; 11] = [
    Field { of: "Kustomization", place: "/spec/sourceRef", kind: "", role: Role::Source },
    Field { of: "Kustomization", place: "/spec/dependsOn", kind: "Kustomization", role: Role::Dependency },
    Field { of: "HelmRelease", place: "/spec/chart/spec/sourceRef", kind: "", role: Role::Source },
    Field { of: "HelmRelease", place: "/spec/chartRef", kind: "", role: Role::Source },
    Field { of: "HelmRelease", place: "/spec/dependsOn", kind: "HelmRelease", role: Role::Dependency },
    Field { of: "HelmChart", place: "/spec/sourceRef", kind: "", role: Role::Source },
    Field { of: "ArtifactGenerator", place: "/spec/sources", kind: "", role: Role::Source },
    Field { of: "ExternalArtifact", place: "/spec/sourceRef", kind: "", role: Role::Source },
    Field { of: "Alert", place: "/spec/providerRef", kind: "Provider", role: Role::Provider },
    Field {
        of: "ImagePolicy",
        place: "/spec/imageRepositoryRef",
        kind: "ImageRepository",
        role: Role::Source,
    },
    Field {
        of: "ImageUpdateAutomation",
        place: "/spec/sourceRef",
        kind: "GitRepository",
        role: Role::Source,
    },
];

/// Returns the objects that an object refers to, in the order of its fields. Incomplete references are left out.
pub(crate) fn references(kind: &Kind, object: &DynamicObject) -> Vec<Reference> {
    let own_namespace = object.namespace().unwrap_or_default();
    let mut found = Vec::new();
    for field in FIELDS.iter().filter(|field| field.of == kind.name) {
        let list = match object.data.pointer(field.place) {
            Some(Value::Array(list)) => list.iter().collect(),
            other => other.into_iter().collect::<Vec<_>>(),
        };
        for reference in list {
            let text =
                |name: &str| reference.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            let (Some(name), kind) = (text("name"), text("kind").unwrap_or(field.kind)) else { continue };
            if !kind.is_empty() {
                let namespace = text("namespace").unwrap_or(&own_namespace).to_owned();
                found.push(Reference {
                    role: field.role,
                    kind: kind.to_owned(),
                    namespace,
                    name: name.to_owned(),
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case("Kustomization", json!({ "sourceRef": { "kind": "Bucket", "name": "a" }, "dependsOn": [{ "name": "b" }, { "name": "c", "namespace": "d" }] }),
        &["Bucket/own/a", "Kustomization/own/b", "Kustomization/d/c"])]
    #[case("ImagePolicy", json!({ "imageRepositoryRef": { "name": "a", "namespace": "b" } }), &["ImageRepository/b/a"])]
    #[case("ImageUpdateAutomation", json!({ "sourceRef": { "kind": "GitRepository", "name": "a" } }), &["GitRepository/own/a"])]
    #[case("Kustomization", json!({ "sourceRef": { "kind": "Bucket" } }), &[])]
    #[case("GitRepository", json!({}), &[])]
    fn references_are_found(#[case] kind: &str, #[case] spec: Value, #[case] expected: &[&str]) {
        let object = json!({ "apiVersion": "x/v1", "kind": kind, "metadata": { "name": "x", "namespace": "own" }, "spec": spec });
        let found = references(Kind::named(kind).unwrap(), &serde_json::from_value(object).unwrap());
        let found: Vec<_> =
            found.iter().map(|found| format!("{}/{}/{}", found.kind, found.namespace, found.name)).collect();
        assert_eq!(found, expected);
    }
}
