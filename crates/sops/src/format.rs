//! The formats of files (KS-SOPS-6).

mod dotenv;
mod ini;
mod json;
mod yaml;

use zeroize::Zeroizing;

use crate::error::{FormatError, MetadataError};
use crate::metadata::{self, Metadata};
use crate::tree::{Member, Node, Value};

/// Bytes of an encrypted file that is read: 64 MiB, as of manifests. Services have smaller limits of their own.
const MAX_BYTES: usize = 64 << 20;
/// Levels of a document; walks over it are recursive. JSON's reader has the same limit.
const MAX_DEPTH: usize = 128;
/// Prefix of the metadata's keys in a format without any nesting.
const FLAT_PREFIX: &str = "sops_";

/// A format of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// YAML, of one or more documents.
    Yaml,
    /// JSON with an object at its root.
    Json,
    /// `KEY=value` lines.
    Dotenv,
    /// INI.
    Ini,
    /// Any bytes, as one value.
    Binary,
}

impl Format {
    /// Returns the format that a file's name stands for; binary for unknown ones (KS-DEC-21).
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        let has = |suffix: &str| path.ends_with(suffix);
        if has(".yaml") || has(".yml") {
            Self::Yaml
        } else if has(".json") {
            Self::Json
        } else if has(".env") {
            Self::Dotenv
        } else if has(".ini") {
            Self::Ini
        } else {
            Self::Binary
        }
    }

    /// Returns the format of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Yaml, Self::Json, Self::Dotenv, Self::Ini, Self::Binary]
            .into_iter()
            .find(|format| format.name() == name)
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Json => "json",
            Self::Dotenv => "dotenv",
            Self::Ini => "ini",
            Self::Binary => "binary",
        }
    }

    /// Returns true when bytes look like an encrypted document of this format (KS-DEC-22). Compact JSON counts too.
    #[must_use]
    pub fn is_marked(self, bytes: &[u8]) -> bool {
        let markers: &[&str] = match self {
            Self::Yaml => &["mac: ENC["],
            Self::Json | Self::Binary => &["\"mac\": \"ENC[", "\"mac\":\"ENC["],
            Self::Dotenv => &["sops_mac=ENC["],
            Self::Ini => &["[sops]"],
        };
        markers.iter().any(|marker| contains(bytes, marker.as_bytes()))
    }

    /// Returns the format whose marker the bytes have. A document of another format may hold one as a value, so that the order
    /// counts.
    #[must_use]
    pub fn of_content(bytes: &[u8]) -> Option<Self> {
        [Self::Binary, Self::Dotenv, Self::Ini, Self::Yaml].into_iter().find(|format| format.is_marked(bytes))
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Reads the documents of a file; encrypted binary data is JSON.
pub(crate) fn read(bytes: &[u8], format: Format) -> Result<Vec<Node>, FormatError> {
    if bytes.len() > MAX_BYTES {
        return Err(FormatError::TooLarge { size: bytes.len(), limit: MAX_BYTES });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| FormatError::Utf8)?;
    match format {
        Format::Yaml => yaml::read(text),
        Format::Json | Format::Binary => json::read(text),
        Format::Dotenv => dotenv::read(text),
        Format::Ini => ini::read(text),
    }
}

/// Writes documents; of binary data the bytes themselves.
pub(crate) fn write(trees: &[Node], format: Format) -> Result<Zeroizing<Vec<u8>>, FormatError> {
    let empty = Node::Map(Vec::new());
    let first = trees.first().unwrap_or(&empty);
    match format {
        Format::Yaml => yaml::write(trees),
        Format::Json => json::write(first),
        Format::Dotenv => dotenv::write(first),
        Format::Ini => ini::write(first),
        Format::Binary => match first.get("data") {
            Some(Node::Value(Value::Text(text))) => Ok(Zeroizing::new(text.as_bytes().to_vec())),
            Some(Node::Value(Value::Bytes(bytes))) => Ok(bytes.clone()),
            _ => Err(FormatError::NoData),
        },
    }
}

/// Takes the metadata out of the documents. Of YAML, the first has it.
pub(crate) fn take_metadata(trees: &mut [Node], format: Format) -> Result<Metadata, MetadataError> {
    let Some(Node::Map(members)) = trees.first_mut() else { return Err(MetadataError::NotFound) };
    if format == Format::Dotenv {
        let (own, rest): (Vec<Member>, Vec<Member>) = std::mem::take(members)
            .into_iter()
            .partition(|member| matches!(member, Member::Entry(key, _) if key.starts_with(FLAT_PREFIX)));
        *members = rest;
        if own.is_empty() {
            return Err(MetadataError::NotFound);
        }
        let own = Node::Map(own);
        let flat = own.entries().filter_map(|(key, node)| Some((key.strip_prefix(FLAT_PREFIX)?, node)));
        return Metadata::read(&metadata::unflatten(flat)?);
    }
    let is_own = |member: &Member| matches!(member, Member::Entry(key, _) if key == metadata::KEY);
    let at = members.iter().position(is_own).ok_or(MetadataError::NotFound)?;
    let Member::Entry(_, node) = members.remove(at) else { return Err(MetadataError::NotFound) };
    if members.iter().any(is_own) {
        return Err(MetadataError::Repeated);
    }
    // Other documents of a file have a copy.
    for tree in trees.iter_mut().skip(1) {
        if let Node::Map(members) = tree {
            members.retain(|member| !is_own(member));
        }
    }
    if format == Format::Ini {
        let unescaped: Vec<(&str, Node)> = node
            .entries()
            .map(|(key, value)| {
                let text = value.as_text().unwrap_or_default().replace("\\n", "\n");
                (key, Node::Value(Value::text(text)))
            })
            .collect();
        return Metadata::read(&metadata::unflatten(unescaped.iter().map(|(key, node)| (*key, node)))?);
    }
    Metadata::read(&node)
}

/// Returns the documents with the metadata as it lies in files of the format.
pub(crate) fn with_metadata(trees: &[Node], metadata: &Metadata, format: Format) -> Vec<Node> {
    let mut trees = trees.to_vec();
    let node = metadata::to_node(metadata);
    if format == Format::Ini || format == Format::Dotenv {
        let mut flat = Vec::new();
        for (key, value) in node.entries() {
            metadata::flatten(value, key, &mut flat);
        }
        flat.sort_by(|a, b| a.0.cmp(&b.0));
        let is_dotenv = format == Format::Dotenv;
        let entries = flat.into_iter().map(|(key, value)| {
            let key = if is_dotenv { format!("{FLAT_PREFIX}{key}") } else { key };
            let value = match value {
                Value::Text(text) if !is_dotenv => Value::text(text.replace('\n', "\\n")),
                other => other,
            };
            Member::Entry(key, Node::Value(value))
        });
        let entries: Vec<Member> = entries.collect();
        if let Some(Node::Map(members)) = trees.first_mut() {
            match is_dotenv {
                true => members.extend(entries),
                false => members.push(Member::Entry(metadata::KEY.to_owned(), Node::Map(entries))),
            }
        }
        return trees;
    }
    if let Some(Node::Map(members)) = trees.first_mut() {
        members.push(Member::Entry(metadata::KEY.to_owned(), node));
    }
    trees
}

/// Returns a value as formats without types write it.
fn plain_text(value: &Value) -> Zeroizing<String> {
    match value {
        Value::Text(text) | Value::Time(text) => text.clone(),
        Value::Null => Zeroizing::new("<nil>".to_owned()),
        Value::Bytes(bytes) => Zeroizing::new(String::from_utf8_lossy(bytes).into_owned()),
        Value::Int(number) => Zeroizing::new(number.to_string()),
        Value::Float(number) => {
            let mut text = Zeroizing::new(weir_yaml::format_float64(*number));
            text.make_ascii_uppercase();
            // A number stays one that is not whole.
            if text.contains(['.', 'E']) { text } else { Zeroizing::new(format!("{number:.1}")) }
        }
        Value::Bool(flag) => Zeroizing::new(flag.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Formats without types show that a number is not whole, as SOPS does.
    #[rstest]
    #[case(1.0, "1.0")]
    #[case(-3.25, "-3.25")]
    #[case(1e6, "1E+06")]
    #[case(5e-324, "5E-324")]
    fn numbers_as_text(#[case] number: f64, #[case] text: &str) {
        assert_eq!(*plain_text(&Value::Float(number)), text);
    }
}
