//! Sprig's dictionaries: the only values that templates can change, with `set`, `unset` and the merges.

use std::{collections::BTreeMap, rc::Rc};

use super::{CallError, Function, at, dictionary, failed, map, text, texts, walk::Walk};
use crate::go::{
    change::Changes,
    value::{DICTIONARY, Map, Value},
};

pub(super) fn find(name: &str) -> Option<Function> {
    read(name).or_else(|| made(name)).or_else(|| changed(name))
}

/// Functions that look into dictionaries.
fn read(name: &str) -> Option<Function> {
    match name {
        "get" => Function::exactly(2, |a| Ok(map(a, 0)?.get(text(a, 1)?).unwrap_or(Value::text("")))),
        "hasKey" => Function::exactly(2, |a| Ok(Value::Bool(map(a, 0)?.get(text(a, 1)?).is_some()))),
        "keys" => Function::at_least(0, |a| {
            let mut keys = Vec::new();
            for index in 0..a.len() {
                for (key, _) in map(a, index)?.entries() {
                    keys.push(key.printed()?);
                }
            }
            texts(keys)
        }),
        "values" => Function::exactly(1, |a| {
            Ok(Value::list(map(a, 0)?.entries().into_iter().map(|(_, value)| value).collect())?)
        }),
        "pluck" => Function::at_least(1, |a| {
            let key = text(a, 0)?;
            let mut found = Vec::new();
            for index in 1..a.len() {
                found.extend(map(a, index)?.get(key));
            }
            Ok(Value::list(found)?)
        }),
        "dig" => Function::at_least(3, dig),
        _ => None,
    }
}

/// Functions that make a dictionary.
fn made(name: &str) -> Option<Function> {
    match name {
        "dict" => Function::at_least(0, |a| {
            let pairs = a
                .chunks(2)
                .map(|pair| Ok((at(pair, 0).printed()?, pair.get(1).cloned().unwrap_or(Value::text("")))));
            Ok(Value::dictionary(pairs.collect::<Result<_, String>>()?)?)
        }),
        "pick" => Function::at_least(1, |a| kept(a, true)),
        "omit" => Function::at_least(1, |a| kept(a, false)),
        "deepCopy" | "mustDeepCopy" => Function::exactly(1, |a| Ok(copy(at(a, 0), &mut Walk::default())?)),
        _ => None,
    }
}

/// Functions that change their first argument, and return it.
fn changed(name: &str) -> Option<Function> {
    match name {
        "set" => Function::changing(3, Some(3), |a, changes| {
            let (target, key) = (dictionary(a, 0)?, text(a, 1)?);
            changes.set(target, key, at(a, 2).clone())?;
            Ok(Value::Map(Rc::clone(target)))
        }),
        "unset" => Function::changing(2, Some(2), |a, changes| {
            let (target, key) = (dictionary(a, 0)?, text(a, 1)?);
            changes.unset(target, key);
            Ok(Value::Map(Rc::clone(target)))
        }),
        "merge" | "mustMerge" => {
            Function::changing(1, None, |a, changes| Merge { changes, overwrites: false }.all(a))
        }
        "mergeOverwrite" | "mustMergeOverwrite" => {
            Function::changing(1, None, |a, changes| Merge { changes, overwrites: true }.all(a))
        }
        _ => None,
    }
}

/// `pick` and `omit`.
fn kept(arguments: &[Value], are_picked: bool) -> Result<Value, CallError> {
    let names: Vec<&str> =
        (1..arguments.len()).map(|index| text(arguments, index)).collect::<Result<_, _>>()?;
    let mut kept = BTreeMap::new();
    for (key, value) in map(arguments, 0)?.entries() {
        let key = key.printed()?;
        if names.contains(&key.as_str()) == are_picked {
            kept.insert(key, value);
        }
    }
    Ok(Value::dictionary(kept)?)
}

/// `dig "a" "b" otherwise map`.
fn dig(arguments: &[Value]) -> Result<Value, CallError> {
    let keys = arguments.len().saturating_sub(2);
    let mut value = at(arguments, keys + 1).clone();
    for index in 0..keys {
        let key = text(arguments, index)?;
        let Value::Map(map) = &value else {
            let found = value.type_name();
            return failed(format!("interface conversion: interface {{}} is {found}, not {DICTIONARY}"));
        };
        let Some(next) = map.get(key) else { return Ok(at(arguments, keys).clone()) };
        value = next;
    }
    Ok(value)
}

/// Copies all that a template can change.
fn copy(value: &Value, walk: &mut Walk) -> Result<Value, String> {
    walk.into(|walk| match value {
        Value::List(list) => {
            let items = list.items.iter().map(|item| copy(item, walk)).collect::<Result<_, _>>()?;
            Ok(list.with(items)?)
        }
        Value::Map(map) if map.go_type == DICTIONARY => {
            let entry = |(key, item): (Value, Value)| Ok((key.printed()?, copy(&item, walk)?));
            Value::dictionary(map.entries().into_iter().map(entry).collect::<Result<_, String>>()?)
        }
        other => Ok(other.clone()),
    })
}

/// Merges as mergo does: dictionaries in dictionaries too, and what is empty in the target counts as not there.
struct Merge<'c> {
    changes: &'c mut Changes,
    overwrites: bool,
}

impl Merge<'_> {
    /// Merges all arguments into the first.
    fn all(mut self, arguments: &[Value]) -> Result<Value, CallError> {
        let (target, mut walk) = (dictionary(arguments, 0)?, Walk::default());
        for index in 1..arguments.len() {
            self.map(target, map(arguments, index)?, &mut walk)?;
        }
        Ok(Value::Map(Rc::clone(target)))
    }

    fn map(&mut self, target: &Rc<Map>, source: &Map, walk: &mut Walk) -> Result<(), String> {
        for (key, value) in source.entries() {
            let Value::Text(key) = key else { continue };
            walk.into(|walk| self.entry(target, &key, value, walk))?;
        }
        Ok(())
    }

    fn entry(&mut self, target: &Rc<Map>, key: &str, value: Value, walk: &mut Walk) -> Result<(), String> {
        let known = target.get(key);
        if let (Some(Value::Map(inner)), Value::Map(source)) = (&known, &value)
            && inner.go_type == DICTIONARY
        {
            self.map(inner, source, walk)?;
            if inner.len() > 0 {
                return Ok(());
            }
        }
        let is_free = !matches!(value, Value::Nil) && !known.is_some_and(|known| known.is_true());
        if self.overwrites || is_free { self.changes.set(target, key, value) } else { Ok(()) }
    }
}
