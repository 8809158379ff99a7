//! Results of expressions as cel-go has them, in the environment that Flux makes. `cel-go.jsonl` has a line for each: its text, whether
//! names and types are looked at when it is compiled (`readyExpr`) or not (`healthCheckExprs`), and the result for `object.json`.

use serde_json::Value;
use weir_expression::{Expression, ExpressionError, Numbers, Type};

const OBJECT: &str = include_str!("../data/object.json");
const RESULTS: &str = include_str!("../data/cel-go.jsonl");

fn result(text: &str, is_compiled: bool, object: &Value) -> Result<bool, ExpressionError> {
    let over = |expression: Expression| expression.over(Numbers::Integers);
    if is_compiled {
        let compiled = Expression::compile(text, &["self", "dep"], Type::Bool).map(over)?;
        return compiled.is_true(&[("self", object), ("dep", object)], || true);
    }
    let fields = object.as_object().unwrap().iter();
    let fields: Vec<(&str, &Value)> = fields.map(|(name, value)| (name.as_str(), value)).collect();
    Expression::parse(text).map(over)?.is_true(&fields, || true)
}

/// Refused in the beginning, failed in the evaluation, or the verdict.
fn told(result: &Result<bool, ExpressionError>) -> String {
    match result {
        Ok(verdict) => verdict.to_string(),
        Err(ExpressionError::Parse { .. } | ExpressionError::Output { .. }) => "refused".to_owned(),
        Err(_) => "failed".to_owned(),
    }
}

#[test]
fn results_are_those_of_cel_go() {
    let object = serde_json::from_str(OBJECT).unwrap();
    let differing = RESULTS.lines().filter_map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        let (text, expected) = (case["text"].as_str().unwrap(), case["result"].as_str().unwrap());
        let result = result(text, case["mode"] == "compile", &object);
        let told = told(&result);
        // cel-go looks at constants and at the types of operands in the beginning.
        let is_same = told == expected || (expected == "refused" && told == "failed");
        (!is_same).then(|| format!("{line}: {told}, {result:?}"))
    });
    let differing: Vec<String> = differing.collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
