//! Sprig's lists; every function makes a new one. The names with `must` differ in nothing here: Go's templates
//! report a panic of the others as they report an error.

use std::collections::HashSet;

use super::{CallError, Form, Function, at, failed, int, list, logic};
use crate::go::value::{ListValue, Value};

pub(super) fn find(name: &str) -> Option<Function> {
    end(name).or_else(|| chosen(name)).or_else(|| made(name))
}

/// Functions that take the ends of a list.
fn end(name: &str) -> Option<Function> {
    match name {
        "first" | "mustFirst" => {
            Function::exactly(1, |a| Ok(or_nil(list(a, 0, "Cannot find first on type")?.items.first())))
        }
        "last" | "mustLast" => {
            Function::exactly(1, |a| Ok(or_nil(list(a, 0, "Cannot find last on type")?.items.last())))
        }
        "rest" | "mustRest" => {
            Function::exactly(1, |a| made_of(list(a, 0, "Cannot find rest on type")?.items.iter().skip(1)))
        }
        "initial" | "mustInitial" => Function::exactly(1, |a| {
            let items = &list(a, 0, "Cannot find initial on type")?.items;
            made_of(items.iter().take(items.len().saturating_sub(1)))
        }),
        // Texts are for Go's own `slice`, which sprig's hides.
        "slice" => Function::at_least(1, |a| match at(a, 0) {
            Value::Text(_) => super::builtin::slice(a),
            _ => sliced(a),
        }),
        "mustSlice" => Function::at_least(1, sliced),
        _ => None,
    }
}

/// Functions that choose among the items.
fn chosen(name: &str) -> Option<Function> {
    match name {
        "compact" | "mustCompact" => Function::exactly(1, |a| {
            let items = &list(a, 0, "Cannot compact on type")?.items;
            made_of(items.iter().filter(|item| !logic::is_empty(item)))
        }),
        "uniq" | "mustUniq" => Function::exactly(1, |a| {
            let (mut kept, mut seen) = (Vec::new(), HashSet::new());
            for item in &list(a, 0, "Cannot find uniq on type")?.items {
                if seen.insert(Form::of(item)?) {
                    kept.push(item.clone());
                }
            }
            Ok(Value::list(kept)?)
        }),
        "without" | "mustWithout" => Function::at_least(1, |a| {
            let omitted = a.iter().skip(1).map(Form::of).collect::<Result<HashSet<_>, _>>()?;
            let mut kept = Vec::new();
            for item in &list(a, 0, "Cannot find without on type")?.items {
                if !omitted.contains(&Form::of(item)?) {
                    kept.push(item.clone());
                }
            }
            Ok(Value::list(kept)?)
        }),
        "has" | "mustHas" => Function::exactly(2, |a| match at(a, 1) {
            Value::Nil => Ok(Value::Bool(false)),
            _ => has(&list(a, 1, "Cannot find has on type")?.items, at(a, 0)),
        }),
        _ => None,
    }
}

/// Functions that make a list.
fn made(name: &str) -> Option<Function> {
    match name {
        "list" | "tuple" => Function::at_least(0, |a| made_of(a)),
        "reverse" | "mustReverse" => {
            Function::exactly(1, |a| made_of(list(a, 0, "Cannot find reverse on type")?.items.iter().rev()))
        }
        "append" | "push" | "mustAppend" | "mustPush" => Function::exactly(2, |a| {
            made_of(list(a, 0, "Cannot push on type")?.items.iter().chain([at(a, 1)]))
        }),
        "prepend" | "mustPrepend" => Function::exactly(2, |a| {
            let items = &list(a, 0, "Cannot prepend on type")?.items;
            made_of([at(a, 1)].into_iter().chain(items))
        }),
        "concat" => Function::at_least(0, |a| {
            let mut items = Vec::new();
            for (index, value) in a.iter().enumerate() {
                let refusal = || failed(format!("Cannot concat type {} as list", value.kind_name()));
                match value {
                    Value::List(list) => items.extend(list.items.iter().cloned()),
                    Value::Nil => return list(a, index, "").map(|_| Value::Nil),
                    _ => return refusal(),
                }
            }
            Ok(Value::list(items)?)
        }),
        "chunk" | "mustChunk" => Function::exactly(2, |a| {
            let ListValue { items, .. } = list(a, 1, "Cannot chunk type")?;
            let size = usize::try_from(int(a, 0)?).unwrap_or_default();
            if size == 0 {
                return failed("chunk size must be positive");
            }
            let chunks = items.chunks(size).map(|chunk| Value::list(chunk.to_vec()));
            Ok(Value::list(chunks.collect::<Result<_, _>>()?)?)
        }),
        _ => None,
    }
}

fn or_nil(item: Option<&Value>) -> Value {
    item.cloned().unwrap_or(Value::Nil)
}

fn made_of<'v>(items: impl IntoIterator<Item = &'v Value>) -> Result<Value, CallError> {
    Ok(Value::list(items.into_iter().cloned().collect())?)
}

fn has(items: &[Value], wanted: &Value) -> Result<Value, CallError> {
    let wanted = Form::of(wanted)?;
    for item in items {
        if Form::of(item)? == wanted {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// `slice list [from [to]]`; nothing comes of an empty list.
fn sliced(arguments: &[Value]) -> Result<Value, CallError> {
    let items = &list(arguments, 0, "list should be type of slice or array but")?.items;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let bound = |index: usize, otherwise: usize| match arguments.get(index) {
        None => otherwise,
        Some(bound) => usize::try_from(super::math::whole(bound)).unwrap_or(usize::MAX),
    };
    match items.get(bound(1, 0)..bound(2, items.len())) {
        Some(part) => Ok(Value::list(part.to_vec())?),
        None => failed("reflect.Value.Slice: slice index out of bounds"),
    }
}
