//! A tree of objects, and its forms.

use serde_json::{Value, json};
use weir_ssa::ObjectId;

/// An object and what it applies.
pub(super) struct Node {
    /// The object.
    pub(super) id: ObjectId,
    /// The objects that it applies, in the order of its status.
    pub(super) children: Vec<Self>,
}

impl Node {
    /// An object that applies nothing.
    pub(super) fn leaf(id: ObjectId) -> Self {
        Self { id, children: Vec::new() }
    }

    /// Returns the tree as people read it, one line an object.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n", self.id.subject());
        self.branches("", &mut text);
        text
    }

    fn branches(&self, indent: &str, text: &mut String) {
        for (index, child) in self.children.iter().enumerate() {
            let is_last = index + 1 == self.children.len();
            let (branch, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
            text.push_str(&format!("{indent}{branch}{}\n", child.id.subject()));
            child.branches(&format!("{indent}{below}"), text);
        }
    }

    /// Returns the tree as programs read it.
    pub(super) fn value(&self) -> Value {
        let ObjectId { namespace, name, group, kind } = &self.id;
        let mut value = json!({ "resource": {
            "Namespace": namespace,
            "Name": name,
            "GroupKind": { "Group": group, "Kind": kind },
        } });
        let children: Vec<_> = self.children.iter().map(Self::value).collect();
        if let Some(fields) = value.as_object_mut().filter(|_| !children.is_empty()) {
            fields.insert("resources".to_owned(), Value::Array(children));
        }
        value
    }
}
