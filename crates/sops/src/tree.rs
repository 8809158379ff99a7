//! The tree of a document: maps in the order of the file, with their comments.

use std::fmt;

use zeroize::Zeroizing;

/// A value, list or map. `Debug` shows no value.
#[derive(Clone, PartialEq)]
pub enum Node {
    /// A single value.
    Value(Value),
    /// A list.
    List(Vec<Element>),
    /// A map in the order of the file.
    Map(Vec<Member>),
}

/// An entry of a map, or a comment between two.
#[derive(Clone, PartialEq)]
pub enum Member {
    /// A key and its value.
    Entry(String, Node),
    /// A comment.
    Comment(Comment),
}

/// An element of a list, or a comment between two.
#[derive(Clone, PartialEq)]
pub enum Element {
    /// An element.
    Node(Node),
    /// A comment.
    Comment(Comment),
}

/// A comment, without its `#`.
#[derive(Clone, PartialEq)]
pub struct Comment {
    /// The text.
    pub text: Zeroizing<String>,
    /// True when it stands behind the value of the next entry instead of above it.
    pub is_inline: bool,
}

/// A single value. SOPS keeps its type.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `null`; it is never encrypted.
    Null,
    /// Text.
    Text(Zeroizing<String>),
    /// Bytes that are no text.
    Bytes(Zeroizing<Vec<u8>>),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A moment, as RFC 3339 has it.
    Time(Zeroizing<String>),
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value(value) => value.type_name(),
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        })
    }
}

impl Value {
    /// Returns text as a value.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Zeroizing::new(text.into()))
    }

    /// Returns the bytes that are encrypted and counted by the MAC; none for `null`.
    pub(crate) fn bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        let text = match self {
            Self::Null => return None,
            Self::Text(text) | Self::Time(text) => text.as_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.to_vec(),
            Self::Int(number) => number.to_string().into_bytes(),
            Self::Float(f64::INFINITY) => b"+Inf".to_vec(),
            Self::Float(f64::NEG_INFINITY) => b"-Inf".to_vec(),
            Self::Float(number) => number.to_string().into_bytes(),
            Self::Bool(true) => b"True".to_vec(),
            Self::Bool(false) => b"False".to_vec(),
        };
        Some(Zeroizing::new(text))
    }

    /// Returns the name of the type, for errors.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Bool(_) => "a boolean",
            Self::Time(_) => "a timestamp",
        }
    }
}

impl Node {
    /// Returns the value of a key, if this is a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(members) = self else { return None };
        members.iter().find_map(|member| match member {
            Member::Entry(name, node) if name == key => Some(node),
            _ => None,
        })
    }

    /// Returns the text of a value, if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Value(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements of a list; nothing for other nodes.
    pub fn elements(&self) -> impl Iterator<Item = &Self> {
        let elements = if let Self::List(elements) = self { elements.as_slice() } else { &[] };
        elements.iter().filter_map(|element| match element {
            Element::Node(node) => Some(node),
            Element::Comment(_) => None,
        })
    }

    /// Returns the entries of a map; nothing for other nodes.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members = if let Self::Map(members) = self { members.as_slice() } else { &[] };
        members.iter().filter_map(|member| match member {
            Member::Entry(key, node) => Some((key.as_str(), node)),
            Member::Comment(_) => None,
        })
    }
}
