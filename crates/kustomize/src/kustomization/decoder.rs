//! Typed decoding of YAML nodes with the rules and words of Go's `encoding/json`, plus places and hints.

use std::collections::BTreeMap;

use weir_yaml::{Entry, Map, Node, Position, Value, json_key, yaml11_value};

/// The strictness with which a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strictness {
    /// Unknown fields fail.
    pub(crate) reject_unknown: bool,
    /// Conversion of numbers and booleans where a string is wanted (KZ-1201).
    pub(crate) coercion: Coercion,
}

/// The conversion of numbers and booleans where a string is wanted. The reference reads its files with several
/// libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coercion {
    /// They fail.
    None,
    /// Their value is printed; fields that a struct has from an embedded one fail.
    Value,
    /// Their text is taken.
    Text,
}

impl Strictness {
    /// Kustomization files: unknown fields and wrong types fail (KZ-203).
    pub(crate) const STRICT: Self = Self { reject_unknown: true, coercion: Coercion::None };
    /// Files of `configurations`: unknown fields fail.
    pub(crate) const KNOWN: Self = Self { reject_unknown: true, coercion: Coercion::Value };
    /// Plugin configurations, replacement files and the file that Flux rewrites: both pass.
    pub(crate) const LENIENT: Self = Self { reject_unknown: false, coercion: Coercion::Value };
    /// Configurations of prefixes and suffixes.
    pub(crate) const TEXTUAL: Self = Self { reject_unknown: false, coercion: Coercion::Text };
}

/// A document that does not have the wanted shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A field that does not exist (KZ-203).
    #[error("json: unknown field \"{field}\"{}", place(.position, .hint))]
    UnknownField {
        /// The field.
        field: String,
        /// Its place.
        position: Option<Position>,
        /// The known field it resembles.
        hint: Option<&'static str>,
    },
    /// A value of another type.
    #[error(
        "json: cannot unmarshal {found} into Go {} of type {wanted}{}",
        destination(owner, path), place(.position, &None)
    )]
    Type {
        /// Kind of the value.
        found: String,
        /// The struct that has the field.
        owner: &'static str,
        /// The path of the field from the top of the document.
        path: String,
        /// The type that was wanted.
        wanted: String,
        /// Place of the value.
        position: Option<Position>,
    },
}

fn destination(owner: &str, path: &str) -> String {
    if path.is_empty() { "value".to_owned() } else { format!("struct field {owner}.{path}") }
}

fn place(position: &Option<Position>, hint: &Option<&'static str>) -> String {
    match (position, hint) {
        (Some(position), Some(hint)) => format!(" ({position}, did you mean \"{hint}\"?)"),
        (Some(position), None) => format!(" ({position})"),
        (None, Some(hint)) => format!(" (did you mean \"{hint}\"?)"),
        (None, None) => String::new(),
    }
}

/// The way through a document, for messages.
#[derive(Debug)]
pub(crate) struct Decoder {
    strictness: Strictness,
    owners: Vec<&'static str>,
    path: Vec<String>,
}

/// A type that can be read from a node. A null or missing field reads as the default.
pub(crate) trait Decode: Sized + Default {
    /// The Go name of the type, for messages.
    fn go_type() -> String;
    /// Reads a node that is not null.
    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError>;
}

impl Decoder {
    pub(crate) fn new(strictness: Strictness) -> Self {
        Self { strictness, owners: Vec::new(), path: Vec::new() }
    }

    /// Reads a whole document.
    pub(crate) fn document<T: Decode>(strictness: Strictness, node: &Node) -> Result<T, DecodeError> {
        T::decode(node, &mut Self::new(strictness))
    }

    fn mismatch<T: Decode>(&self, node: &Node) -> DecodeError {
        DecodeError::Type {
            found: json_name(node),
            owner: self.owners.last().copied().unwrap_or_default(),
            path: self.path.join("."),
            wanted: T::go_type(),
            position: node.position(),
        }
    }
}

/// The name Go gives the JSON form of a node.
fn json_name(node: &Node) -> String {
    match node {
        Node::Map(_) => "object".to_owned(),
        Node::Seq(_) => "array".to_owned(),
        Node::Scalar(scalar) => match yaml11_value(scalar) {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Str(_) => "string".to_owned(),
            Value::Float(_) => format!("number {}", scalar.text),
            Value::Int(_) | Value::Uint(_) => "number".to_owned(),
        },
    }
}

fn is_null(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| yaml11_value(scalar) == Value::Null)
}

/// The fields of one mapping while it is read into a struct.
pub(crate) struct Fields<'n> {
    map: &'n Map,
    known: Vec<&'static str>,
}

/// Reads a mapping into a struct: `read` takes the fields it knows, the rest is unknown.
pub(crate) fn decode_struct<T: Decode>(
    name: &'static str,
    node: &Node,
    decoder: &mut Decoder,
    read: impl FnOnce(&mut Fields<'_>, &mut Decoder) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let Some(map) = node.as_map() else { return Err(decoder.mismatch::<T>(node)) };
    decoder.owners.push(name);
    let mut fields = Fields { map, known: Vec::new() };
    let value = read(&mut fields, decoder)?;
    if decoder.strictness.reject_unknown {
        fields.reject_unknown()?;
    }
    decoder.owners.pop();
    Ok(value)
}

impl Fields<'_> {
    /// The value of a field; of equal keys the last wins, an exact name before one in other letter case (KZ-202).
    pub(crate) fn take<T: Decode>(
        &mut self,
        name: &'static str,
        decoder: &mut Decoder,
    ) -> Result<T, DecodeError> {
        self.known.push(name);
        let entries = || self.map.entries.iter().rev();
        let found = entries()
            .find(|entry| entry.key.text == name)
            .or_else(|| entries().find(|entry| entry.key.text.eq_ignore_ascii_case(name)));
        let Some(entry) = found.filter(|entry| !is_null(&entry.value)) else { return Ok(T::default()) };
        decoder.path.push(name.to_owned());
        let value = T::decode(&entry.value, decoder)?;
        decoder.path.pop();
        Ok(value)
    }

    /// As [`Self::take`], for a field that the reference's struct has from another one: its text must be a string.
    pub(crate) fn take_inline<T: Decode>(
        &mut self,
        name: &'static str,
        decoder: &mut Decoder,
    ) -> Result<T, DecodeError> {
        let outer = decoder.strictness;
        if outer.coercion == Coercion::Value {
            decoder.strictness.coercion = Coercion::None;
        }
        let value = self.take(name, decoder);
        decoder.strictness = outer;
        value
    }

    fn reject_unknown(&self) -> Result<(), DecodeError> {
        let is_known =
            |entry: &&Entry| self.known.iter().any(|name| entry.key.text.eq_ignore_ascii_case(name));
        match self.map.entries.iter().find(|entry| !is_known(entry)) {
            None => Ok(()),
            Some(entry) => Err(DecodeError::UnknownField {
                field: json_key(&entry.key).text.to_string(),
                position: entry.key.text.position(),
                hint: closest(&entry.key.text, &self.known),
            }),
        }
    }
}

/// The known name that differs in at most two letters.
fn closest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    const MAX_TYPOS: usize = 2;
    let distances = known.iter().map(|candidate| (edit_distance(name, candidate), *candidate));
    distances.filter(|(distance, _)| *distance <= MAX_TYPOS).min().map(|(_, candidate)| candidate)
}

/// Levenshtein distance, letter case ignored.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<u8> = right.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, byte) in left.bytes().map(|byte| byte.to_ascii_lowercase()).enumerate() {
        let mut diagonal = std::mem::replace(row.first_mut().unwrap_or(&mut 0), index + 1);
        let mut before = index + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&right) {
            let changed = diagonal + usize::from(byte != *other);
            diagonal = std::mem::replace(cell, changed.min(*cell + 1).min(before + 1));
            before = *cell;
        }
    }
    row.last().copied().unwrap_or_default()
}

impl Decode for String {
    fn go_type() -> String {
        "string".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        let Some(scalar) = node.as_scalar() else { return Err(decoder.mismatch::<Self>(node)) };
        match (yaml11_value(scalar), decoder.strictness.coercion) {
            (Value::Str(text), _) => Ok(text.into_owned()),
            (_, Coercion::None) => Err(decoder.mismatch::<Self>(node)),
            (value, Coercion::Value) => Ok(value.into_text()),
            (_, Coercion::Text) => Ok(scalar.text.to_string()),
        }
    }
}

impl Decode for bool {
    fn go_type() -> String {
        "bool".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        match node.as_scalar().map(yaml11_value) {
            Some(Value::Bool(value)) => Ok(value),
            _ => Err(decoder.mismatch::<Self>(node)),
        }
    }
}

impl Decode for i64 {
    fn go_type() -> String {
        "int64".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        match node.as_scalar().map(yaml11_value) {
            Some(Value::Int(value)) => Ok(value),
            Some(Value::Float(value)) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(value as Self),
            _ => Err(decoder.mismatch::<Self>(node)),
        }
    }
}

impl<T: Decode> Decode for Option<T> {
    fn go_type() -> String {
        T::go_type()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        T::decode(node, decoder).map(Some)
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn go_type() -> String {
        format!("[]{}", T::go_type())
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        let Some(items) = node.as_seq() else { return Err(decoder.mismatch::<Self>(node)) };
        let one = |item| if is_null(item) { Ok(T::default()) } else { T::decode(item, decoder) };
        items.iter().map(one).collect()
    }
}

impl Decode for BTreeMap<String, String> {
    fn go_type() -> String {
        "map[string]string".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        let Some(map) = node.as_map() else { return Err(decoder.mismatch::<Self>(node)) };
        let mut values = Self::new();
        for entry in &map.entries {
            let value = if is_null(&entry.value) {
                String::new()
            } else {
                // Go names the type of the element here.
                String::decode(&entry.value, decoder)?
            };
            values.insert(json_key(&entry.key).text.to_string(), value);
        }
        Ok(values)
    }
}
