//! The entries that transformers write into the metadata of a resource.

use weir_yaml::{Map, Node, Scalar, Style, Tag, resolve};

use super::Resource;

impl Resource {
    /// `metadata`, made when it is missing.
    pub(crate) fn metadata_mut(&mut self) -> Option<&mut Map> {
        let map = self.node.as_map_mut()?;
        let metadata = map.get_or_insert_with("metadata", Node::map)?;
        if metadata.is_null() {
            *metadata = Node::map();
        }
        metadata.as_map_mut()
    }

    /// Sets a text field of `metadata`.
    pub(crate) fn set_metadata(&mut self, key: &str, text: &str) {
        if let Some(metadata) = self.metadata_mut() {
            set_text(metadata, key, text);
        }
    }

    /// Makes strings of all values of `metadata.<section>`, as the reference does whenever it writes labels or
    /// annotations anew; a section without entries goes (KZ-1316).
    pub(crate) fn stringify(&mut self, section: &str) {
        self.shared.forget_below(&["metadata", section]);
        let Some(metadata) = self.node.get_mut("metadata").and_then(Node::as_map_mut) else { return };
        match metadata.get_mut(section) {
            None => {}
            Some(Node::Map(map)) if !map.is_empty() => {
                for entry in &mut map.entries {
                    // The text of the node counts, and only scalars have one.
                    let text = entry.value.text().unwrap_or_default();
                    entry.value =
                        Node::Scalar(Scalar { style: style_of_string(text), ..Scalar::string(text) });
                }
            }
            Some(_) => drop(metadata.remove(section)),
        }
    }

    /// Sets or removes the namespace.
    pub(crate) fn set_namespace(&mut self, namespace: &str) {
        if !namespace.is_empty() {
            self.set_metadata("namespace", namespace);
        } else if let Some(metadata) = self.node.get_mut("metadata").and_then(Node::as_map_mut) {
            metadata.remove("namespace");
        }
    }

    /// Makes sure that there is a mapping of annotations, where the reference keeps its notes; an empty one is taken out
    /// at the end.
    pub(crate) fn ensure_annotations(&mut self) {
        let metadata = self.metadata_mut();
        metadata.and_then(|metadata| metadata.get_or_insert_with("annotations", Node::map));
        self.open_annotations();
    }

    /// Makes a mapping of annotations that are null. The reference hangs entries below the null, and does so at the end.
    pub(crate) fn open_annotations(&mut self) {
        let metadata = self.node.get_mut("metadata");
        if let Some(annotations) = metadata.and_then(|metadata| metadata.get_mut("annotations"))
            && annotations.is_null()
        {
            *annotations = Node::map();
        }
    }

    /// A label or annotation.
    pub(crate) fn metadata_entry(&self, section: &str, key: &str) -> Option<&str> {
        self.node.text_at(&["metadata", section, key])
    }
}

/// Sets a text field; an existing scalar keeps its style (KZ-705).
fn set_text(map: &mut Map, key: &str, text: &str) {
    set(map, key, text, style_of_string(text));
}

/// Sets a field that the reference makes without quotes, whatever its text: an empty one is null.
pub(super) fn set_plain(map: &mut Map, key: &str, text: &str) {
    set(map, key, text, Style::Plain);
}

fn set(map: &mut Map, key: &str, text: &str, style_of_new: Style) {
    let old = map.get(key).and_then(Node::as_scalar);
    let style = old.map_or(style_of_new, |scalar| scalar.style);
    map.set(key, Node::Scalar(Scalar { text: text.into(), style, tag: Tag::Unset }));
}

/// The style in which the reference makes a string: quoted when YAML 1.1 would read something else (KZ-705).
fn style_of_string(text: &str) -> Style {
    match resolve(text, weir_yaml::Schema::Yaml11).0 {
        Tag::Str => Style::Plain,
        _ => Style::Double,
    }
}
