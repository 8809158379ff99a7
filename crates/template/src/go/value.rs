//! The values that templates compute with.

use std::{cell::RefCell, cmp::Ordering, collections::BTreeMap, rc::Rc};

use super::print;
use crate::limit::{MAX_ITEMS, MAX_VALUE_DEPTH};

/// A value. Compound values are shared. Only dictionaries change, and those that did are emptied when the run ends
/// ([`Changes`](super::change::Changes)): one that holds itself does not stay in memory.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Nothing: Go's nil, and what a missing key yields.
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    List(Rc<ListValue>),
    Map(Rc<Map>),
    Struct(Rc<Struct>),
}

#[derive(Debug)]
pub(crate) struct ListValue {
    pub(super) go_type: &'static str,
    pub(super) items: Vec<Value>,
    depth: usize,
}

/// A map with its entries in the order of keys.
#[derive(Debug)]
pub(crate) struct Map {
    pub(super) go_type: &'static str,
    entries: RefCell<Vec<(Value, Value)>>,
    /// Of the values it was made with; what `set` put in later is not counted.
    depth: usize,
}

/// Go's type of the maps that templates make.
pub(super) const DICTIONARY: &str = "map[string]interface {}";

/// A Go struct. Templates call its methods without arguments like fields (TP-8).
#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) go_type: &'static str,
    /// The printed form, if it is not that of the fields.
    pub(crate) printed: Option<String>,
    pub(crate) fields: Vec<(&'static str, Value)>,
    pub(crate) methods: Vec<(&'static str, Value)>,
}

impl Struct {
    /// Returns a field, or what a method yields.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let mut all = self.fields.iter().chain(&self.methods);
        all.find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(super) fn has_method(&self, name: &str) -> bool {
        self.methods.iter().any(|(known, _)| *known == name)
    }
}

impl Value {
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Rc::from(text.as_ref()))
    }

    pub(crate) fn structure(value: Struct) -> Self {
        Self::Struct(Rc::new(value))
    }

    /// A list whose items nest at most [`MAX_VALUE_DEPTH`] deep.
    pub(super) fn list(items: Vec<Self>) -> Result<Self, String> {
        if items.len() > MAX_ITEMS {
            return Err(format!("list of more than {MAX_ITEMS} items"));
        }
        let depth = deeper(items.iter())?;
        Ok(Self::List(Rc::new(ListValue { go_type: "[]interface {}", items, depth })))
    }

    /// A list of the data, which never nests deeply.
    pub(crate) fn data_list(go_type: &'static str, items: Vec<Self>) -> Self {
        Self::List(Rc::new(ListValue { go_type, items, depth: 1 }))
    }

    /// A map of the data; the entries come sorted.
    pub(crate) fn data_map(go_type: &'static str, entries: Vec<(Self, Self)>) -> Self {
        Self::Map(Rc::new(Map { go_type, entries: RefCell::new(entries), depth: 1 }))
    }

    /// A dictionary made by a template.
    pub(super) fn dictionary(entries: BTreeMap<String, Self>) -> Result<Self, String> {
        let depth = deeper(entries.values())?;
        let entries = entries.into_iter().map(|(key, value)| (Self::text(key), value)).collect();
        Ok(Self::Map(Rc::new(Map { go_type: DICTIONARY, entries: RefCell::new(entries), depth })))
    }

    fn depth(&self) -> usize {
        match self {
            Self::List(list) => list.depth,
            Self::Map(map) => map.depth,
            _ => 0,
        }
    }

    /// Bytes of a value that nothing holds yet, about; the parts that it shares with others are not counted.
    pub(super) fn own_bytes(&self) -> usize {
        match self {
            Self::Text(text) if Rc::strong_count(text) == 1 => text.len(),
            Self::List(list) if Rc::strong_count(list) == 1 => {
                list.items.iter().map(|item| size_of::<Self>() + item.own_bytes()).sum()
            }
            Self::Map(map) if Rc::strong_count(map) == 1 => {
                let entries = map.entries.borrow();
                entries
                    .iter()
                    .map(|(key, value)| Map::ENTRY_BYTES + key.own_bytes() + value.own_bytes())
                    .sum()
            }
            _ => 0,
        }
    }

    /// Go's truth: not the zero value, not empty; structs always.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.items.is_empty(),
            Self::Map(map) => map.len() > 0,
            Self::Struct(_) => true,
        }
    }

    /// Go's name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::List(list) => list.go_type,
            Self::Map(map) => map.go_type,
            Self::Struct(value) => value.go_type,
        }
    }

    /// Go's name of the kind.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Self::Nil => "invalid",
            Self::List(_) => "slice",
            Self::Map(_) => "map",
            Self::Struct(_) => "struct",
            other => other.type_name(),
        }
    }

    /// The printed form (`%v`).
    pub(super) fn printed(&self) -> Result<String, String> {
        print::value(self)
    }
}

impl ListValue {
    /// A list of the same type with other items.
    pub(super) fn with(&self, items: Vec<Value>) -> Result<Value, String> {
        let depth = deeper(items.iter())?;
        Ok(Value::List(Rc::new(Self { go_type: self.go_type, items, depth })))
    }
}

impl Map {
    pub(super) const ENTRY_BYTES: usize = size_of::<(Value, Value)>();

    pub(super) fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// The entries as they are now.
    pub(super) fn entries(&self) -> Vec<(Value, Value)> {
        self.entries.borrow().clone()
    }

    /// Returns true when the keys are strings, so that they can be named like fields.
    pub(super) fn has_text_keys(&self) -> bool {
        self.go_type.starts_with("map[string]")
    }

    /// Looks a key up; maps whose keys are no strings have none.
    pub(super) fn get(&self, key: &str) -> Option<Value> {
        let entries = self.entries.borrow();
        let place = place(&entries, key).ok()?;
        entries.get(place).map(|(_, value)| value.clone())
    }

    /// Sets an entry of a dictionary. Returns true when it is a new one.
    pub(super) fn set(&self, key: &str, value: Value) -> Result<bool, String> {
        let mut entries = self.entries.borrow_mut();
        match place(&entries, key) {
            Ok(place) => {
                if let Some(entry) = entries.get_mut(place) {
                    entry.1 = value;
                }
                Ok(false)
            }
            Err(_) if entries.len() >= MAX_ITEMS => Err(format!("map of more than {MAX_ITEMS} entries")),
            Err(place) => {
                entries.insert(place, (Value::text(key), value));
                Ok(true)
            }
        }
    }

    /// Takes an entry away, if it is there.
    pub(super) fn unset(&self, key: &str) {
        let mut entries = self.entries.borrow_mut();
        if let Ok(place) = place(&entries, key) {
            entries.remove(place);
        }
    }

    /// Takes all entries away.
    pub(super) fn empty(&self) {
        let entries = self.entries.take();
        drop(entries);
    }
}

/// The place of a key among sorted entries, or where it belongs.
fn place(entries: &[(Value, Value)], key: &str) -> Result<usize, usize> {
    entries.binary_search_by(|(entry, _)| match entry {
        Value::Text(text) => (**text).cmp(key),
        _ => Ordering::Less,
    })
}

/// One more than the deepest of the values, if that is allowed.
fn deeper<'v>(values: impl Iterator<Item = &'v Value>) -> Result<usize, String> {
    let depth = 1 + values.map(Value::depth).max().unwrap_or_default();
    if depth > MAX_VALUE_DEPTH { Err("values nest too deeply".to_owned()) } else { Ok(depth) }
}
