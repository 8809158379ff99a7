//! Values as Flux holds them: a merge shares maps and lists instead of copying them. A value that is put at a path into a map of the
//! release's own values therefore overrides everything, as they do; one that is put into any other map is overridden by them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Number, Value};

/// A map that may be part of several others.
pub(super) type Map = Rc<RefCell<BTreeMap<String, Node>>>;
/// A list that may be part of several maps.
pub(super) type List = Rc<RefCell<Vec<Node>>>;

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Map(Map),
    List(List),
    /// An integer that stood at a path, which is of another type in Flux than the numbers of YAML.
    Integer(i64),
    /// Anything else.
    Scalar(Value),
}

impl Node {
    /// Name of the type in messages of Go.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Map(_) => "map[string]interface {}",
            Self::List(_) => "[]interface {}",
            Self::Integer(_) => "int64",
            Self::Scalar(Value::Null) => "nil",
            Self::Scalar(Value::Bool(_)) => "bool",
            Self::Scalar(Value::Number(_)) => "float64",
            Self::Scalar(_) => "string",
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(fields) => Self::Map(map(fields)),
            Value::Array(items) => {
                Self::List(Rc::new(RefCell::new(items.into_iter().map(Self::from).collect())))
            }
            Value::Number(number) => Self::Scalar(rounded(number).into()),
            scalar => Self::Scalar(scalar),
        }
    }
}

/// Returns a number as releases get it. Helm's are floating-point ones: the last digits of a large integer are noughts.
fn rounded(number: Number) -> Number {
    let is_integer = number.is_i64() || number.is_u64();
    let digits = number.as_f64().filter(|_| is_integer).map(|float| float.to_string());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(number)
}

impl From<&Node> for Value {
    fn from(node: &Node) -> Self {
        match node {
            Node::Map(map) => value(map),
            Node::List(items) => Self::Array(items.borrow().iter().map(Self::from).collect()),
            Node::Integer(number) => Self::from(*number),
            Node::Scalar(scalar) => scalar.clone(),
        }
    }
}

/// Makes a map of the fields of a JSON object.
pub(super) fn map(fields: serde_json::Map<String, Value>) -> Map {
    Rc::new(RefCell::new(fields.into_iter().map(|(key, value)| (key, Node::from(value))).collect()))
}

/// Makes a JSON object of a map.
pub(super) fn value(map: &Map) -> Value {
    Value::Object(map.borrow().iter().map(|(key, node)| (key.clone(), Value::from(node))).collect())
}

/// Puts values over others: maps run together into new ones, everything else is replaced.
pub(super) fn merged(below: &Map, above: &Map) -> Map {
    let mut merged = below.borrow().clone();
    for (key, above) in above.borrow().iter() {
        let node = match (merged.get(key), above) {
            (Some(Node::Map(below)), Node::Map(above)) => Node::Map(self::merged(below, above)),
            _ => above.clone(),
        };
        merged.insert(key.clone(), node);
    }
    Rc::new(RefCell::new(merged))
}
