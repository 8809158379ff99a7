//! Documents as libraries of YAML 1.1 read them that go through JSON: `yes` is a boolean, and of equal keys the last one counts.

use std::collections::HashMap;

use crate::{Entry, Map, Node, Scalar, Style, Tag, Value, yaml11_value};

impl Node {
    /// The same document with its scalars typed as YAML 1.1 types them: `yes` and `off` are booleans, dates are text. Of entries with
    /// equal keys the last one stays.
    #[must_use]
    pub fn as_yaml11(&self) -> Self {
        match self {
            Self::Map(map) => {
                let mut last = HashMap::with_capacity(map.len());
                last.extend(map.entries.iter().enumerate().map(|(at, entry)| (entry.key.text.as_str(), at)));
                let is_last = |at: usize, entry: &Entry| last.get(entry.key.text.as_str()) == Some(&at);
                let kept = map.entries.iter().enumerate().filter(|(at, entry)| is_last(*at, entry));
                let typed = |(_, entry): (usize, &Entry)| Entry {
                    key: entry.key.clone(),
                    value: entry.value.as_yaml11(),
                };
                Self::Map(Map { entries: kept.map(typed).collect() })
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
