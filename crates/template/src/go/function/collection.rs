//! Sprig's lists and dictionaries; every function makes a new value.

use std::collections::BTreeMap;

use super::{CallError, Function, are_equal, at, failed, list, logic, map, text, texts};
use crate::go::value::{Map, Value};

pub(super) fn find(name: &str) -> Option<Function> {
    part(name).or_else(|| made(name)).or_else(|| dictionary(name))
}

/// Functions that take a part of a list.
fn part(name: &str) -> Option<Function> {
    match name {
        "first" => Function::exactly(1, |a| Ok(list(a, 0)?.items.first().cloned().unwrap_or(Value::Nil))),
        "last" => Function::exactly(1, |a| Ok(list(a, 0)?.items.last().cloned().unwrap_or(Value::Nil))),
        "rest" => Function::exactly(1, |a| made_of(list(a, 0)?.items.iter().skip(1))),
        "initial" => Function::exactly(1, |a| {
            let items = &list(a, 0)?.items;
            made_of(items.iter().take(items.len().saturating_sub(1)))
        }),
        "compact" => {
            Function::exactly(1, |a| made_of(list(a, 0)?.items.iter().filter(|item| !logic::is_empty(item))))
        }
        "uniq" => Function::exactly(1, |a| {
            let mut kept: Vec<Value> = Vec::new();
            for item in &list(a, 0)?.items {
                if !contains(&kept, item)? {
                    kept.push(item.clone());
                }
            }
            Ok(Value::list(kept)?)
        }),
        "without" => Function::at_least(1, |a| {
            let omitted = a.get(1..).unwrap_or_default();
            let mut kept = Vec::new();
            for item in &list(a, 0)?.items {
                if !contains(omitted, item)? {
                    kept.push(item.clone());
                }
            }
            Ok(Value::list(kept)?)
        }),
        "has" => Function::exactly(2, |a| match at(a, 1) {
            Value::Nil => Ok(Value::Bool(false)),
            _ => Ok(Value::Bool(contains(&list(a, 1)?.items, at(a, 0))?)),
        }),
        _ => None,
    }
}

/// Functions that make a list.
fn made(name: &str) -> Option<Function> {
    match name {
        "list" | "tuple" => Function::at_least(0, |a| made_of(a)),
        "reverse" => Function::exactly(1, |a| made_of(list(a, 0)?.items.iter().rev())),
        "append" | "push" => Function::exactly(2, |a| made_of(list(a, 0)?.items.iter().chain([at(a, 1)]))),
        "prepend" => Function::exactly(2, |a| made_of([at(a, 1)].into_iter().chain(&list(a, 0)?.items))),
        "concat" => Function::at_least(0, |a| {
            let mut items = Vec::new();
            for index in 0..a.len() {
                items.extend(list(a, index)?.items.iter().cloned());
            }
            Ok(Value::list(items)?)
        }),
        "chunk" => Function::exactly(2, |a| {
            let size = usize::try_from(super::int(a, 0)?).unwrap_or_default();
            if size == 0 {
                return failed("chunk size must be positive");
            }
            let chunks = list(a, 1)?.items.chunks(size).map(|chunk| Value::list(chunk.to_vec()));
            Ok(Value::list(chunks.collect::<Result<_, _>>()?)?)
        }),
        _ => None,
    }
}

fn dictionary(name: &str) -> Option<Function> {
    match name {
        "dict" => Function::at_least(0, |a| {
            let pairs = a
                .chunks(2)
                .map(|pair| Ok((at(pair, 0).printed()?, pair.get(1).cloned().unwrap_or(Value::text("")))));
            Ok(Value::dictionary(pairs.collect::<Result<_, String>>()?)?)
        }),
        "get" => {
            Function::exactly(2, |a| Ok(map(a, 0)?.get(text(a, 1)?).cloned().unwrap_or(Value::text(""))))
        }
        "hasKey" => Function::exactly(2, |a| Ok(Value::Bool(map(a, 0)?.get(text(a, 1)?).is_some()))),
        "keys" => Function::at_least(0, |a| {
            let mut keys = Vec::new();
            for index in 0..a.len() {
                keys.extend(
                    map(a, index)?
                        .entries
                        .iter()
                        .map(|(key, _)| key.printed())
                        .collect::<Result<Vec<_>, _>>()?,
                );
            }
            texts(keys)
        }),
        "values" => Function::exactly(1, |a| made_of(map(a, 0)?.entries.iter().map(|(_, value)| value))),
        "pick" => Function::at_least(1, |a| kept(a, true)),
        "omit" => Function::at_least(1, |a| kept(a, false)),
        "pluck" => Function::at_least(1, |a| {
            let key = text(a, 0)?;
            let mut found = Vec::new();
            for index in 1..a.len() {
                found.extend(map(a, index)?.get(key).cloned());
            }
            Ok(Value::list(found)?)
        }),
        "merge" => Function::at_least(1, |a| {
            let mut merged = BTreeMap::new();
            for index in (0..a.len()).rev() {
                merged.extend(entries(map(a, index)?)?);
            }
            Ok(Value::dictionary(merged)?)
        }),
        "dig" => Function::at_least(3, dig),
        _ => None,
    }
}

fn made_of<'v>(items: impl IntoIterator<Item = &'v Value>) -> Result<Value, CallError> {
    Ok(Value::list(items.into_iter().cloned().collect())?)
}

fn contains(items: &[Value], wanted: &Value) -> Result<bool, CallError> {
    for item in items {
        if are_equal(item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn entries(map: &Map) -> Result<BTreeMap<String, Value>, String> {
    map.entries.iter().map(|(key, value)| Ok((key.printed()?, value.clone()))).collect()
}

/// `pick` and `omit`.
fn kept(arguments: &[Value], are_picked: bool) -> Result<Value, CallError> {
    let names: Vec<&str> =
        (1..arguments.len()).map(|index| text(arguments, index)).collect::<Result<_, _>>()?;
    let mut kept = entries(map(arguments, 0)?)?;
    kept.retain(|key, _| names.contains(&key.as_str()) == are_picked);
    Ok(Value::dictionary(kept)?)
}

/// `dig "a" "b" otherwise map`.
fn dig(arguments: &[Value]) -> Result<Value, CallError> {
    let keys = arguments.len().saturating_sub(2);
    let mut value = at(arguments, keys + 1).clone();
    for index in 0..keys {
        let key = text(arguments, index)?;
        let next = match &value {
            Value::Map(map) => map.get(key).cloned(),
            _ => None,
        };
        let Some(next) = next else { return Ok(at(arguments, keys).clone()) };
        value = next;
    }
    Ok(value)
}
