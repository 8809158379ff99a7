//! Kubernetes' rules for selectors, in its words.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Longest value, and name of a key, in bytes: Kubernetes' limit.
const MAX_NAME: usize = 63;
/// Longest prefix of a key, in bytes: that of a DNS name.
const MAX_PREFIX: usize = 253;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PREFIX: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                      start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                      '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                     regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

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
    let of_key = invalid("key".to_owned(), key, &faults_of_key(key));
    let of_all = fault.map(|fault| format!("values: Invalid value: {fault}"));
    let of_values = values
        .iter()
        .enumerate()
        .filter_map(|(at, value)| invalid(format!("values[{at}][{key}]"), value, &faults_of_value(value)));
    let mut faults: Vec<String> = of_key.into_iter().chain(of_all).chain(of_values).collect();
    match faults.len() {
        0 => Ok(()),
        1 => Err(faults.remove(0)),
        _ => Err(format!("[{}]", faults.join(", "))),
    }
}

/// The faults of a name, with a DNS name before a slash or without.
fn faults_of_key(key: &str) -> Vec<String> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if name.contains('/') {
        let example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
        return vec![format!("a valid label key {NAME} {example}")];
    }
    let mut faults = Vec::new();
    if prefix == Some("") {
        faults.push("prefix part must be non-empty".to_owned());
    } else if let Some(prefix) = prefix {
        faults.extend(too_long(prefix, MAX_PREFIX).map(|fault| format!("prefix part {fault}")));
        faults.extend((!is_subdomain(prefix)).then(|| format!("prefix part {PREFIX}")));
    }
    faults.extend(name.is_empty().then(|| "name part must be non-empty".to_owned()));
    faults.extend(too_long(name, MAX_NAME).map(|fault| format!("name part {fault}")));
    faults.extend((!is_name(name)).then(|| format!("name part {NAME}")));
    faults
}

fn faults_of_value(value: &str) -> Vec<String> {
    let is_legal = value.is_empty() || is_name(value);
    too_long(value, MAX_NAME).into_iter().chain((!is_legal).then(|| VALUE.to_owned())).collect()
}

fn too_long(text: &str, limit: usize) -> Option<String> {
    (text.len() > limit).then(|| format!("must be no more than {limit} bytes"))
}

fn is_name(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = [name.bytes().next(), name.bytes().next_back()];
    name.bytes().all(is_legal) && ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}

fn is_subdomain(text: &str) -> bool {
    let is_legal =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    text.bytes().all(is_legal) && text.split('.').all(is_name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{NAME, VALUE, check};

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
    #[case(json!({"matchLabels": {"-a": "x"}}), format!("key: Invalid value: \"-a\": name part {NAME}"))]
    #[case(json!({"matchLabels": {"a": "b_"}}), format!("values[0][a]: Invalid value: \"b_\": {VALUE}"))]
    #[case(expression("", "NotIn", &["x ", "ok"]),
        format!("[key: Invalid value: \"\": name part must be non-empty; name part {NAME}, values[0][]: Invalid value: \"x \": {VALUE}]"))]
    #[case(expression("a", "Exists", &["x", "y"]),
        "values: Invalid value: [\"x\",\"y\"]: values set must be empty for exists and does not exist".to_owned())]
    fn words_of_kubernetes(#[case] selector: Value, #[case] expected: String) {
        let found = check(&serde_json::from_value(selector).unwrap());
        assert_eq!(found.err().unwrap_or_default(), expected);
    }
}
