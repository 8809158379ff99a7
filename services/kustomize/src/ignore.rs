//! Fields that a Kustomization leaves to others: `spec.ignore`, compiled (KS-SSA-70). `weir diff kustomization` and `weir plan`
//! obey it too.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::ResourceExt;
use kube::api::DynamicObject;
use weir_api::kustomize::IgnoreRule;
use weir_kustomize::{CompiledSelector, Gvk, Selector, SelectorError};
use weir_ssa::IgnoreRules;

use crate::build::selector;

/// A rule whose target is compiled; without one it is for all objects.
struct Rule {
    paths: Vec<String>,
    target: Option<CompiledSelector>,
}

/// Compiles the rules of a spec.
///
/// # Errors
/// Flux's message, when a target cannot be understood; ours, when a path is no JSON pointer, which Flux notices when it finds drift.
pub fn compile(rules: &[IgnoreRule]) -> Result<IgnoreRules, String> {
    if rules.is_empty() {
        return Ok(IgnoreRules::default());
    }
    let mut hasher = DefaultHasher::new();
    format!("{rules:?}").hash(&mut hasher);
    let rules = rules.iter().map(Rule::compile).collect::<Result<Vec<_>, _>>()?;
    Ok(IgnoreRules::new(hasher.finish(), move |object| {
        let selected = rules.iter().filter(|rule| rule.selects(object));
        selected.flat_map(|rule| rule.paths.iter().cloned()).collect()
    }))
}

impl Rule {
    fn compile(rule: &IgnoreRule) -> Result<Self, String> {
        if let Some(path) = rule.paths.iter().find(|path| !path.is_empty() && !path.starts_with('/')) {
            return Err(format!(
                "invalid ignore rule: path '{path}' is no JSON pointer, which begins with '/'"
            ));
        }
        let target = rule.target.as_ref().map(|target| compiled(&selector(target))).transpose()?;
        Ok(Self { paths: rule.paths.clone(), target })
    }

    fn selects(&self, object: &DynamicObject) -> bool {
        let Some(target) = &self.target else { return true };
        let types = object.types.clone().unwrap_or_default();
        let (labels, annotations) = (object.labels(), object.annotations());
        target.matches(
            Gvk::new(&types.api_version, &types.kind),
            &object.namespace().unwrap_or_default(),
            &object.name_any(),
            |key| labels.get(key).map(String::as_str),
            |key| annotations.get(key).map(String::as_str),
        )
    }
}

fn compiled(target: &Selector) -> Result<CompiledSelector, String> {
    CompiledSelector::new(target).map_err(|error| {
        let cause = match error {
            SelectorError::Pattern { field, cause } => format!("invalid {field} regex: {cause}"),
            SelectorError::Labels { problem } if has_labels(target) => {
                format!("invalid annotation selector: {problem}")
            }
            SelectorError::Labels { problem } => format!("invalid label selector: {problem}"),
        };
        format!("failed to create ignore rule selector: {cause}")
    })
}

/// Returns true when the selector of labels can be understood.
fn has_labels(target: &Selector) -> bool {
    let label_selector = target.label_selector.clone();
    CompiledSelector::new(&Selector { label_selector, ..Selector::default() }).is_ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case(json!({"paths": ["/data/k", ""]}), None)]
    #[case(json!({"paths": ["data/k"]}),
        Some("invalid ignore rule: path 'data/k' is no JSON pointer, which begins with '/'"))]
    #[case(json!({"paths": ["/a"], "target": {"labelSelector": "a=b=c"}}),
        Some("failed to create ignore rule selector: invalid label selector: found '=', expected: ',' or 'end of string'"))]
    #[case(json!({"paths": ["/a"], "target": {"labelSelector": "a=b", "annotationSelector": "a=b=c"}}),
        Some("failed to create ignore rule selector: invalid annotation selector: found '=', expected: ',' or 'end of string'"))]
    fn rules_that_cannot_work_are_named(#[case] rule: Value, #[case] expected: Option<&str>) {
        let error = compile(&[serde_json::from_value(rule).unwrap()]).err();
        assert_eq!(error.as_deref(), expected);
    }
}
