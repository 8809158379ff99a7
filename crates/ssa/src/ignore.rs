//! Fields that an apply leaves to others (`spec.ignore`, KS-SSA-70..74).
//!
//! Their differences are no drift. When the object is applied for another reason, such a field is left out of what is sent if
//! another manager applies it; otherwise it is sent as it is in the cluster.

use std::borrow::Cow;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;

use crate::drift::same;

type Find = Arc<dyn Fn(&DynamicObject) -> Vec<String> + Send + Sync>;

/// The rules that tell which fields of an object are left to others; none by default. Clones share them.
#[derive(Clone, Default)]
pub struct IgnoreRules {
    find: Option<Find>,
    fingerprint: u64,
}

impl IgnoreRules {
    /// Rules that find the JSON pointers (RFC 6901) of an object as the server's dry run returns it. `fingerprint` differs where
    /// other rules do.
    pub fn new(
        fingerprint: u64,
        find: impl Fn(&DynamicObject) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Self { find: Some(Arc::new(find)), fingerprint }
    }

    /// True when no field is left to others.
    pub(crate) fn is_empty(&self) -> bool {
        self.find.is_none()
    }

    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The pointers of an object.
    pub(crate) fn of(&self, tried: &DynamicObject) -> Vec<String> {
        self.find.as_ref().map(|find| find(tried)).unwrap_or_default()
    }
}

/// Takes fields out of an object; a pointer that leads nowhere takes nothing, and the whole object is no field (KS-SSA-71).
pub(crate) fn without<'a>(object: &'a DynamicObject, pointers: &[String]) -> Cow<'a, DynamicObject> {
    let value = if pointers.is_empty() { None } else { serde_json::to_value(object).ok() };
    let Some(mut value) = value else { return Cow::Borrowed(object) };
    for pointer in pointers.iter().filter(|pointer| !pointer.is_empty()) {
        if let Some(field) = value.pointer_mut(pointer) {
            *field = Value::Null;
        }
    }
    drop_nulls(&mut value);
    serde_json::from_value(value).map_or(Cow::Borrowed(object), Cow::Owned)
}

/// Objects of the API have no nulls but those that stand for a field taken out.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(drop_nulls);
        }
        _ => {}
    }
}

/// Makes a manifest say nothing else about ignored fields than what is in the cluster (KS-SSA-73). `others` are the sets of fields of
/// the other managers that apply the object.
pub(crate) fn resolve(
    manifest: &mut Value,
    pointers: &[String],
    live: &DynamicObject,
    tried: &DynamicObject,
    others: &[&Value],
) {
    let (Ok(live_value), Ok(tried)) = (serde_json::to_value(live), serde_json::to_value(tried)) else {
        return;
    };
    for pointer in pointers.iter().filter(|pointer| !pointer.is_empty()) {
        let found = live_value.pointer(pointer).filter(|found| !found.is_null());
        let wanted = tried.pointer(pointer).filter(|wanted| !wanted.is_null());
        let is_same = match (found, wanted) {
            (Some(found), Some(wanted)) => same(found, wanted),
            (found, wanted) => found == wanted,
        };
        if is_same {
            continue;
        }
        let is_applied = others.iter().any(|fields| names(fields, &live_value, pointer));
        match found.filter(|_| !is_applied) {
            Some(found) => put(manifest, pointer, found.clone()),
            None => remove(manifest, pointer),
        }
    }
}

/// Returns true when a set of fields has the field that a pointer into the live object means.
pub(crate) fn names(fields: &Value, live: &Value, pointer: &str) -> bool {
    let (mut fields, mut live) = (fields, Some(live));
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        let (next, below) = match live {
            Some(Value::Array(items)) => {
                let item = segment.parse::<usize>().ok().and_then(|index| items.get(index));
                (item.and_then(|item| of_item(fields, item)), item)
            }
            live => (fields.get(format!("f:{segment}")), live.and_then(|live| live.get(&segment))),
        };
        let Some(next) = next else { return false };
        (fields, live) = (next, below);
    }
    true
}

/// The part of a set of fields about an item of a list: that whose key the item has.
fn of_item<'a>(fields: &'a Value, item: &Value) -> Option<&'a Value> {
    let is_meant = |name: &str| {
        let key = name.strip_prefix("k:").and_then(|key| serde_json::from_str::<Value>(key).ok());
        let Some(Value::Object(key)) = key else { return false };
        key.iter().all(|(field, value)| item.get(field) == Some(value))
    };
    fields.as_object()?.iter().find(|(name, _)| is_meant(name)).map(|(_, fields)| fields)
}

fn remove(manifest: &mut Value, pointer: &str) {
    let Some((parent, field)) = parent(manifest, pointer) else { return };
    match parent {
        Value::Object(fields) => drop(fields.shift_remove(&field)),
        Value::Array(items) => {
            if let Some(index) = field.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

fn put(manifest: &mut Value, pointer: &str, value: Value) {
    let Some((parent, field)) = parent(manifest, pointer) else { return };
    match parent {
        Value::Object(fields) => drop(fields.insert(field, value)),
        Value::Array(items) => {
            if let Some(item) = field.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                *item = value;
            }
        }
        _ => {}
    }
}

/// The value that holds a field, and the field's name or place in it.
fn parent<'a>(value: &'a mut Value, pointer: &str) -> Option<(&'a mut Value, String)> {
    let (parent, field) = pointer.rsplit_once('/')?;
    Some((value.pointer_mut(parent)?, field.replace("~1", "/").replace("~0", "~")))
}

#[cfg(test)]
mod tests;
