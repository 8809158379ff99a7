//! Differences between the schemas of two versions.

use serde_json::{Map, Value, json};

/// One difference. Paths run through properties, `[]` stands for the items of a list: `status.artifacts[].digest`.
pub(super) enum Edit {
    /// The older version does not have the field.
    Remove(&'static str),
    /// The older version has a field that the newer one lost, or has it otherwise.
    Put(&'static str, Value),
    /// The older version has another value for the field.
    Set(&'static str, &'static str, Value),
    /// The older version does not say this about the field.
    Unset(&'static str, &'static str),
    /// The older version demands the field.
    Require(&'static str),
    /// The older version does not demand the field.
    Allow(&'static str),
}

impl Edit {
    /// Edits the schema of the whole object.
    ///
    /// # Errors
    /// The path, when the field does not exist.
    pub(super) fn apply(self, root: &mut Value) -> Result<(), String> {
        match self {
            Self::Remove(path) => {
                let (parent, name) = parent(root, path)?;
                allow(parent, name);
                properties(parent).and_then(|all| all.remove(name)).map(drop).ok_or_else(|| path.to_owned())
            }
            Self::Put(path, schema) => {
                let (parent, name) = parent(root, path)?;
                let all = properties(parent).ok_or_else(|| path.to_owned())?;
                all.insert(name.to_owned(), schema);
                Ok(())
            }
            Self::Set(path, keyword, value) => {
                find(root, path)?.insert(keyword.to_owned(), value);
                Ok(())
            }
            Self::Unset(path, keyword) => {
                find(root, path)?.remove(keyword).map(drop).ok_or_else(|| format!("{path} {keyword}"))
            }
            Self::Require(path) => {
                find(root, path)?;
                let (parent, name) = parent(root, path)?;
                match parent.get_mut("required").and_then(Value::as_array_mut) {
                    Some(names) => names.push(json!(name)),
                    None => drop(parent.insert("required".to_owned(), json!([name]))),
                }
                Ok(())
            }
            Self::Allow(path) => {
                find(root, path)?;
                let (parent, name) = parent(root, path)?;
                allow(parent, name);
                Ok(())
            }
        }
    }
}

/// Takes a name out of the list of required ones.
fn allow(parent: &mut Map<String, Value>, name: &str) {
    if let Some(names) = parent.get_mut("required").and_then(Value::as_array_mut) {
        names.retain(|required| required != name);
        if names.is_empty() {
            parent.remove("required");
        }
    }
}

fn properties(schema: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    schema.get_mut("properties")?.as_object_mut()
}

/// The schema that holds the last field of the path, and the name of that field.
fn parent<'a, 'p>(
    root: &'a mut Value,
    path: &'p str,
) -> Result<(&'a mut Map<String, Value>, &'p str), String> {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    Ok((find(root, parent)?, name))
}

/// The schema of a field.
fn find<'a>(root: &'a mut Value, path: &str) -> Result<&'a mut Map<String, Value>, String> {
    let mut at = root;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let (name, is_list) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
        at = at.get_mut("properties").and_then(|all| all.get_mut(name)).ok_or_else(|| path.to_owned())?;
        if is_list {
            at = at.get_mut("items").ok_or_else(|| path.to_owned())?;
        }
    }
    at.as_object_mut().ok_or_else(|| path.to_owned())
}
