//! The entries of `replacements` (KZ-1101).

use weir_yaml::Node;

use super::decode::decodes;
use super::decoder::DecodeError;
use super::{Decode, Decoder, Selector, decode_struct};

/// One replacement, inline or in a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replacement {
    /// A file that holds one replacement or a list of them; empty when it is inline.
    pub path: String,
    /// The field whose value is copied.
    pub source: Option<ReplacementSource>,
    /// A fixed value instead of a field.
    pub source_value: Option<String>,
    /// Fields that get the value.
    pub targets: Vec<ReplacementTarget>,
}

/// `source`: one resource by exact id, and a field of it (KZ-1103).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the fields of the file")]
pub struct ReplacementSource {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
    pub field_path: String,
    pub options: Option<ValueOptions>,
}

/// `options` of a source or target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValueOptions {
    /// Splits the value.
    pub delimiter: String,
    /// The part that is meant.
    pub index: i64,
    /// Accepted and ignored.
    pub encoding: String,
    /// Missing fields are made.
    pub create: bool,
}

/// One of `targets` (KZ-1106).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplacementTarget {
    /// The resources to change.
    pub select: Option<Selector>,
    /// Resources left out of the selection.
    pub reject: Vec<Selector>,
    /// The fields to set, `metadata.name` when empty.
    pub field_paths: Vec<String>,
    /// The way in which the value is put in.
    pub options: Option<ValueOptions>,
}

/// A selector of replacement targets.
pub type TargetSelector = Selector;

decodes!(Replacement as "ReplacementField" { path = "path" } inline {
    source = "source", source_value = "sourceValue", targets = "targets",
});
decodes!(ReplacementSource as "SourceSelector" { field_path = "fieldPath", options = "options" } inline {
    group = "group", version = "version", kind = "kind", name = "name", namespace = "namespace",
});
decodes!(ValueOptions as "FieldOptions" {
    delimiter = "delimiter", index = "index", encoding = "encoding", create = "create",
});
decodes!(ReplacementTarget as "TargetSelector" {
    select = "select", reject = "reject", field_paths = "fieldPaths", options = "options",
});

/// A replacement that stands in a file of its own: none of its fields are embedded ones.
#[derive(Default)]
pub(crate) struct FiledReplacement(pub(crate) Replacement);

impl Decode for FiledReplacement {
    fn go_type() -> String {
        "types.Replacement".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        decode_struct("Replacement", node, decoder, |fields, decoder| {
            Ok(Self(Replacement {
                path: String::new(),
                source: fields.take("source", decoder)?,
                source_value: fields.take("sourceValue", decoder)?,
                targets: fields.take("targets", decoder)?,
            }))
        })
    }
}
