//! The parts of a live object that the ledger looks at. They are picked while the server's answer is parsed. Of the managed fields, half
//! of the answer, only a hash is kept, and of the spec only what the health depends on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time};
use kube::Resource;
use kube::api::{ApiResource, DynamicObject, ObjectMeta};
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use weir_kstatus::{Assessment, assess};

use self::fields::FieldsHash;
use self::spec::Spec;
use crate::{ObjectId, health};

mod fields;
mod spec;

/// An object as it is in the cluster: all that the ledger looks at, or its metadata alone.
#[derive(Clone, Debug)]
pub(crate) struct LiveObject<const IS_METADATA: bool = false> {
    /// Names, versions, labels and annotations.
    pub(crate) meta: ObjectMeta,
    pub(crate) managers: Vec<Manager>,
    /// The parts that show its health, as JSON.
    body: Value,
}

/// An entry of the managed fields, with a number in the place of the fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manager {
    pub(crate) manager: Option<String>,
    pub(crate) operation: Option<String>,
    pub(crate) api_version: Option<String>,
    pub(crate) subresource: Option<String>,
    pub(crate) time: Option<Time>,
    #[serde(rename = "fieldsV1", default)]
    pub(crate) fields: FieldsHash,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    managed_fields: Option<Vec<Manager>>,
}

impl<const IS_METADATA: bool> LiveObject<IS_METADATA> {
    fn new(meta: ObjectMeta, managers: Vec<Manager>, spec: Value, status: Value) -> Self {
        let body = health::parts(&meta, spec, status);
        Self { meta, managers, body }
    }

    /// Returns the health of the object, whose group and kind come from the id.
    pub(crate) fn assess(&mut self, id: &ObjectId) -> Assessment {
        health::of_kind(&mut self.body, id);
        assess(&self.body, Timestamp::now())
    }

    /// The part of the spec that is kept.
    pub(crate) fn spec(&self) -> Option<&Value> {
        self.body.get("spec")
    }
}

impl<'de, const IS_METADATA: bool> Deserialize<'de> for LiveObject<IS_METADATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object { metadata: found, spec, status } = Object::deserialize(deserializer)?;
        let meta = ObjectMeta {
            name: found.name,
            namespace: found.namespace,
            uid: found.uid,
            resource_version: found.resource_version,
            generation: found.generation,
            creation_timestamp: found.creation_timestamp,
            deletion_timestamp: found.deletion_timestamp,
            labels: found.labels,
            annotations: found.annotations,
            ..ObjectMeta::default()
        };
        Ok(Self::new(meta, found.managed_fields.unwrap_or_default(), spec.0, status))
    }
}

impl From<&DynamicObject> for LiveObject {
    fn from(object: &DynamicObject) -> Self {
        let meta = &object.metadata;
        let managers = meta.managed_fields.iter().flatten().map(Manager::from).collect();
        let (spec, status) = (object.data.get("spec"), object.data.get("status"));
        // Not all of it: managed fields are most of what there is.
        let meta = ObjectMeta {
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            generation: meta.generation,
            creation_timestamp: meta.creation_timestamp.clone(),
            deletion_timestamp: meta.deletion_timestamp.clone(),
            labels: meta.labels.clone(),
            annotations: meta.annotations.clone(),
            ..ObjectMeta::default()
        };
        Self::new(meta, managers, Spec::of(spec).0, status.cloned().unwrap_or_default())
    }
}

impl From<&ManagedFieldsEntry> for Manager {
    fn from(entry: &ManagedFieldsEntry) -> Self {
        Self {
            manager: entry.manager.clone(),
            operation: entry.operation.clone(),
            api_version: entry.api_version.clone(),
            subresource: entry.subresource.clone(),
            time: entry.time.clone(),
            fields: entry.fields_v1.as_ref().map(|fields| FieldsHash::of(&fields.0)).unwrap_or_default(),
        }
    }
}

impl<const IS_METADATA: bool> Resource for LiveObject<IS_METADATA> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(kind: &ApiResource) -> Cow<'_, str> {
        kind.kind.as_str().into()
    }

    fn group(kind: &ApiResource) -> Cow<'_, str> {
        kind.group.as_str().into()
    }

    fn version(kind: &ApiResource) -> Cow<'_, str> {
        kind.version.as_str().into()
    }

    fn plural(kind: &ApiResource) -> Cow<'_, str> {
        kind.plural.as_str().into()
    }

    fn metadata_api() -> bool {
        IS_METADATA
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

#[cfg(test)]
mod tests;
