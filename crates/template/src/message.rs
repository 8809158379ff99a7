//! The data of a commit message (7.2) and its rendering.

mod image;

use std::collections::BTreeMap;

use weir_setters::{Change, Image, ObjectId, PolicyName, Update};

use crate::go::{Struct, Template, TemplateError, Value};

/// The message when the manifest has no template.
pub const DEFAULT_MESSAGE: &str = "Update from image update automation";

/// The name under which Go reports errors of the template.
const NAME: &str = "commit message";

/// A parsed commit message template.
#[derive(Debug)]
pub struct Message(Template);

/// Errors that leave a commit without a message; the texts are Flux's and appear in conditions (TP-4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The template does not parse.
    #[error("unable to create commit message template from spec: {0}")]
    Parse(#[source] TemplateError),
    /// The template failed while it ran.
    #[error("failed to run template from spec: {0}")]
    Run(#[source] TemplateError),
}

/// The data that a template can read.
#[derive(Debug)]
pub struct MessageData<'d> {
    /// The namespace of the automation.
    pub namespace: &'d str,
    /// The name of the automation.
    pub name: &'d str,
    /// Changes of the run.
    pub update: &'d Update,
    /// `messageTemplateValues`.
    pub values: &'d BTreeMap<String, String>,
}

impl Message {
    /// Parses a template; an empty one is the default message.
    ///
    /// # Errors
    /// [`MessageError::Parse`].
    pub fn parse(template: &str) -> Result<Self, MessageError> {
        let template = if template.is_empty() { DEFAULT_MESSAGE } else { template };
        Template::parse(NAME, template).map(Self).map_err(MessageError::Parse)
    }

    /// Renders the message, byte for byte what goes into the commit.
    ///
    /// # Errors
    /// [`MessageError::Run`].
    pub fn render(&self, data: &MessageData<'_>) -> Result<String, MessageError> {
        self.0.render(data.value()).map_err(MessageError::Run)
    }
}

impl MessageData<'_> {
    fn value(&self) -> Value {
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

    /// The distinct images behind changes, in the order of the changes.
    fn images(&self, changes: &[&Change]) -> Value {
        let mut seen: Vec<(&PolicyName, &Image)> = Vec::new();
        for found in changes.iter().filter_map(|change| self.update.image(change)) {
            if !seen.contains(&found) {
                seen.push(found);
            }
        }
        let images = seen.into_iter().map(|(policy, image)| image::value(policy, image));
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

#[cfg(test)]
mod tests;
