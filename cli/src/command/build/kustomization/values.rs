//! ConfigMaps and Secrets as builds have them, for the variables of other builds.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_api::Kustomization;
use weir_api::kustomize::SubstituteReference;

use super::mask::{MASK, decoded};

/// The values of one object.
pub(crate) type Data = BTreeMap<String, String>;

/// Values by kind, namespace and name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values(BTreeMap<(String, String, String), Data>);

impl Values {
    /// Takes up the ConfigMaps and Secrets among the objects of a build, unless they are encrypted.
    pub(crate) fn extend(&mut self, objects: &[Value]) {
        for object in objects {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            if let Some(data) = data(object) {
                let [kind, namespace, name] = ["/kind", "/metadata/namespace", "/metadata/name"].map(text);
                self.0.insert((kind.to_owned(), namespace.to_owned(), name.to_owned()), data);
            }
        }
    }

    /// The values of what a Kustomization names.
    pub(crate) fn named(
        &self,
        kustomization: &Kustomization,
        reference: &SubstituteReference,
    ) -> Option<Data> {
        let namespace = kustomization.metadata.namespace.clone().unwrap_or_default();
        self.0.get(&(reference.kind.clone(), namespace, reference.name.clone())).cloned()
    }

    /// The values of all that a Kustomization takes variables from.
    pub(crate) fn of(&self, kustomization: &Kustomization) -> Vec<Option<Data>> {
        let references = kustomization.spec.post_build.iter().flat_map(|build| &build.substitute_from);
        references.map(|reference| self.named(kustomization, reference)).collect()
    }
}

/// The values of a ConfigMap, or of a Secret that is not encrypted.
fn data(object: &Value) -> Option<Data> {
    let texts = |field: &str| {
        let values = object.get(field).and_then(Value::as_object).into_iter().flatten();
        values.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
    };
    if object.get("apiVersion")? != "v1" {
        return None;
    }
    match object.get("kind")?.as_str()? {
        "ConfigMap" => Some(texts("data").collect()),
        "Secret" => {
            let mut data: Data =
                texts("data").map(|(name, value)| (name, decoded(&value).unwrap_or_default())).collect();
            data.extend(texts("stringData"));
            Some(data).filter(|data| !data.values().any(|value| value.contains(MASK)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_by_the_reference_to_them() {
        let object = |kind: &str, name: &str, data: Value, texts: Value| {
            let metadata = json!({ "namespace": "a", "name": name });
            json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data, "stringData": texts })
        };
        let mut values = Values::default();
        values.extend(&[
            object("ConfigMap", "vars", json!({ "color": "blue" }), Value::Null),
            object("Secret", "vars", json!({ "x": "YQ==", "y": "Yg==" }), json!({ "y": "c" })),
            object("Secret", "hidden", Value::Null, json!({ "x": "**SOPS**" })),
            object("Service", "vars", json!({ "x": "y" }), Value::Null),
        ]);
        let references = json!([
            { "kind": "ConfigMap", "name": "vars" }, { "kind": "Secret", "name": "vars" },
            { "kind": "Secret", "name": "hidden" }, { "kind": "ConfigMap", "name": "other" },
        ]);
        let kustomization = |namespace: &str| {
            serde_json::from_value(json!({
                "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "metadata": { "namespace": namespace, "name": "apps" },
                "spec": {
                    "interval": "1m", "prune": true, "sourceRef": { "kind": "Bucket", "name": "b" },
                    "postBuild": { "substituteFrom": references },
                },
            }))
            .unwrap()
        };
        let data = |entries: &[(&str, &str)]| -> Option<Data> {
            Some(entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        let expected = [data(&[("color", "blue")]), data(&[("x", "a"), ("y", "c")]), None, None];
        assert_eq!(values.of(&kustomization("a")), expected);
        assert_eq!(values.of(&kustomization("b")), [None, None, None, None]);
    }
}
