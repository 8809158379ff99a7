//! Expressions are tenants' text, and so is what they look at: a bool, a text, a value or a refusal. An expression compiled as a
//! condition never yields anything else.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use weir_expression::{Computed, Expression, ExpressionError, Numbers, Type};

fuzz_target!(|input: &str| {
    let (text, object) = input.split_once('\u{1f}').unwrap_or((input, "null"));
    let object: Value = serde_json::from_str(object).unwrap_or_default();
    let variables = [("res", &object), ("req", &Value::Null)];
    let names = variables.map(|(name, _)| name);
    if let Ok(condition) = Expression::compile(text, &names, Type::Bool)
        && let Err(error) = condition.is_true(&variables, || true)
    {
        assert!(!matches!(error, ExpressionError::Kind { .. }), "{error}");
    }
    if let Ok(expression) = Expression::parse(text) {
        for numbers in [Numbers::Doubles, Numbers::Integers] {
            let _kept =
                Computed::new("vars").add("x", &expression.clone().over(numbers), &variables, || true);
        }
    }
});
