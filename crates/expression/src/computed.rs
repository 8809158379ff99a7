//! Values that expressions compute for later ones. They keep their types: an int stays an int, and a timestamp a timestamp.

use std::collections::HashMap;

use cel::Value;
use cel::objects::{Key, Map};
use serde_json::Value as Json;

use super::value::MAX_VALUES;
use super::{Expression, ExpressionError};

/// Bytes of all texts in one result. A claim of a token has some KiB at most, and each variable can double the one before it.
const MAX_BYTES: usize = 1024 * 1024;
/// Lists in lists of one result. Each variable can put the one before it into a list.
const MAX_DEPTH: usize = 64;

/// The results of expressions, as fields of one variable.
#[derive(Debug, Clone)]
pub struct Computed {
    variable: String,
    fields: HashMap<Key, Value>,
}

impl Computed {
    /// Makes an empty set of results, which expressions see as fields of `variable`.
    pub fn new(variable: impl Into<String>) -> Self {
        Self { variable: variable.into(), fields: HashMap::new() }
    }

    /// Evaluates an expression over these variables and the results so far, and keeps its result under this name.
    ///
    /// # Errors
    /// When the evaluation fails, or its result is too large to be kept.
    pub fn add(
        &mut self,
        name: &str,
        expression: &Expression,
        variables: &[(&str, &Json)],
        may_go_on: impl Fn() -> bool + Send + Sync,
    ) -> Result<(), ExpressionError> {
        let value = expression.evaluate(variables, Some(self), may_go_on)?;
        let mut size = Size { values: MAX_VALUES, bytes: MAX_BYTES };
        if !size.has_room_for(&value, MAX_DEPTH) {
            return Err(expression.failed("the result is too large".to_owned()));
        }
        self.fields.insert(name.into(), value);
        Ok(())
    }

    /// Evaluates a condition over these variables and the results.
    ///
    /// # Errors
    /// When the evaluation fails or yields no bool.
    pub fn is_true(
        &self,
        condition: &Expression,
        variables: &[(&str, &Json)],
        may_go_on: impl Fn() -> bool + Send + Sync,
    ) -> Result<bool, ExpressionError> {
        condition.as_bool(condition.evaluate(variables, Some(self), may_go_on)?)
    }

    /// Returns name and value of the variable.
    pub(super) fn variable(&self) -> (&str, Value) {
        (&self.variable, Value::Map(Map::from(self.fields.clone())))
    }
}

/// The room that is left for a result.
struct Size {
    values: usize,
    bytes: usize,
}

impl Size {
    fn has_room_for(&mut self, value: &Value, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let has_room = match value {
            Value::List(items) => items.iter().all(|item| self.has_room_for(item, depth)),
            Value::Map(map) => map.map.iter().all(|(key, value)| {
                let is_kept = match key {
                    Key::String(text) => self.take_bytes(text.len()),
                    _ => true,
                };
                is_kept && self.has_room_for(value, depth)
            }),
            Value::String(text) => self.take_bytes(text.len()),
            Value::Bytes(bytes) => self.take_bytes(bytes.len()),
            _ => true,
        };
        has_room && take(&mut self.values, 1)
    }

    fn take_bytes(&mut self, bytes: usize) -> bool {
        take(&mut self.bytes, bytes)
    }
}

fn take(left: &mut usize, amount: usize) -> bool {
    let rest = left.checked_sub(amount);
    *left = rest.unwrap_or_default();
    rest.is_some()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn holds(fields: &[(&str, &str)], condition: &str) -> Result<bool, ExpressionError> {
        let claims = json!({"run": 7, "groups": ["a", "b"], "nil": null});
        let variables = [("claims", &claims)];
        let mut vars = Computed::new("vars");
        for (name, text) in fields {
            vars.add(name, &Expression::compile_any(text, &["claims", "vars"])?, &variables, || true)?;
        }
        vars.is_true(&Expression::compile_any(condition, &["claims", "vars"])?, &variables, || true)
    }

    /// As in Flux, whose variables hold the results as they are.
    #[rstest]
    #[case::int(&[("n", "5"), ("m", "vars.n + 1")], "vars.m == 6 && type(vars.m) == int")]
    #[case::double(&[("n", "claims.run")], "vars.n + 1.0 == 8.0")]
    #[case::size(&[("n", "size(claims.groups)")], "vars.n - 1 == 1")]
    #[case::timestamp(&[("t", "timestamp('2026-01-01T00:00:00Z')")], "vars.t < timestamp('2027-01-01T00:00:00Z')")]
    #[case::duration(&[("d", "duration('1h')")], "vars.d > duration('1m')")]
    #[case::bytes(&[("b", "b'abc'")], "string(vars.b) == 'abc'")]
    #[case::list(&[("l", "claims.groups.map(g, g + '!')")], "'a!' in vars.l")]
    #[case::null(&[("x", "claims.nil")], "vars.x == null")]
    #[case::twice(&[("x", "1"), ("x", "2")], "vars.x == 2")]
    fn results_keep_their_types(#[case] fields: &[(&str, &str)], #[case] condition: &str) {
        assert_eq!(holds(fields, condition), Ok(true));
    }

    /// Each variable doubles the one before it, or puts it into a list.
    #[rstest]
    #[case::text("'0123456789abcdef'", "vars.x + vars.x")]
    #[case::list("[1, 2]", "vars.x + vars.x")]
    #[case::depth("[1]", "[vars.x]")]
    fn results_are_bounded(#[case] first: &str, #[case] next: &str) {
        let fields: Vec<(&str, &str)> =
            std::iter::once(first).chain(std::iter::repeat_n(next, 70)).map(|text| ("x", text)).collect();
        let refused = holds(&fields, "true").unwrap_err().to_string();
        assert!(refused.ends_with("the result is too large"), "{refused}");
    }
}
