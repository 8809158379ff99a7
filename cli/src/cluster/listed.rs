//! Objects of the toolkit as listings have them.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::api::{DynamicObject, TypeMeta};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// An object without its lists of field managers, a third of an answer, which are skipped. [`DynamicObject`] itself would read them, and
/// all other fields twice, because it flattens them.
#[derive(Debug, Clone)]
pub(super) struct Listed(pub(super) DynamicObject);

/// The same without its inventory, which has a line for each object that a Kustomization has applied.
#[derive(Debug, Clone)]
pub(super) struct Brief(pub(super) DynamicObject);

/// `metadata` without `managedFields`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    annotations: Option<BTreeMap<String, String>>,
    creation_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<Vec<String>>,
    generate_name: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    name: Option<String>,
    namespace: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    resource_version: Option<String>,
    uid: Option<String>,
}

impl From<Metadata> for ObjectMeta {
    fn from(read: Metadata) -> Self {
        Self {
            annotations: read.annotations,
            creation_timestamp: read.creation_timestamp,
            deletion_grace_period_seconds: read.deletion_grace_period_seconds,
            deletion_timestamp: read.deletion_timestamp,
            finalizers: read.finalizers,
            generate_name: read.generate_name,
            generation: read.generation,
            labels: read.labels,
            name: read.name,
            namespace: read.namespace,
            owner_references: read.owner_references,
            resource_version: read.resource_version,
            uid: read.uid,
            ..Self::default()
        }
    }
}

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields { is_brief: false }).map(Self)
    }
}

impl<'de> Deserialize<'de> for Brief {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields { is_brief: true }).map(Self)
    }
}

/// Reads the fields of an object as they come.
struct Fields {
    is_brief: bool,
}

impl<'de> Visitor<'de> for Fields {
    type Value = DynamicObject;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<DynamicObject, A::Error> {
        let (mut api_version, mut kind) = (None, None);
        let (mut metadata, mut data) = (Metadata::default(), Map::new());
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                "apiVersion" => api_version = Some(fields.next_value()?),
                "kind" => kind = Some(fields.next_value()?),
                "metadata" => metadata = fields.next_value()?,
                "status" if self.is_brief => {
                    let BriefStatus(status) = fields.next_value()?;
                    data.insert(name, status.into());
                }
                _ => drop(data.insert(name, fields.next_value()?)),
            }
        }
        let types = api_version.zip(kind).map(|(api_version, kind)| TypeMeta { api_version, kind });
        Ok(DynamicObject { types, metadata: metadata.into(), data: data.into() })
    }
}

/// `status` without `inventory`.
struct BriefStatus(Map<String, Value>);

impl<'de> Deserialize<'de> for BriefStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(StatusFields).map(Self)
    }
}

struct StatusFields;

impl<'de> Visitor<'de> for StatusFields {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a status")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Map<String, Value>, A::Error> {
        let mut status = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name == "inventory" {
                fields.next_value::<IgnoredAny>()?;
            } else {
                status.insert(name, fields.next_value()?);
            }
        }
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_read_whole_but_for_its_field_managers() {
        let mut object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": {
                "annotations": { "a": "b" },
                "creationTimestamp": "2022-02-03T01:37:54Z",
                "deletionGracePeriodSeconds": 0,
                "deletionTimestamp": "2022-02-03T01:37:55Z",
                "finalizers": ["finalizers.fluxcd.io"],
                "generateName": "unit-",
                "generation": 2,
                "labels": { "c": "d" },
                "managedFields": [{ "manager": "weir", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": {} } }],
                "name": "unit-0",
                "namespace": "apps",
                "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "e", "uid": "f" }],
                "resourceVersion": "7",
                "uid": "0123",
            },
            "spec": { "interval": "10m" },
            "status": { "conditions": [], "inventory": { "entries": [] } },
        });
        let Listed(read) = serde_json::from_str(&object.to_string()).unwrap();
        object["metadata"].as_object_mut().unwrap().shift_remove("managedFields");
        assert_eq!(serde_json::to_value(read).unwrap(), object);
        let Brief(read) = serde_json::from_str(&object.to_string()).unwrap();
        object["status"].as_object_mut().unwrap().shift_remove("inventory");
        assert_eq!(serde_json::to_value(read).unwrap(), object);
    }
}
