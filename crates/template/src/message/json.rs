//! The data of a commit message as JSON, for Handlebars templates (TP-11): lists instead of maps, so that their order shows.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weir_setters::{Change, Image, ObjectId, PolicyName};

use super::{MessageData, image::Reference};

impl MessageData<'_> {
    /// Makes the data of Handlebars templates.
    pub(super) fn json(&self) -> Value {
        let changes = self.update.changes();
        let files = self.update.files().into_iter();
        let files = files.map(|(path, of_file)| json!({"path": path, "objects": objects(of_file)}));
        json!({
            "automation": name(self.namespace, self.name),
            "files": files.collect::<Vec<_>>(),
            "objects": objects(self.update.objects()),
            "images": self.distinct_images(&changes).into_iter().map(image).collect::<Vec<_>>(),
            "changes": changes.into_iter().map(change).collect::<Vec<_>>(),
            "values": self.values,
        })
    }
}

fn name(namespace: &str, name: &str) -> Value {
    json!({"namespace": namespace, "name": name})
}

fn objects(objects: BTreeMap<&ObjectId, Vec<&Change>>) -> Vec<Value> {
    let object = |(id, changes): (&ObjectId, Vec<&Change>)| {
        json!({
            "apiVersion": id.api_version,
            "kind": id.kind,
            "name": id.name,
            "namespace": id.namespace,
            "changes": changes.into_iter().map(change).collect::<Vec<_>>(),
        })
    };
    objects.into_iter().map(object).collect()
}

fn change(change: &Change) -> Value {
    json!({"oldValue": change.old, "newValue": change.new, "setter": change.setter})
}

/// `tag` and `digest` are empty where there is none, so that `{{#if digest}}` asks for it.
fn image((policy, image): (&PolicyName, &Image)) -> Value {
    let reference = Reference::of(image);
    json!({
        "ref": image.to_string(),
        "name": reference.name,
        "registry": reference.registry,
        "repository": reference.repository,
        "tag": image.tag,
        "digest": image.digest.as_deref().unwrap_or_default(),
        "identifier": reference.identifier,
        "policy": name(&policy.namespace, &policy.name),
    })
}
