//! The CEL expressions of a Kustomization: about its dependencies (KS-DEP-2, KS-DEP-8), and about the health of its
//! objects (KS-CEL-1..5).

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Value, json};
use weir_api::Kustomization;
use weir_api::kustomize::CustomHealthCheck;
use weir_evaluation::MayGoOn;
use weir_expression::{Expression, ExpressionError, Numbers, Type};
use weir_kstatus::{Assessment, Status};
use weir_ssa::{Judge, ObjectId, Probe};

/// The annotation in which `kubectl apply` keeps a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The verdict of a `readyExpr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The dependency is ready, or not.
    Ready(bool),
    /// The result is not known now; the message has the reason.
    Unknown(String),
    /// The result can never be known: the expression has to be changed.
    Invalid(String),
}

/// The part of a dependency that an expression sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// All of it.
    Whole,
    /// The [`public_part`] of it, if it lies in another namespace (`--no-cross-namespace-refs`).
    OwnNamespace,
}

/// Asks `text` whether `dependency` is ready for `own`. Blocks for the time of the evaluation.
pub(crate) fn is_ready(
    text: &str,
    own: &Kustomization,
    dependency: &Kustomization,
    visibility: Visibility,
    may_go_on: &MayGoOn<'_>,
) -> Verdict {
    let expression = match Expression::compile(text, &["self", "dep"], Type::Bool) {
        Ok(expression) => expression.over(Numbers::Integers),
        Err(error) => return Verdict::Invalid(error.to_string()),
    };
    let (own, dependency) = (serde_json::to_value(own), serde_json::to_value(dependency));
    let (Ok(own), Ok(dependency)) = (own, dependency) else {
        return Verdict::Unknown("the objects cannot be written as JSON".to_owned());
    };
    let is_near = own.pointer("/metadata/namespace") == dependency.pointer("/metadata/namespace");
    let dependency =
        if is_near || visibility == Visibility::Whole { dependency } else { public_part(&dependency) };
    match expression.is_true(&[("self", &own), ("dep", &dependency)], may_go_on) {
        Ok(is_ready) => Verdict::Ready(is_ready),
        Err(error) => Verdict::Unknown(error.to_string()),
    }
}

/// Returns what an expression may see of an object of somebody else: its metadata, its conditions and the generation that
/// they speak of. Field managers and kubectl's copy of the object are left out: they repeat the spec.
pub(crate) fn public_part(object: &Value) -> Value {
    let field = |name: &str| object.get(name).cloned().unwrap_or_default();
    let mut metadata = field("metadata");
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.shift_remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.shift_remove(LAST_APPLIED);
        }
    }
    let status: Map<String, Value> = ["conditions", "observedGeneration"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), object.get("status")?.get(name)?.clone())))
        .collect();
    json!({"apiVersion": field("apiVersion"), "kind": field("kind"), "metadata": metadata, "status": status})
}

/// The entries of `healthCheckExprs`, by group and kind; the entry without a kind is for all others of its group.
#[derive(Clone, Default)]
pub(crate) struct HealthChecks(HashMap<(String, Option<String>), HealthCheck>);

#[derive(Clone)]
struct HealthCheck {
    current: Expression,
    in_progress: Option<Expression>,
    failed: Option<Expression>,
}

impl fmt::Debug for HealthChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl HealthChecks {
    /// Compiles the entries; the error is the message of the condition (KS-CEL-4). Blocks meanwhile.
    pub(crate) fn compile(entries: &[CustomHealthCheck]) -> Result<Self, String> {
        let mut checks = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let (group, _) = entry.api_version.split_once('/').unwrap_or_default();
            let key = (group.to_owned(), entry.kind.clone().filter(|kind| !kind.is_empty()));
            if checks.contains_key(&key) {
                let kind = key.1.as_deref().unwrap_or_default();
                let name = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
                return Err(format!(
                    "duplicate custom health check for GroupKind {name} at healthchecks[{index}]"
                ));
            }
            let check = HealthCheck::compile(entry).map_err(|error| {
                format!("failed to create custom status evaluator for healthchecks[{index}]: {error}")
            })?;
            checks.insert(key, check);
        }
        Ok(Self(checks))
    }

    fn of(&self, id: &ObjectId) -> Option<&HealthCheck> {
        let exact = self.0.get(&(id.group.clone(), Some(id.kind.clone())));
        exact.or_else(|| self.0.get(&(id.group.clone(), None)))
    }
}

/// The waits between the stages of an apply use the same expressions (KS-CEL-6).
impl Judge for HealthChecks {
    fn covers(&self, id: &ObjectId) -> bool {
        self.of(id).is_some()
    }

    fn judge(&self, id: &ObjectId, object: &Value, may_go_on: &MayGoOn<'_>) -> Probe {
        match self.of(id).map(|check| check.assess(object, may_go_on)) {
            Some(Ok(status)) => Assessment { status, message: String::new() }.into(),
            Some(Err(error)) => Probe::unknown(error.to_string()),
            None => Probe::unknown("there is no expression for it".to_owned()),
        }
    }
}

impl HealthCheck {
    fn compile(entry: &CustomHealthCheck) -> Result<Self, String> {
        let compile = |name: &str, text: &str| {
            let parsed = Expression::parse(text).map(|expression| expression.over(Numbers::Integers));
            parsed.map_err(|error| format!("failed to parse the expression {name}: {error}"))
        };
        let optional = |name: &str, text: &Option<String>| {
            let text = text.as_deref().filter(|text| !text.is_empty());
            text.map(|text| compile(name, text)).transpose()
        };
        if entry.current.is_empty() {
            return Err("expression Current not specified".to_owned());
        }
        Ok(Self {
            current: compile("Current", &entry.current)?,
            in_progress: optional("InProgress", &entry.in_progress)?,
            failed: optional("Failed", &entry.failed)?,
        })
    }

    fn assess(&self, object: &Value, may_go_on: &MayGoOn<'_>) -> Result<Status, ExpressionError> {
        let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
        if let (Some(observed), Some(generation)) =
            (number("/status/observedGeneration"), number("/metadata/generation"))
            && observed != generation
        {
            return Ok(Status::InProgress);
        }
        let fields = object.as_object().into_iter().flatten();
        let variables: Vec<(&str, &Value)> = fields.map(|(name, value)| (name.as_str(), value)).collect();
        let says = |expression: &Option<Expression>| {
            expression.as_ref().map_or(Ok(false), |expression| expression.is_true(&variables, may_go_on))
        };
        if says(&self.in_progress)? {
            return Ok(Status::InProgress);
        }
        if says(&self.failed)? {
            return Ok(Status::Failed);
        }
        Ok(if self.current.is_true(&variables, may_go_on)? { Status::Current } else { Status::InProgress })
    }
}

#[cfg(test)]
mod tests;
