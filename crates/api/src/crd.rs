//! CustomResourceDefinitions: the schemas of all served versions.
//!
//! ```text
//! Rust types --schemars--> schema of the stored version --clean--> as Flux's
//!                                     |--edits--> schema of each older version
//! ```
//!
//! The types of this crate are the stored version. The differences of each older version stand beside it as a list of
//! edits, row by row as the specification lists them. Conversion between versions is `None`: only the `apiVersion`
//! changes (SRC-API-6, KS-API-6, GEN-2, NTF-136).

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceConversion;
use kube::CustomResourceExt;
use serde_json::{Map, Value, json};

use crate::{COMPONENT_LABEL, KUSTOMIZE_SUBSTITUTE_KEY, PART_OF_LABEL};

mod clean;
mod edit;
mod image;
mod json_schema;
mod kustomize;
mod notification;
mod source;
#[cfg(test)]
mod tests;

use self::edit::Edit;
pub use self::json_schema::{JsonSchema, json_schemas};

/// Errors of making the definitions; any of these is a mistake in this crate, which its tests find.
#[derive(Debug, thiserror::Error)]
pub enum CrdError {
    /// A type does not serialise.
    #[error("write schema of {kind}: {source}")]
    Serialize {
        /// The kind.
        kind: String,
        /// The error of serde.
        source: serde_json::Error,
    },
    /// A definition is no YAML.
    #[error("write {name} as yaml: {message}")]
    Yaml {
        /// The definition.
        name: String,
        /// The writer's message.
        message: String,
    },
    /// A definition lacks a part that every definition has.
    #[error("definition of {kind} has no {part}")]
    Shape {
        /// The kind.
        kind: String,
        /// The missing part.
        part: &'static str,
    },
    /// An edit of an older version names a field that the newer one does not have.
    #[error("{kind} {version}: no field {path}")]
    NoSuchField {
        /// The kind.
        kind: String,
        /// The older version.
        version: &'static str,
        /// The path of the edit.
        path: String,
    },
}

/// A definition, ready to be installed.
#[derive(Clone, Debug)]
pub struct Definition {
    /// `<plural>.<group>`.
    pub name: String,
    /// Name of its file in `deploy/kustomize/crds`, as Flux names it: `<group>_<plural>.yaml`.
    pub file: String,
    /// The object.
    pub object: Value,
}

impl Definition {
    /// The definition as a YAML document.
    ///
    /// # Errors
    /// When the object cannot be written.
    pub fn to_yaml(&self) -> Result<String, CrdError> {
        let yaml = serde_saphyr::to_string(&self.object)
            .map_err(|error| CrdError::Yaml { name: self.name.clone(), message: error.to_string() })?;
        Ok(format!("---\n# Made by weir-crds from the types in crates/api.\n{yaml}"))
    }
}

/// All definitions, ordered by group and kind.
///
/// # Errors
/// Never, unless this crate is wrong; see [`CrdError`].
pub fn all() -> Result<Vec<Definition>, CrdError> {
    let mut all = Vec::new();
    all.extend(image::definitions()?);
    all.extend(kustomize::definitions()?);
    all.extend(notification::definitions()?);
    all.extend(source::definitions()?);
    Ok(all)
}

/// An older version that stays served.
struct Older {
    version: &'static str,
    edits: Vec<Edit>,
    /// Older versions of Alert and Provider had a status with the usual columns (NTF-139).
    gains_status: bool,
}

impl Older {
    fn new(version: &'static str, edits: impl IntoIterator<Item = Edit>) -> Self {
        Self { version, edits: edits.into_iter().collect(), gains_status: false }
    }

    fn with_status(mut self) -> Self {
        self.gains_status = true;
        self
    }
}

/// Builds the definition of a kind from its type and its older versions, newest first.
fn definition<K: CustomResourceExt>(component: &str, older: Vec<Older>) -> Result<Definition, CrdError> {
    let mut crd = K::crd();
    let (kind, group, plural) =
        (crd.spec.names.kind.clone(), crd.spec.group.clone(), crd.spec.names.plural.clone());
    let name = format!("{plural}.{group}");
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    // Descriptions have `${…}` in them, which the substitution of a Kustomization would eat (KS-API-2, GEN-3).
    crd.metadata.annotations = Some([pair(KUSTOMIZE_SUBSTITUTE_KEY, "disabled")].into());
    crd.metadata.labels = Some([pair(COMPONENT_LABEL, component), pair(PART_OF_LABEL, "flux")].into());
    crd.spec.names.list_kind = Some(format!("{kind}List"));
    crd.spec.conversion =
        Some(CustomResourceConversion { strategy: "None".to_owned(), ..CustomResourceConversion::default() });
    let mut object =
        serde_json::to_value(crd).map_err(|source| CrdError::Serialize { kind: kind.clone(), source })?;
    clean::clean(&mut object);

    let shape = |part| CrdError::Shape { kind: kind.clone(), part };
    let versions = object.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    let versions = versions.ok_or_else(|| shape("versions"))?;
    let stored = versions.first_mut().ok_or_else(|| shape("versions"))?;
    complete_root(stored).ok_or_else(|| shape("schema"))?;
    let stored = stored.clone();
    for version in older {
        versions.push(older_version(&kind, &stored, version)?);
    }
    clean::sort(&mut object);
    Ok(Definition { name, file: format!("{group}_{plural}.yaml"), object })
}

/// Declares what every object has, and nothing as required: an object without a spec is accepted (KS-API-5).
fn complete_root(version: &mut Value) -> Option<()> {
    let schema = version.pointer_mut("/schema/openAPIV3Schema")?.as_object_mut()?;
    schema.remove("required");
    let properties = schema.get_mut("properties")?.as_object_mut()?;
    for (name, text) in [
        ("apiVersion", "APIVersion defines the versioned schema of this representation of an object."),
        ("kind", "Kind is a string value representing the REST resource this object represents."),
    ] {
        properties.insert(name.to_owned(), json!({ "type": "string", "description": text }));
    }
    properties.insert("metadata".to_owned(), json!({ "type": "object" }));
    Some(())
}

/// The stored version, edited into an older one.
fn older_version(kind: &str, stored: &Value, older: Older) -> Result<Value, CrdError> {
    let mut version = stored.clone();
    let storage_version = stored.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(fields) = version.as_object_mut() else {
        return Err(CrdError::Shape { kind: kind.to_owned(), part: "version" });
    };
    fields.insert("name".to_owned(), json!(older.version));
    fields.insert("storage".to_owned(), json!(false));
    fields.insert("deprecated".to_owned(), json!(true));
    let warning = format!("{} {kind} is deprecated, upgrade to {storage_version}", older.version);
    fields.insert("deprecationWarning".to_owned(), json!(warning));
    if older.gains_status {
        fields.insert("subresources".to_owned(), json!({ "status": {} }));
        if let Some(columns) = fields.get_mut("additionalPrinterColumns").and_then(Value::as_array_mut) {
            columns.push(ready_column("Ready", "status"));
            columns.push(ready_column("Status", "message"));
        }
    }
    let schema = version.pointer_mut("/schema/openAPIV3Schema");
    let schema = schema.ok_or_else(|| CrdError::Shape { kind: kind.to_owned(), part: "schema" })?;
    for edit in older.edits {
        edit.apply(schema).map_err(|path| CrdError::NoSuchField {
            kind: kind.to_owned(),
            version: older.version,
            path,
        })?;
    }
    if let Some(status) = schema.pointer_mut("/properties/status") {
        keep_unknown_fields(status);
    }
    Ok(version)
}

/// Lets the status of an older version hold fields that only the stored one has, at every depth (AV-1). All versions show what is
/// stored; where a field does not fit the schema of a version, the API server forgets which manager set which field of the object.
fn keep_unknown_fields(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    if keywords.contains_key("properties") {
        keywords.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flatten().for_each(|(_, property)| keep_unknown_fields(property));
    if let Some(items) = keywords.get_mut("items") {
        keep_unknown_fields(items);
    }
}

fn ready_column(name: &str, field: &str) -> Value {
    json!({ "name": name, "type": "string", "jsonPath": format!(r#".status.conditions[?(@.type=="Ready")].{field}"#) })
}

/// The cleaned schema of a type, for fields that only older versions have.
fn schema_of<T: schemars::JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings
        .with_transform(kube::core::schema::StructuralSchemaRewriter)
        .into_generator()
        .into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    clean::clean(&mut schema);
    schema
}

/// A string field with a description.
fn string(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// An object schema with these properties.
fn object(description: &str, properties: Map<String, Value>, required: &[&str]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("description".to_owned(), json!(description));
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}
