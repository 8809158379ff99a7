//! The values that a chart is rendered with: those of ConfigMaps and Secrets in their order, then the release's own.

mod path;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_yaml::{Limits, Source, YamlError, parse_first_document};

use crate::cluster::Cluster;
use crate::error::Error;

/// A ConfigMap or Secret with values.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    kind: String,
    name: String,
    #[serde(default)]
    values_key: String,
    #[serde(default)]
    target_path: String,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    literal: bool,
}

/// Returns the values of a HelmRelease.
pub(super) async fn of(cluster: &Cluster, release: &DynamicObject) -> Result<Value, Error> {
    let own = release.data.pointer("/spec/values").filter(|values| values.is_object()).cloned();
    let own = own.unwrap_or_else(|| Value::Object(Map::new()));
    let references =
        release.data.pointer("/spec/valuesFrom").cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    let references: Vec<Reference> = serde_json::from_value(references).map_err(std::io::Error::from)?;
    let namespace = release.namespace().unwrap_or_default();
    let mut values = Value::Object(Map::new());
    for reference in references {
        let failed = |reason: &str| Error::Api(reference.failed(&namespace, reason));
        let Some(data) = reference.read(cluster, &namespace).await? else { continue };
        if reference.target_path.is_empty() {
            merge(&mut values, parse(&data).map_err(|reason| failed(&reason))?);
            continue;
        }
        // A value at a path goes over the release's own values.
        merge(&mut values, own.clone());
        let value =
            if reference.literal { Value::String(data) } else { path::value(&data).map_err(failed)? };
        path::set(&mut values, &reference.target_path, value).map_err(|reason| failed(&reason))?;
    }
    merge(&mut values, own);
    Ok(values)
}

impl Reference {
    /// Returns the referenced text; nothing when it is not there and need not be.
    async fn read(&self, cluster: &Cluster, namespace: &str) -> Result<Option<String>, Error> {
        let found = match self.kind.as_str() {
            "ConfigMap" => {
                let api: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), namespace);
                let found = cluster.in_time(api.get(&self.name)).await?;
                found.map(|map| map.data.unwrap_or_default().remove(self.key()))
            }
            "Secret" => {
                let api: Api<Secret> = Api::namespaced(cluster.client.clone(), namespace);
                let found = cluster.in_time(api.get(&self.name)).await?;
                let value = found.map(|secret| secret.data.unwrap_or_default().remove(self.key()));
                value.map(|value| value.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()))
            }
            _ => return Err(Error::Api(self.failed(namespace, "unsupported values reference kind"))),
        };
        let missing = match found {
            Ok(Some(text)) => return Ok(Some(text)),
            Ok(None) => "key not found".to_owned(),
            Err(kube::Error::Api(status)) if status.code == 404 => status.message.clone(),
            Err(error) => return Err(error.into()),
        };
        if self.optional { Ok(None) } else { Err(Error::Api(self.failed(namespace, &missing))) }
    }

    fn key(&self) -> &str {
        if self.values_key.is_empty() { "values.yaml" } else { &self.values_key }
    }

    fn failed(&self, namespace: &str, reason: &str) -> String {
        let optional = if self.optional { " optional" } else { "" };
        let Self { kind, name, .. } = self;
        let key = self.key();
        format!(
            "could not resolve{optional} {kind} chart values reference '{namespace}/{name}' with key '{key}': {reason}"
        )
    }
}

fn parse(text: &str) -> Result<Value, String> {
    let limits = Limits::default();
    let refused = |error: YamlError| format!("error converting YAML to JSON: {error}");
    let source = Source::read("values", text.as_bytes().to_vec(), &limits).map_err(refused)?;
    let document = parse_first_document(&source, &limits).map_err(refused)?;
    let values = document.map(|document| document.to_json_of_yaml11()).transpose();
    match values.map_err(refused)? {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(values @ Value::Object(_)) => Ok(values),
        Some(_) => Err("the values are no mapping".to_owned()),
    }
}

/// Puts values over others: mappings run together, everything else is replaced.
fn merge(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                match below.get_mut(&key) {
                    Some(slot) => merge(slot, value),
                    None => drop(below.insert(key, value)),
                }
            }
        }
        (below, above) => *below = above,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("a: [", Some("error converting YAML to JSON: yaml: "))]
    #[case("- a", Some("the values are no mapping"))]
    #[case("a: 1", None)]
    #[case("", None)]
    fn text_that_is_no_values_is_refused_with_the_reason(#[case] text: &str, #[case] reason: Option<&str>) {
        let refused = parse(text).err();
        assert_eq!(refused.is_some(), reason.is_some());
        assert!(refused.unwrap_or_default().starts_with(reason.unwrap_or_default()));
    }
}
