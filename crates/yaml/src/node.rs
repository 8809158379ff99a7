//! The node tree: what a YAML document holds, in the order it was written.

use std::collections::HashMap;

use crate::{Text, Value, YamlError};

/// A YAML node. Cloning shares all text, so a copy costs the structure only.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A single value.
    Scalar(Scalar),
    /// Keys and values in file order.
    Map(Map),
    /// A list.
    Seq(Vec<Self>),
}

/// A scalar: raw text plus what decides its type when it is rendered (KZ-603, KZ-606).
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// The text after escapes and folding.
    pub text: Text,
    /// Style in which it was written. Every style but plain makes the value a string.
    pub style: Style,
    /// The type it was read as, or was given by a transformer.
    pub tag: Tag,
}

/// The style in which a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// No quotes.
    Plain,
    /// `'…'`
    Single,
    /// `"…"`
    Double,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// The type of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// Not tagged: the text decides when it is rendered.
    Unset,
    /// `!!null`
    Null,
    /// `!!bool`
    Bool,
    /// `!!int`
    Int,
    /// `!!float`
    Float,
    /// `!!str`
    Str,
    /// `!!timestamp`
    Timestamp,
    /// `!!binary`
    Binary,
    /// A tag of the user's own; the value reads as a string.
    Custom,
}

impl Tag {
    /// The short form that messages use.
    pub fn short(self) -> &'static str {
        match self {
            Self::Unset => "",
            Self::Null => "!!null",
            Self::Bool => "!!bool",
            Self::Int => "!!int",
            Self::Float => "!!float",
            Self::Str => "!!str",
            Self::Timestamp => "!!timestamp",
            Self::Binary => "!!binary",
            Self::Custom => "!",
        }
    }
}

impl Scalar {
    /// A value without tag: its text decides its type.
    pub fn plain(text: impl Into<Text>) -> Self {
        Self { text: text.into(), style: Style::Plain, tag: Tag::Unset }
    }

    /// A value that is a string whatever its text.
    pub fn string(text: impl Into<Text>) -> Self {
        Self { text: text.into(), style: Style::Plain, tag: Tag::Str }
    }

    /// A value with an explicit tag.
    pub fn tagged(text: impl Into<Text>, tag: Tag) -> Self {
        Self { text: text.into(), style: Style::Plain, tag }
    }

    /// An explicit `null`.
    pub fn null() -> Self {
        Self::tagged("null", Tag::Null)
    }

    /// The typed value (KZ-606).
    ///
    /// # Errors
    /// The text does not parse as the tag demands.
    pub fn value(&self) -> Result<Value<'_>, YamlError> {
        crate::resolve::scalar_value(self)
    }

    /// Returns the scalar in brackets as it was before the reference printed it as text, which made a string of it.
    fn before_text(&self) -> Self {
        let is_reread = matches!(self.tag, Tag::Null | Tag::Timestamp);
        Self { style: if is_reread { Style::Plain } else { self.style }, ..self.clone() }
    }

    /// Returns true when the scalar is tagged null. Text that merely looks like it counts when it is rendered.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.tag == Tag::Null
    }
}

/// A mapping, in file order. Lookups see the first of equal keys (KZ-609).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The entries in order.
    pub entries: Vec<Entry>,
}

/// See [`Map::index`].
#[derive(Debug)]
pub struct MapIndex<'m> {
    map: &'m Map,
    positions: Option<HashMap<&'m str, &'m Node>>,
}

impl<'m> MapIndex<'m> {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&'m Node> {
        match &self.positions {
            Some(positions) => positions.get(key).copied(),
            None => self.map.get(key),
        }
    }
}

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key; keys that are not strings keep their text.
    pub key: Scalar,
    /// The value.
    pub value: Node,
}

impl Map {
    /// An empty mapping.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key.text == key).map(|entry| &entry.value)
    }

    /// The value of `key`, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key.text == key).map(|entry| &mut entry.value)
    }

    /// A view for many lookups: by hash where the mapping is large, so that input decides no complexity.
    pub fn index(&self) -> MapIndex<'_> {
        const SMALL: usize = 32;
        let positions = (self.len() > SMALL).then(|| {
            let mut positions = HashMap::with_capacity(self.len());
            for (key, value) in self.iter() {
                // The first of equal keys is the one that lookups see.
                positions.entry(key).or_insert(value);
            }
            positions
        });
        MapIndex { map: self, positions }
    }

    /// Checks that no key stands twice (KZ-609).
    ///
    /// # Errors
    /// The first key that does.
    pub fn reject_duplicates(&self) -> Result<(), YamlError> {
        let mut sorted: Vec<&Entry> = self.entries.iter().collect();
        sorted.sort_by_key(|entry| entry.key.text.as_str());
        crate::emit::reject_duplicates(&sorted)
    }

    /// Returns true when there is an entry for `key`, whatever its value.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets `key`, keeping the place of an existing entry; a new one goes to the end.
    pub fn set(&mut self, key: &str, value: Node) {
        match self.get_mut(key) {
            Some(slot) => *slot = value,
            None => self.entries.push(Entry { key: Scalar::string(key), value }),
        }
    }

    /// Removes every entry for `key` and returns the first one's value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|entry| entry.key.text == key)?;
        let removed = self.entries.remove(at);
        self.entries.retain(|entry| entry.key.text != key);
        Some(removed.value)
    }

    /// The value of `key`, made by `make` when the entry is missing.
    pub fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> Node) -> Option<&mut Node> {
        let at = match self.entries.iter().position(|entry| entry.key.text == key) {
            Some(at) => at,
            None => {
                self.entries.push(Entry { key: Scalar::string(key), value: make() });
                self.entries.len().saturating_sub(1)
            }
        };
        self.entries.get_mut(at).map(|entry| &mut entry.value)
    }

    /// Keys and values in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.entries.iter().map(|entry| (entry.key.text.as_str(), &entry.value))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true when there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Node {
    /// A scalar whose text decides its type.
    pub fn plain(text: impl Into<Text>) -> Self {
        Self::Scalar(Scalar::plain(text))
    }

    /// A string.
    pub fn string(text: impl Into<Text>) -> Self {
        Self::Scalar(Scalar::string(text))
    }

    /// An empty mapping.
    pub fn map() -> Self {
        Self::Map(Map::new())
    }

    /// The node's kind as kyaml's messages name it.
    #[inline]
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Scalar(_) => "ScalarNode",
            Self::Map(_) => "MappingNode",
            Self::Seq(_) => "SequenceNode",
        }
    }

    /// The scalar in this node.
    #[inline]
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text of a scalar node.
    #[inline]
    pub fn text(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| scalar.text.as_str())
    }

    /// The mapping in this node.
    #[inline]
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The mapping in this node, to be changed.
    #[inline]
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list in this node.
    #[inline]
    pub fn as_seq(&self) -> Option<&[Self]> {
        match self {
            Self::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// The list in this node, to be changed.
    pub fn as_seq_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// The value of `key` when this is a mapping that has it.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map().and_then(|map| map.get(key))
    }

    /// The value of `key`, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.as_map_mut().and_then(|map| map.get_mut(key))
    }

    /// Follows map keys from this node.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The text found by following map keys.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path).and_then(Self::text)
    }

    /// Returns true when the node reads as null.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(Scalar::is_null)
    }

    /// A copy of the node as it was read, for where the reference takes it without a trip through text: a missing value in
    /// brackets is null there and not an empty string.
    pub fn before_text(&self) -> Self {
        match self {
            Self::Scalar(scalar) => Self::Scalar(scalar.before_text()),
            Self::Seq(items) => Self::Seq(items.iter().map(Self::before_text).collect()),
            Self::Map(map) => {
                let entry =
                    |entry: &Entry| Entry { key: entry.key.clone(), value: entry.value.before_text() };
                Self::Map(Map { entries: map.entries.iter().map(entry).collect() })
            }
        }
    }

    /// Returns true when the node is a mapping or list without content.
    pub fn is_empty_collection(&self) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::Map(map) => map.is_empty(),
            Self::Seq(items) => items.is_empty(),
        }
    }

    /// A place in a file that lies in or near the node: its first scalar's.
    pub fn position(&self) -> Option<crate::Position> {
        match self {
            Self::Scalar(scalar) => scalar.text.position(),
            Self::Map(map) => map.entries.first().and_then(|entry| entry.key.text.position()),
            Self::Seq(items) => items.first().and_then(Self::position),
        }
    }
}

impl From<Map> for Node {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}
