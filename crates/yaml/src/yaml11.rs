//! Documents as libraries of YAML 1.1 read them that go through JSON: `yes` is a boolean, and of equal keys the last one counts.

use std::collections::HashSet;

use crate::{Entry, Map, Node, Scalar, Style, Tag, Value, yaml11_value};

impl Node {
    /// The same document with its scalars typed as YAML 1.1 types them: `yes` and `off` are booleans, dates are text. Keys are
    /// what JSON makes of them, and of entries with equal keys the last one stays.
    #[must_use]
    pub fn as_yaml11(&self) -> Self {
        match self {
            Self::Map(map) => {
                let mut seen = HashSet::new();
                let typed = |entry: &Entry| {
                    let key = json_key(&entry.key);
                    let is_last = seen.insert(key.text.to_string());
                    is_last.then(|| Entry { key, value: entry.value.as_yaml11() })
                };
                let mut entries: Vec<Entry> = map.entries.iter().rev().filter_map(typed).collect();
                entries.reverse();
                Self::Map(Map { entries })
            }
            Self::Seq(items) => Self::Seq(items.iter().map(Self::as_yaml11).collect()),
            Self::Scalar(scalar) => match yaml11_value(scalar) {
                Value::Bool(value) => {
                    Self::Scalar(Scalar::tagged(if value { "true" } else { "false" }, Tag::Bool))
                }
                // Dates, and the text of quotes and blocks.
                Value::Str(_) => {
                    Self::Scalar(Scalar { style: Style::Double, tag: Tag::Str, ..scalar.clone() })
                }
                Value::Null | Value::Int(_) | Value::Uint(_) | Value::Float(_) => self.clone(),
            },
        }
    }
}

/// A key as JSON spells it: `yes` is `true` (KZ-202).
pub fn json_key(key: &Scalar) -> Scalar {
    match yaml11_value(key) {
        Value::Str(_) | Value::Null => key.clone(),
        value => Scalar::string(value.into_text()),
    }
}
