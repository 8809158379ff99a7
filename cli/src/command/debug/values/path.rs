//! Values at a path, as `helm --set` writes them: `a.b[0].c`, dots of keys escaped.

use serde_json::{Map, Value};

/// Largest index of a list; Helm has the same.
const MAX_INDEX: usize = 65_536;

/// A step of a path.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Returns the value that a text stands for: numbers, booleans and null are what they look like, unless they are quoted.
pub(super) fn value(text: &str) -> Result<Value, &'static str> {
    let is_quoted = |quote: char| text.len() > 1 && text.starts_with(quote) && text.ends_with(quote);
    if is_quoted('\'') || is_quoted('"') {
        return Ok(text.trim_matches(['\'', '"']).into());
    }
    if text.contains([',', '{', '}', '[', ']', '\\']) {
        return Err(
            "lists and several values at a target path are not supported; use literal, or quote the value",
        );
    }
    let text = text.trim_end_matches('\n');
    Ok(match text {
        "true" => true.into(),
        "false" => false.into(),
        "null" => Value::Null,
        "0" => 0.into(),
        _ if text.starts_with('0') => text.into(),
        _ => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
    })
}

/// Puts a value at a path; what is on the way is made.
pub(super) fn set(values: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let mut slot = values;
    for step in steps(path)? {
        slot = match step {
            Step::Key(key) => {
                if !slot.is_object() {
                    *slot = Value::Object(Map::new());
                }
                match slot.as_object_mut() {
                    Some(map) => map.entry(key).or_insert(Value::Null),
                    None => return Err(format!("'{path}' does not lead anywhere")),
                }
            }
            Step::Index(index) => {
                if !slot.is_array() {
                    *slot = Value::Array(Vec::new());
                }
                let list = slot.as_array_mut();
                let list = list.ok_or_else(|| format!("'{path}' does not lead anywhere"))?;
                if list.len() <= index {
                    list.resize(index + 1, Value::Null);
                }
                list.get_mut(index).ok_or_else(|| format!("'{path}' does not lead anywhere"))?
            }
        };
    }
    *slot = value;
    Ok(())
}

fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut key = String::new();
    let mut rest = path.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => key.extend(rest.next()),
            '.' if key.is_empty() => {}
            '.' => steps.push(Step::Key(std::mem::take(&mut key))),
            '[' => {
                if !key.is_empty() {
                    steps.push(Step::Key(std::mem::take(&mut key)));
                }
                let index: String = rest.by_ref().take_while(|character| *character != ']').collect();
                let index = index.parse().ok().filter(|index| *index <= MAX_INDEX);
                steps.push(Step::Index(index.ok_or_else(|| format!("'{path}' has a bad index"))?));
            }
            character => key.push(character),
        }
    }
    if !key.is_empty() {
        steps.push(Step::Key(key));
    }
    if steps.is_empty() { Err(format!("'{path}' names no value")) } else { Ok(steps) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case("a.b", "x", json!({ "a": { "b": "x" }, "keep": 1 }))]
    #[case("a[1].c", "2", json!({ "a": [null, { "c": 2 }], "keep": 1 }))]
    #[case(r"a\.b", "'2'", json!({ "a.b": "2", "keep": 1 }))]
    #[case("keep", "null", json!({ "keep": null }))]
    #[case("keep", "007", json!({ "keep": "007" }))]
    fn values_are_put_at_paths(#[case] path: &str, #[case] text: &str, #[case] expected: Value) {
        let mut values = json!({ "keep": 1 });
        set(&mut values, path, value(text).unwrap()).unwrap();
        assert_eq!(values, expected);
    }

    #[rstest::rstest]
    #[case("")]
    #[case("a[x]")]
    #[case("a[99999999]")]
    fn bad_paths_are_refused(#[case] path: &str) {
        assert!(set(&mut json!({}), path, Value::Null).is_err());
    }
}
