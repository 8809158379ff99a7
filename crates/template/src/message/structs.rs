//! The data of a commit message as Go's structs and maps, for Go templates.

use std::collections::BTreeMap;

use weir_setters::{Change, Image, ObjectId, PolicyName};

use super::{MessageData, image::Reference};
use crate::go::{Struct, Value};

impl MessageData<'_> {
    /// Makes the data of Go templates (7.2).
    pub(super) fn structs(&self) -> Value {
        let values = self.values.iter().map(|(key, value)| (Value::text(key), Value::text(value)));
        Value::structure(Struct {
            go_type: "source.TemplateData",
            printed: None,
            fields: vec![
                ("AutomationObject", namespaced_name(self.namespace, self.name)),
                ("Changed", self.changed()),
                ("Values", Value::data_map("map[string]string", values.collect())),
            ],
            // Removed by Flux, so that it is not printed with the rest.
            methods: vec![("Updated", self.updated())],
        })
    }

    fn changed(&self) -> Value {
        let files =
            self.update.files().into_iter().map(|(file, objects)| (Value::text(file), changes_of(objects)));
        let changes = self.update.changes().into_iter().map(change).collect();
        Value::structure(Struct {
            go_type: "update.Result",
            printed: None,
            fields: vec![(
                "FileChanges",
                Value::data_map("map[string]update.ObjectChanges", files.collect()),
            )],
            methods: vec![
                ("Objects", changes_of(self.update.objects())),
                ("Changes", Value::data_list("[]update.Change", changes)),
                ("ImageResult", self.updated()),
            ],
        })
    }

    /// The older view of a run: images, not values. Flux removed it in v2.7; manifests still use it.
    fn updated(&self) -> Value {
        let files = self.update.files().into_iter().map(|(file, objects)| {
            let objects = Value::structure(Struct {
                go_type: "update.FileResult",
                printed: None,
                fields: vec![("Objects", self.images_of(objects))],
                methods: Vec::new(),
            });
            (Value::text(file), objects)
        });
        let images = self.images(&self.update.changes());
        Value::structure(Struct {
            go_type: "update.Result",
            printed: None,
            fields: vec![("Files", Value::data_map("map[string]update.FileResult", files.collect()))],
            methods: vec![("Objects", self.images_of(self.update.objects())), ("Images", images)],
        })
    }

    fn images_of(&self, objects: BTreeMap<&ObjectId, Vec<&Change>>) -> Value {
        let entries = objects.into_iter().map(|(id, changes)| (object(id), self.images(&changes)));
        Value::data_map("map[update.ObjectIdentifier][]update.ImageRef", entries.collect())
    }

    fn images(&self, changes: &[&Change]) -> Value {
        let images = self.distinct_images(changes).into_iter().map(image);
        Value::data_list("[]update.ImageRef", images.collect())
    }
}

/// Kubernetes' `types.NamespacedName`.
fn namespaced_name(namespace: &str, name: &str) -> Value {
    let printed = format!("{namespace}/{name}");
    Value::structure(Struct {
        go_type: "types.NamespacedName",
        fields: vec![("Namespace", Value::text(namespace)), ("Name", Value::text(name))],
        methods: vec![("String", Value::text(&printed))],
        printed: Some(printed),
    })
}

fn changes_of(objects: BTreeMap<&ObjectId, Vec<&Change>>) -> Value {
    let entries = objects.into_iter().map(|(id, changes)| {
        (object(id), Value::data_list("[]update.Change", changes.into_iter().map(change).collect()))
    });
    Value::data_map("update.ObjectChanges", entries.collect())
}

fn object(id: &ObjectId) -> Value {
    Value::structure(Struct {
        go_type: "update.ObjectIdentifier",
        printed: Some(format!("{{{{{{{} {}}} {{{} {}}}}}}}", id.api_version, id.kind, id.name, id.namespace)),
        fields: vec![
            ("APIVersion", Value::text(&id.api_version)),
            ("Kind", Value::text(&id.kind)),
            ("Name", Value::text(&id.name)),
            ("Namespace", Value::text(&id.namespace)),
        ],
        methods: Vec::new(),
    })
}

fn change(change: &Change) -> Value {
    Value::structure(Struct {
        go_type: "update.Change",
        printed: None,
        fields: vec![
            ("OldValue", Value::text(&change.old)),
            ("NewValue", Value::text(&change.new)),
            ("Setter", Value::text(&change.setter)),
        ],
        methods: Vec::new(),
    })
}

/// An image reference; it prints as it is written into manifests.
fn image((policy, image): (&PolicyName, &Image)) -> Value {
    let printed = image.to_string();
    let reference = Reference::of(image);
    Value::structure(Struct {
        go_type: "update.ImageRef",
        fields: vec![
            ("String", Value::text(&printed)),
            ("Name", Value::text(reference.name)),
            ("Registry", Value::text(reference.registry)),
            ("Repository", Value::text(reference.repository)),
            ("Identifier", Value::text(reference.identifier)),
            ("Policy", namespaced_name(&policy.namespace, &policy.name)),
        ],
        printed: Some(printed),
        methods: Vec::new(),
    })
}
