//! Label selectors: `matchLabels` and `matchExpressions`, all of them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Labels of an object.
pub(crate) type Labels = BTreeMap<String, String>;

/// Returns true when the labels match the selector; the error is Kubernetes' text for a selector that means nothing.
pub(crate) fn matches(selector: &LabelSelector, labels: &Labels) -> Result<bool, String> {
    let mut are_equal =
        selector.match_labels.iter().flatten().map(|(key, value)| labels.get(key) == Some(value));
    let holds = selector.match_expressions.iter().flatten().map(|expression| holds(expression, labels));
    let holds = holds.collect::<Result<Vec<bool>, String>>()?;
    Ok(are_equal.all(|is_equal| is_equal) && holds.into_iter().all(|holds| holds))
}

fn holds(expression: &LabelSelectorRequirement, labels: &Labels) -> Result<bool, String> {
    let value = labels.get(&expression.key);
    let values = expression.values.as_deref().unwrap_or_default();
    let is_listed = value.is_some_and(|value| values.contains(value));
    match expression.operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            Err("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
                .to_owned())
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            Err("values: Invalid value: values set must be empty for exists and does not exist".to_owned())
        }
        "In" => Ok(is_listed),
        "NotIn" => Ok(!is_listed),
        "Exists" => Ok(value.is_some()),
        "DoesNotExist" => Ok(value.is_none()),
        other => Err(format!("{other:?} is not a valid label selector operator")),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{Labels, matches};

    fn labels() -> Labels {
        Labels::from([("app".to_owned(), "web".to_owned()), ("tier".to_owned(), "front".to_owned())])
    }

    #[rstest]
    #[case(json!({}), Ok(true))]
    #[case(json!({"matchLabels": {"app": "web"}}), Ok(true))]
    #[case(json!({"matchLabels": {"app": "web", "tier": "back"}}), Ok(false))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}), Ok(true))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}), Ok(false))]
    #[case(json!({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["web"]}]}), Ok(true))]
    #[case(json!({"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}), Ok(true))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "Exists"}], "matchLabels": {"tier": "x"}}), Ok(false))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "Like"}]}), Err("\"Like\" is not a valid label selector operator".to_owned()))]
    fn all_of_a_selector_must_hold(#[case] selector: Value, #[case] result: Result<bool, String>) {
        assert_eq!(matches(&serde_json::from_value(selector).unwrap(), &labels()), result);
    }
}
