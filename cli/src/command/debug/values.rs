//! The values that a chart is rendered with: those of ConfigMaps and Secrets in their order, then the release's own.

mod assignment;
mod shared;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};
use serde::Deserialize;
use serde_json::Value;
use weir_yaml::{YamlError, read_first_document};

use crate::cluster::Cluster;
use crate::error::Error;

/// A ConfigMap or Secret with values.
#[derive(Debug, PartialEq, Deserialize)]
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
    let references =
        release.data.pointer("/spec/valuesFrom").cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    let references: Vec<Reference> = serde_json::from_value(references).map_err(std::io::Error::from)?;
    let namespace = release.namespace().unwrap_or_default();
    let mut read = Vec::new();
    let mut unread = None;
    for reference in references {
        match reference.read(cluster, &namespace).await {
            Ok(Some(data)) => read.push((reference, data)),
            Ok(None) => {}
            Err(error) => {
                unread = Some(error);
                break;
            }
        }
    }
    // A text that is refused is told before a later one that is missing.
    let own = release.data.pointer("/spec/values").and_then(Value::as_object).cloned();
    let values = put_together(own.unwrap_or_default(), &read)
        .map_err(|(reference, reason)| Error::Api(reference.failed(&namespace, &reason)))?;
    unread.map_or(Ok(values), Err)
}

/// Puts the values of references together with the release's own.
fn put_together(
    own: serde_json::Map<String, Value>,
    references: &[(Reference, String)],
) -> Result<Value, (&Reference, String)> {
    let own = shared::map(own);
    let mut values = shared::Map::default();
    for (reference, data) in references {
        let failed = |reason| (reference, reason);
        if reference.target_path.is_empty() {
            values = shared::merged(&values, &shared::map(parse(data).map_err(failed)?));
        } else {
            values = shared::merged(&values, &own);
            reference.put(data, &values).map_err(failed)?;
        }
    }
    Ok(shared::value(&shared::merged(&values, &own)))
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

    /// Puts the referenced text at the target path, in the words of Helm's `--set` with all their meanings unless they are quoted or literal.
    fn put(&self, data: &str, values: &shared::Map) -> Result<(), String> {
        let is_quoted = |quote: char| data.starts_with(quote) && data.ends_with(quote);
        let (text, are_texts) = if self.literal {
            (escaped(data), true)
        } else if is_quoted('\'') || is_quoted('"') {
            (data.trim_matches(['\'', '"']).to_owned(), true)
        } else {
            (data.to_owned(), false)
        };
        assignment::assign(&format!("{}={text}", self.target_path), values, are_texts)
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

/// Takes the meaning from the signs that have one in an assignment.
fn escaped(text: &str) -> String {
    let escaped = |sign: char| {
        let backslash = matches!(sign, '\\' | ',' | '[' | ']' | '{' | '}').then_some('\\');
        backslash.into_iter().chain([sign])
    };
    text.chars().flat_map(escaped).collect()
}

fn parse(text: &str) -> Result<serde_json::Map<String, Value>, String> {
    let refused = |error: YamlError| format!("error converting YAML to JSON: {error}");
    let document = read_first_document("values", text.into()).map_err(refused)?;
    let values = document.map(|document| document.to_json_of_yaml11()).transpose();
    let found = match values.map_err(refused)? {
        None | Some(Value::Null) => return Ok(serde_json::Map::new()),
        Some(Value::Object(values)) => return Ok(values),
        Some(Value::Array(_)) => "array",
        Some(Value::Bool(_)) => "bool",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
    };
    Err(format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type common.Values"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case("a: [", Some("error converting YAML to JSON: yaml: "))]
    #[case(
        "- a",
        Some(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type common.Values"
        )
    )]
    #[case("a: 1", None)]
    #[case("", None)]
    fn text_that_is_no_values_is_refused_with_the_reason(#[case] text: &str, #[case] reason: Option<&str>) {
        let refused = parse(text).err();
        assert_eq!(refused.is_some(), reason.is_some());
        assert!(refused.unwrap_or_default().starts_with(reason.unwrap_or_default()));
    }

    fn reference(path: &str, literal: bool) -> Reference {
        let reference = json!({ "kind": "Secret", "name": "n", "targetPath": path, "literal": literal });
        serde_json::from_value(reference).unwrap()
    }

    /// CLI-DBG01: what Flux's own function makes of the same (`chartutil.ChartValuesFromReferences`).
    #[rstest::rstest]
    #[case::into_a_map_of_the_release(json!({ "image": { "tag": "v3" } }), &[("image.tag", "v4")], json!({ "image": { "tag": "v4" } }))]
    #[case::into_a_map_of_both(json!({ "image": { "tag": "v3" } }), &[("", "image: {pull: true}"), ("image.tag", "v4")], json!({ "image": { "tag": "v3", "pull": true } }))]
    #[case::over_a_plain_value_of_the_release(json!({ "tag": "v3" }), &[("tag", "v4")], json!({ "tag": "v3" }))]
    #[case::into_a_list_of_the_release(json!({ "ports": [1, 2] }), &[("ports[1]", "3")], json!({ "ports": [1, 3] }))]
    #[case::behind_a_list_of_the_release(json!({ "ports": [1, 2] }), &[("ports[2]", "3")], json!({ "ports": [1, 2] }))]
    #[case::once(json!({ "image": { "tag": "v3" } }), &[("image.tag", "v4"), ("image.tag", "v5")], json!({ "image": { "tag": "v4" } }))]
    #[case::large_integers(json!({ "id": 1_234_567_890_123_456_789_u64, "year": 2026 }), &[("", "a: -1234567890123456789"), ("b", "1234567890123456789")], json!({ "id": 1_234_567_890_123_456_800_u64, "year": 2026, "a": -1_234_567_890_123_456_800_i64, "b": 1_234_567_890_123_456_789_u64 }))]
    #[case::the_line_end_stays(json!({}), &[("a", "8080\n")], json!({ "a": "8080\n" }))]
    #[case::quoted(json!({}), &[("a", "'8080'"), ("b", "\"{x,y}\""), ("c", "'")], json!({ "a": "8080", "b": ["x", "y"], "c": "" }))]
    #[case::several(json!({}), &[("a", "1,b=2"), ("c", "{x,y}")], json!({ "a": 1, "b": 2, "c": ["x", "y"] }))]
    #[case::keys_of_yaml_1_1(json!({}), &[("", "{y: 1, 'on': 2, 0x10: 3, 1.50: 4, ~: 5}")], json!({ "true": 1, "on": 2, "16": 3, "1.5": 4, "~": 5 }))]
    #[case::under_values(json!({}), &[("", "a: {b: 1}"), ("a.c", "2"), ("", "a: {c: 3}")], json!({ "a": { "b": 1, "c": 3 } }))]
    fn values_come_together_as_in_flux(
        #[case] own: Value,
        #[case] references: &[(&str, &str)],
        #[case] expected: Value,
    ) {
        let references: Vec<_> =
            references.iter().map(|(path, data)| (reference(path, false), (*data).to_owned())).collect();
        let values = put_together(own.as_object().unwrap().clone(), &references);
        assert_eq!(values.map_err(|(_, reason)| reason), Ok(expected));
    }

    #[test]
    fn a_literal_value_means_itself() {
        let data = "{a}, b=[c]\\ 'd'\n";
        let references = [(reference(r"x\.y.z", true), data.to_owned())];
        let values = put_together(serde_json::Map::new(), &references);
        assert_eq!(values.map_err(|(_, reason)| reason), Ok(json!({ "x.y": { "z": data } })));
    }
}
