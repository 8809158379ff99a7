//! Label selectors: `matchLabels` and `matchExpressions`, all of them.

mod check;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

pub(crate) use self::check::check;

/// Labels of an object.
pub(crate) type Labels = BTreeMap<String, String>;

/// Returns true when the labels match a selector that was checked.
pub(crate) fn matches(selector: &LabelSelector, labels: &Labels) -> bool {
    selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().flatten().all(|expression| holds(expression, labels))
}

fn holds(expression: &LabelSelectorRequirement, labels: &Labels) -> bool {
    let value = labels.get(&expression.key);
    let values = expression.values.as_deref().unwrap_or_default();
    let is_listed = value.is_some_and(|value| values.contains(value));
    match expression.operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
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
    #[case(json!({}), true)]
    #[case(json!({"matchLabels": {"app": "web"}}), true)]
    #[case(json!({"matchLabels": {"app": "web", "tier": "back"}}), false)]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}), true)]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}), false)]
    #[case(json!({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["web"]}]}), true)]
    #[case(json!({"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}), true)]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "Exists"}], "matchLabels": {"tier": "x"}}), false)]
    fn all_of_a_selector_must_hold(#[case] selector: Value, #[case] result: bool) {
        assert_eq!(matches(&serde_json::from_value(selector).unwrap(), &labels()), result);
    }
}
