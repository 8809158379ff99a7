//! Objects as programs read them: as kubectl prints them, without the lists of field managers.

use clap::ValueEnum;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::error::Error;
use crate::kind::Kind;
use crate::output::manifest;

/// Form of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// JSON: a List, or the object if one is named.
    Json,
    /// YAML: a List, or the object if one is named.
    Yaml,
    /// A line for each object: resource.group/name.
    Name,
}

impl Form {
    /// Returns one object.
    pub(super) fn one(self, kind: &Kind, object: &DynamicObject) -> Result<String, Error> {
        match self {
            Self::Name => Ok(format!("{}\n", name(kind, object))),
            form => form.document(&value(kind, object)?),
        }
    }

    /// Returns several objects as one document, or a line for each.
    pub(super) fn list<'a>(
        self,
        objects: impl Iterator<Item = (&'a Kind, &'a DynamicObject)>,
    ) -> Result<String, Error> {
        if self == Self::Name {
            return Ok(objects.map(|(kind, object)| format!("{}\n", name(kind, object))).collect());
        }
        let items: Result<Vec<_>, _> = objects.map(|(kind, object)| value(kind, object)).collect();
        self.document(&json!({ "apiVersion": "v1", "items": items?, "kind": "List", "metadata": { "resourceVersion": "" } }))
    }

    fn document(self, value: &Value) -> Result<String, Error> {
        if self == Self::Yaml {
            return manifest::yaml(value);
        }
        Ok(serde_json::to_string_pretty(value).map_err(std::io::Error::from)? + "\n")
    }
}

fn name(kind: &Kind, object: &DynamicObject) -> String {
    format!("{}.{}/{}", kind.name.to_lowercase(), kind.group, object.name_any())
}

/// Returns an object with its kind, which items of lists lack.
fn value(kind: &Kind, object: &DynamicObject) -> Result<Value, Error> {
    let mut object = object.clone();
    object.metadata.managed_fields = None;
    let resource = kind.api_resource();
    object.types = Some(kube::api::TypeMeta { api_version: resource.api_version, kind: resource.kind });
    Ok(serde_json::to_value(object).map_err(std::io::Error::from)?)
}
