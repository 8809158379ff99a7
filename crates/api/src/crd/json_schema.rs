//! JSON schemas of the kinds, for programs that check manifests without a cluster (MAN-05).

use serde_json::{Value, json};

use super::{CrdError, Definition};

/// The schema of one version of a kind.
#[derive(Clone, Debug)]
pub struct JsonSchema {
    /// Name of its file, by which such programs find it: `<kind>-<first part of the group>-<version>.json`.
    pub file: String,
    /// The schema. Unknown fields are errors.
    pub schema: Value,
}

/// The schemas of all versions of all kinds.
///
/// # Errors
/// As [`super::all`].
pub fn json_schemas() -> Result<Vec<JsonSchema>, CrdError> {
    let mut all = Vec::new();
    for definition in super::all()? {
        all.extend(of(&definition)?);
    }
    Ok(all)
}

fn of(definition: &Definition) -> Result<Vec<JsonSchema>, CrdError> {
    let text = |pointer: &str| definition.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, group) = (text("/spec/names/kind"), text("/spec/group"));
    let shape = |part| CrdError::Shape { kind: kind.to_owned(), part };
    let versions = definition.object.pointer("/spec/versions").and_then(Value::as_array);
    let schema = |version: &Value| {
        let name = version.get("name").and_then(Value::as_str).ok_or_else(|| shape("name"))?;
        let schema = version.pointer("/schema/openAPIV3Schema").ok_or_else(|| shape("schema"))?;
        let mut schema = schema.clone();
        close(&mut schema);
        let file = format!("{kind}-{}-{name}.json", group.split('.').next().unwrap_or_default());
        Ok(JsonSchema { file: file.to_lowercase(), schema })
    };
    versions.ok_or_else(|| shape("versions"))?.iter().map(schema).collect()
}

/// Refuses unknown fields, at every depth, where the API server would drop them.
fn close(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    let keeps_unknown = keywords.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
    if keywords.contains_key("properties") && !keeps_unknown {
        keywords.insert("additionalProperties".to_owned(), json!(false));
    }
    keywords.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten().for_each(
        |(_, field)| {
            close(field);
        },
    );
    for part in ["items", "additionalProperties"] {
        keywords.get_mut(part).into_iter().for_each(close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_kind_group_and_version() {
        let files: Vec<String> = json_schemas().unwrap().into_iter().map(|schema| schema.file).collect();
        insta::assert_snapshot!(files.join("\n"));
    }

    #[test]
    fn unknown_fields_are_errors_where_the_api_server_drops_them() {
        let all = json_schemas().unwrap();
        let bucket = &all.iter().find(|schema| schema.file == "bucket-source-v1.json").unwrap().schema;
        assert_eq!(bucket["additionalProperties"], false);
        let spec = &bucket["properties"]["spec"];
        assert_eq!(spec["additionalProperties"], false);
        assert_eq!(spec["properties"]["secretRef"]["additionalProperties"], false);
        assert!(
            bucket["properties"]["metadata"].get("additionalProperties").is_none(),
            "it has no fields here"
        );
        let release =
            &all.iter().find(|schema| schema.file == "kustomization-kustomize-v1.json").unwrap().schema;
        let substitute =
            &release["properties"]["spec"]["properties"]["postBuild"]["properties"]["substitute"];
        assert_eq!(substitute["additionalProperties"]["type"], "string");
    }
}
