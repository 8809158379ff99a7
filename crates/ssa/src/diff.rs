//! The changes that an apply would make, found without writing anything (KS-SSA-93). Fields are named, their values
//! are not: a Secret's stay secret.

use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::apply::{Applier, action_of};
use crate::drift::{has_drifted, same};
use crate::request::{Mode, Target};
use crate::secret::hide_values;
use crate::{Action, Error, Manifest, MappingError, ObjectId, Session, Settings};

/// Fields named for one object; more of them help nobody.
const MAX_FIELDS: usize = 200;

/// One object and what an apply would do to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The object.
    pub id: ObjectId,
    /// Change that the apply would make.
    pub action: Action,
    /// JSON pointers of the fields that would change in an object that is there.
    pub fields: Vec<String>,
}

/// One object, and both of its states if an apply would change it.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The object.
    pub id: ObjectId,
    /// Change that the apply would make.
    pub action: Action,
    /// The object as it is, and as it would be; without the lists of field managers. A Secret's values are hidden.
    pub objects: Option<(Value, Value)>,
}

impl Session {
    /// Compares one manifest with the cluster, for people: field managers that an apply would take over are no change.
    ///
    /// # Errors
    /// The server refuses the object.
    pub async fn compare(&self, manifest: Manifest, settings: &Settings) -> Result<Comparison, Error> {
        // Everything is looked at, whatever is in the ledger.
        let session = Self { watched: None, ..self.clone() };
        let cancel = CancellationToken::new();
        let id = manifest.id().clone();
        let (mut applier, manifests) = Applier::prepare(&session, settings, vec![manifest], &cancel);
        applier.is_preview = true;
        let mut comparison = Comparison { id, action: Action::Unknown, objects: None };
        for manifest in manifests {
            let Tried { id, action, states } = applier.tried(manifest).await?;
            comparison = match (action, states) {
                (Action::Configured, Some((live, tried))) if !has_drifted(&live, &tried) => {
                    Comparison { id, action: Action::Unchanged, objects: None }
                }
                (action, states) => {
                    Comparison { id, action, objects: states.map(|(live, tried)| whole(&live, &tried)) }
                }
            };
        }
        Ok(comparison)
    }

    /// Compares the manifests with the cluster, in the order of their apply.
    ///
    /// # Errors
    /// The first object that the server refuses. An object whose kind or namespace the manifests themselves make is none.
    pub async fn diff(
        &self,
        manifests: Vec<Manifest>,
        settings: &Settings,
    ) -> Result<Vec<Difference>, Error> {
        // Everything is looked at, whatever is in the ledger.
        let session = Self { watched: None, ..self.clone() };
        let cancel = CancellationToken::new();
        let (mut applier, manifests) = Applier::prepare(&session, settings, manifests, &cancel);
        applier.is_preview = true;
        let spaces: Vec<String> =
            manifests.iter().map(|manifest| manifest.id().clone()).filter_map(space).collect();
        let mut differences = Vec::with_capacity(manifests.len());
        for manifest in manifests {
            let id = manifest.id().clone();
            let is_new = spaces.contains(&id.namespace) || applier.defines(&id);
            let found = applier.difference(manifest).await;
            match found {
                Err(Error::NotFound { .. }) if is_new => {
                    differences.push(Difference { id, action: Action::Created, fields: Vec::new() });
                }
                found => differences.push(found?),
            }
        }
        Ok(differences)
    }
}

impl Applier<'_> {
    async fn difference(&self, manifest: Manifest) -> Result<Difference, Error> {
        let id = manifest.id().clone();
        let known = self.session.mapper.mapping(&manifest.api_version(), &id.kind).await;
        if matches!(known, Err(MappingError::NoMatch { .. })) && self.defines(&id) {
            return Ok(Difference { id, action: Action::Created, fields: Vec::new() });
        }
        let Tried { id, action, states } = self.tried(manifest).await?;
        let fields = states.map(|(live, tried)| changed_fields(&live, &tried)).unwrap_or_default();
        Ok(Difference { id, action, fields })
    }

    /// Tries the apply of an object.
    async fn tried(&self, manifest: Manifest) -> Result<Tried, Error> {
        let evaluated = self.evaluate(manifest).await?;
        let id = evaluated.manifest.id().clone();
        let action = action_of(&evaluated.plan, None);
        let (Action::Configured, Some(mapping)) = (action, &evaluated.mapping) else {
            return Ok(Tried { id, action, states: None });
        };
        let target = Target { client: &self.session.client, mapping, id: &id };
        let live = target.get().await.map_err(|error| Error::query(&id, &error))?;
        let tried =
            target.apply(&self.settings.field_manager, evaluated.manifest.value(), Mode::DryRun).await;
        let tried = tried.map_err(|error| Error::dry_run(&evaluated.manifest, &error))?;
        Ok(Tried { states: live.map(|live| (live, tried)), id, action })
    }
}

/// An object and the change that an apply would make; its states, before and after, if it is there and would change.
struct Tried {
    id: ObjectId,
    action: Action,
    states: Option<(DynamicObject, DynamicObject)>,
}

/// Both states of an object without field managers, a Secret's values hidden.
fn whole(live: &DynamicObject, tried: &DynamicObject) -> (Value, Value) {
    let [mut live, mut tried] = [live, tried].map(|object| {
        let mut value = serde_json::to_value(object).unwrap_or_default();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
        }
        value
    });
    if tried.get("kind").and_then(Value::as_str) == Some("Secret")
        && tried.get("apiVersion").and_then(Value::as_str) == Some("v1")
    {
        hide_values(&mut live, &mut tried);
    }
    (live, tried)
}

/// Returns JSON pointers of the fields in which two states of an object differ.
pub(crate) fn changed_fields(live: &DynamicObject, tried: &DynamicObject) -> Vec<String> {
    let mut fields = Vec::new();
    collect("", &shown(live), &shown(tried), &mut fields);
    fields
}

/// The namespace that an object makes.
fn space(id: ObjectId) -> Option<String> {
    (id.group.is_empty() && id.kind == "Namespace").then_some(id.name)
}

/// Returns the part of an object that people see: all but the status and the server's part of the metadata.
fn shown(object: &DynamicObject) -> Value {
    let mut value = object.data.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("status");
        let metadata = &object.metadata;
        fields.insert(
            "metadata".to_owned(),
            json!({ "labels": metadata.labels, "annotations": metadata.annotations }),
        );
    }
    value
}

fn collect(path: &str, a: &Value, b: &Value, fields: &mut Vec<String>) {
    if fields.len() >= MAX_FIELDS || same(a, b) {
        return;
    }
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            let keys = left.keys().chain(right.keys().filter(|key| !left.contains_key(*key)));
            for key in keys {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                let path = format!("{path}/{escaped}");
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => collect(&path, left, right, fields),
                    _ => fields.push(path),
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                collect(&format!("{path}/{index}"), left, right, fields);
            }
        }
        _ => fields.push(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_by_pointers() {
        let (a, b) = (
            json!({"data": {"a/b": "1", "c": "1"}, "list": [{"x": 1}, {"x": 2}], "gone": {}, "same": 1}),
            json!({"data": {"a/b": "2", "d": "1"}, "list": [{"x": 1}, {"x": 3}], "same": 1}),
        );
        let mut fields = Vec::new();
        collect("", &a, &b, &mut fields);
        assert_eq!(fields, ["/data/a~1b", "/data/c", "/data/d", "/list/1/x", "/gone"]);
    }
}
