//! Kubernetes' rules for selectors, in its words.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use weir_label::CURRENT;

/// Checks a selector, whatever it is compared with.
///
/// # Errors
/// Kubernetes' text about the first requirement that means nothing.
pub(crate) fn check(selector: &LabelSelector) -> Result<(), String> {
    for (key, value) in selector.match_labels.iter().flatten() {
        of_requirement(key, None, std::slice::from_ref(value))?;
    }
    selector.match_expressions.iter().flatten().try_for_each(of_expression)
}

fn of_expression(expression: &LabelSelectorRequirement) -> Result<(), String> {
    let values = expression.values.as_deref().unwrap_or_default();
    let fault = match expression.operator.as_str() {
        "In" | "NotIn" => values
            .is_empty()
            .then_some("null: for 'in', 'notin' operators, values set can't be empty".to_owned()),
        "Exists" | "DoesNotExist" => {
            let shown = serde_json::to_string(values).unwrap_or_default();
            let fault = || format!("{shown}: values set must be empty for exists and does not exist");
            (!values.is_empty()).then(fault)
        }
        other => return Err(format!("{other:?} is not a valid label selector operator")),
    };
    of_requirement(&expression.key, fault, values)
}

/// Checks a key and its values; `fault` is one of all values together.
fn of_requirement(key: &str, fault: Option<String>, values: &[String]) -> Result<(), String> {
    let invalid = |place: String, text: &str, faults: &[String]| {
        (!faults.is_empty()).then(|| format!("{place}: Invalid value: {text:?}: {}", faults.join("; ")))
    };
    let of_key = invalid("key".to_owned(), key, &CURRENT.faults_of_key(key));
    let of_all = fault.map(|fault| format!("values: Invalid value: {fault}"));
    let of_values = values.iter().enumerate().filter_map(|(at, value)| {
        invalid(format!("values[{at}][{key}]"), value, &CURRENT.faults_of_value(value))
    });
    let mut faults: Vec<String> = of_key.into_iter().chain(of_all).chain(of_values).collect();
    match faults.len() {
        0 => Ok(()),
        1 => Err(faults.remove(0)),
        _ => Err(format!("[{}]", faults.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::check;

    fn of_key(key: &str) -> String {
        super::CURRENT.faults_of_key(key).join("; ")
    }

    fn of_value(value: &str) -> String {
        super::CURRENT.faults_of_value(value).join("; ")
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
    }

    #[rstest]
    #[case(json!({"matchLabels": {"app.example.com/name": "web", "tier": ""}}), String::new())]
    #[case(expression("app", "In", &["web"]), String::new())]
    #[case(expression("app", "Exists", &[]), String::new())]
    #[case(expression("a", "Like", &[]), "\"Like\" is not a valid label selector operator".to_owned())]
    #[case(expression("a", "In", &[]),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".to_owned())]
    #[case(json!({"matchLabels": {"-a": "x"}}), format!("key: Invalid value: \"-a\": {}", of_key("-a")))]
    #[case(json!({"matchLabels": {"a": "b_"}}), format!("values[0][a]: Invalid value: \"b_\": {}", of_value("b_")))]
    #[case(expression("", "NotIn", &["x ", "ok"]),
        format!("[key: Invalid value: \"\": {}, values[0][]: Invalid value: \"x \": {}]", of_key(""), of_value("x ")))]
    #[case(expression("a", "Exists", &["x", "y"]),
        "values: Invalid value: [\"x\",\"y\"]: values set must be empty for exists and does not exist".to_owned())]
    fn words_of_kubernetes(#[case] selector: Value, #[case] expected: String) {
        let found = check(&serde_json::from_value(selector).unwrap());
        assert_eq!(found.err().unwrap_or_default(), expected);
    }
}
