use serde_json::{Map, Value};

use crate::ObjectId;

/// An object to be applied: JSON that is known to have an API version, a kind and a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    value: Value,
    id: ObjectId,
    version: String,
}

/// JSON that is no object of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("object has no {field}")]
pub struct ManifestError {
    /// The field that is missing or no text.
    pub field: &'static str,
}

impl Manifest {
    /// The object as it will be sent.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the identity of the object.
    pub fn id(&self) -> &ObjectId {
        &self.id
    }

    /// Version of its API without the group.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// `group/version`, or `version` for the core group.
    pub fn api_version(&self) -> String {
        join_api_version(&self.id.group, &self.version)
    }

    /// Returns the values of a key in the object's labels and annotations.
    pub(crate) fn marks(&self, key: &str) -> impl Iterator<Item = &str> {
        let of = move |field: &str| self.value.get("metadata")?.get(field)?.get(key)?.as_str();
        [MetadataField::Labels, MetadataField::Annotations]
            .into_iter()
            .filter_map(move |field| of(field.name()))
    }

    /// Sets labels or annotations, over what is there (KS-SSA-2, KS-SSA-6). As in Flux, none of them stays where one is no text
    /// (`version: 1.2`): the API server would refuse the object.
    pub fn set_metadata<'a>(
        &mut self,
        field: MetadataField,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        let mut entries = entries.into_iter().peekable();
        if entries.peek().is_none() {
            return;
        }
        let map = object(object(&mut self.value).entry("metadata").or_insert_with(empty))
            .entry(field.name())
            .or_insert_with(empty);
        let map = object(map);
        if !map.values().all(|value| value.is_string() || value.is_null()) {
            let (name, id, kind) = (field.name(), &self.id, &self.id.kind);
            tracing::warn!(
                kind,
                namespace = id.namespace,
                name = id.name,
                "{name} are left out: not all are text"
            );
            map.clear();
        }
        for (key, value) in entries {
            map.insert(key.to_owned(), Value::String(value.to_owned()));
        }
    }

    /// Takes away the namespace that a build has given to an object of cluster scope (KS-SSA-27).
    pub(crate) fn drop_namespace(&mut self) {
        self.id.namespace.clear();
        if let Some(metadata) = self.value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("namespace");
        }
    }

    pub(crate) fn value_mut(&mut self) -> &mut Value {
        &mut self.value
    }
}

/// The two maps of an object's metadata that people write.
#[derive(Clone, Copy, Debug)]
pub enum MetadataField {
    /// `metadata.labels`
    Labels,
    /// `metadata.annotations`
    Annotations,
}

impl MetadataField {
    fn name(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Annotations => "annotations",
        }
    }
}

impl TryFrom<Value> for Manifest {
    type Error = ManifestError;

    fn try_from(value: Value) -> Result<Self, ManifestError> {
        let (id, version) = Self::identify(&value)?;
        Ok(Self { value, id, version })
    }
}

impl Manifest {
    /// Returns which object it is that JSON describes, and the version of its API without the group.
    ///
    /// # Errors
    /// A field is missing, empty or no text, without which it is no object.
    pub fn identify(value: &Value) -> Result<(ObjectId, String), ManifestError> {
        let text = |at: Option<&Value>, field| {
            let text = at.and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or(ManifestError { field })
        };
        let metadata = value.get("metadata");
        let api_version = text(value.get("apiVersion"), "apiVersion")?;
        let kind = text(value.get("kind"), "kind")?;
        let name = text(metadata.and_then(|metadata| metadata.get("name")), "metadata.name")?;
        let namespace = metadata.and_then(|metadata| metadata.get("namespace")).and_then(Value::as_str);
        let namespace = namespace.unwrap_or_default().to_owned();
        let (group, version) = split_api_version(&api_version);
        let id = ObjectId { namespace, name, group: group.to_owned(), kind };
        Ok((id, version.to_owned()))
    }
}

pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

pub(crate) fn join_api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// The value as an object; anything else in its place is replaced by an empty one.
fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = empty();
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// As Flux has it.
    #[rstest]
    #[case(json!({"a": "b"}), json!({"a": "b", "k": "v"}))]
    #[case(json!({"a": null, "b": "c"}), json!({"a": null, "b": "c", "k": "v"}))]
    #[case(json!({"a": true, "b": "c"}), json!({"k": "v"}))]
    #[case(json!({"a": 1.2}), json!({"k": "v"}))]
    #[case(json!({"a": {"b": "c"}}), json!({"k": "v"}))]
    #[case(json!(["a"]), json!({"k": "v"}))]
    #[case(json!(null), json!({"k": "v"}))]
    fn labels_that_are_no_text_are_left_out(#[case] before: Value, #[case] after: Value) {
        let object = |labels: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}});
        let mut manifest = Manifest::try_from(object(&before)).unwrap();
        manifest.set_metadata(MetadataField::Labels, []);
        assert_eq!(*manifest.value(), object(&before), "nothing is to be set");
        manifest.set_metadata(MetadataField::Labels, [("k", "v")]);
        assert_eq!(*manifest.value(), object(&after));
    }
}
