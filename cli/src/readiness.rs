//! When an object is done, seen from outside: what `reconcile` and `resume` wait for.

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::Value;
use weir_kstatus::{Assessment, Status, assess};

use crate::kind::{Kind, condition, last_handled, ready, reason};

/// The state of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The object is what was waited for.
    Over,
    /// Not yet.
    GoesOn,
    /// It will not get there by itself, for this reason.
    Failed(String),
}

/// Returns true when an object is ready (CLI-G21 to CLI-G23). An object that fails and tries again is waited for.
pub(crate) fn is_ready(kind: &Kind, object: &DynamicObject, now: Timestamp) -> Wait {
    if (kind.static_message)(object).is_none() && !speaks_of_its_generation(object) {
        return Wait::GoesOn;
    }
    judge(assessment(object, now))
}

/// Returns true when a newer request than `before` was handled (CLI-REC01). A failed run counts as well, also if the service
/// will try again.
pub(crate) fn is_handled(object: &DynamicObject, before: Option<&str>, now: Timestamp) -> Wait {
    if last_handled(object) == before {
        return Wait::GoesOn;
    }
    match judge(assessment(object, now)) {
        Wait::GoesOn if has_failed(object) => Wait::Over,
        judged => judged,
    }
}

/// Reason of the condition Reconciling while a service waits to try again.
const RETRY: &str = "ProgressingWithRetry";

/// Returns true when the last attempt is over, and was no success.
fn has_failed(object: &DynamicObject) -> bool {
    let is_at_work = match condition(object, "Reconciling") {
        Some(("True", _)) => reason(object, "Reconciling") != Some(RETRY),
        _ => false,
    };
    !is_at_work
        && is_told_of_its_generation(object)
        && ready(object).is_some_and(|(status, _)| status == "False")
}

/// Returns what an object that was waited for in vain says about itself.
pub(crate) fn said(object: &DynamicObject) -> String {
    match ready(object) {
        None => "it has no condition Ready: does a service work on it?".to_owned(),
        Some(("True", _)) => {
            "its condition Ready is that of an earlier spec or request: does a service work on it?".to_owned()
        }
        Some((status, message)) => format!("its condition Ready is {status}: {message}"),
    }
}

fn assessment(object: &DynamicObject, now: Timestamp) -> Assessment {
    match serde_json::to_value(object) {
        Ok(object) => assess(&object, now),
        Err(error) => Assessment::unknown(error.to_string()),
    }
}

fn judge(assessment: Assessment) -> Wait {
    match assessment.status {
        Status::Current => Wait::Over,
        Status::Failed | Status::Terminating => Wait::Failed(assessment.message),
        Status::InProgress | Status::NotFound | Status::Unknown => Wait::GoesOn,
    }
}

/// Returns true when the service has looked at the spec as it is now, and its condition Ready is about that.
fn speaks_of_its_generation(object: &DynamicObject) -> bool {
    observed_generation(object) >= 1 && is_told_of_its_generation(object)
}

/// Returns true when the condition Ready is about the spec as it is now. The generation in the status may be older: many services write the
/// last one that succeeded there, and -1 before the first.
pub(crate) fn is_told_of_its_generation(object: &DynamicObject) -> bool {
    let generation = object.metadata.generation.unwrap_or_default();
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    let is_ready = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some("Ready");
    let Some(ready) = conditions.into_iter().flatten().find(is_ready) else { return false };
    match ready.get("observedGeneration").and_then(Value::as_i64).unwrap_or_default() {
        0 => observed_generation(object) == generation,
        of_condition => of_condition == generation,
    }
}

fn observed_generation(object: &DynamicObject) -> i64 {
    object.data.pointer("/status/observedGeneration").and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(generation: i64, status: Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": { "name": "podinfo", "namespace": "flux-system", "generation": generation },
            "status": status,
        }))
        .unwrap()
    }

    fn ready(status: &str, observed: i64) -> Value {
        json!({ "type": "Ready", "status": status, "reason": "R", "message": "because", "observedGeneration": observed })
    }

    #[rstest::rstest]
    #[case::ready(1, json!({ "observedGeneration": 1, "conditions": [ready("True", 1)] }), Wait::Over)]
    #[case::fails_and_retries(1, json!({ "observedGeneration": 1, "conditions": [ready("False", 1)] }), Wait::GoesOn)]
    #[case::never_observed(1, json!({ "observedGeneration": -1 }), Wait::GoesOn)]
    #[case::no_conditions(1, json!({ "observedGeneration": 1 }), Wait::GoesOn)]
    #[case::of_an_older_spec(2, json!({ "observedGeneration": 2, "conditions": [ready("True", 1)] }), Wait::GoesOn)]
    #[case::condition_says_no_generation(1, json!({ "observedGeneration": 1, "conditions": [ready("True", 0)] }), Wait::Over)]
    #[case::neither_is_current(2, json!({ "observedGeneration": 1, "conditions": [ready("True", 0)] }), Wait::GoesOn)]
    #[case::stalled(
        1,
        json!({ "observedGeneration": 1, "conditions": [
            { "type": "Stalled", "status": "True", "message": "bad URL" }, ready("False", 1)] }),
        Wait::Failed("bad URL".to_owned())
    )]
    fn readiness_of_reconciled_kinds(#[case] generation: i64, #[case] status: Value, #[case] expected: Wait) {
        let kind = Kind::find("gitrepository").unwrap();
        assert_eq!(is_ready(kind, &object(generation, status), Timestamp::UNIX_EPOCH), expected);
    }

    #[rstest::rstest]
    #[case(json!({}), "it has no condition Ready: does a service work on it?")]
    #[case(json!({ "conditions": [ready("False", 1)] }), "its condition Ready is False: because")]
    #[case(
        json!({ "conditions": [ready("True", 1)] }),
        "its condition Ready is that of an earlier spec or request: does a service work on it?"
    )]
    fn a_wait_in_vain_tells_what_is_there(#[case] status: Value, #[case] expected: &str) {
        assert_eq!(said(&object(2, status)), expected);
    }

    #[test]
    fn a_static_object_is_ready_when_it_is_there() {
        let kind = Kind::find("alert").unwrap();
        assert_eq!(is_ready(kind, &object(3, json!({})), Timestamp::UNIX_EPOCH), Wait::Over);
    }

    #[test]
    fn a_request_is_handled_when_its_token_changes_and_the_object_is_current() {
        let status = json!({ "lastHandledReconcileAt": "now", "observedGeneration": 1, "conditions": [ready("True", 1)] });
        let handled = object(1, status);
        assert_eq!(is_handled(&handled, Some("before"), Timestamp::UNIX_EPOCH), Wait::Over);
        assert_eq!(is_handled(&handled, Some("now"), Timestamp::UNIX_EPOCH), Wait::GoesOn);
    }

    #[rstest::rstest]
    #[case::will_try_again("True", "ProgressingWithRetry", "False", Wait::Over)]
    #[case::gave_up("False", "", "False", Wait::Over)]
    #[case::is_at_work("True", "Progressing", "False", Wait::GoesOn)]
    #[case::says_nothing_yet("True", "Progressing", "Unknown", Wait::GoesOn)]
    fn a_request_that_failed_is_handled(
        #[case] reconciling: &str,
        #[case] reason: &str,
        #[case] is_ready: &str,
        #[case] expected: Wait,
        // Before the first success, and after it.
        #[values(-1, 1)] observed: i64,
    ) {
        let conditions = json!([
            { "type": "Reconciling", "status": reconciling, "reason": reason, "message": "" },
            ready(is_ready, 1),
        ]);
        let status = json!({ "lastHandledReconcileAt": "now", "observedGeneration": observed, "conditions": conditions });
        assert_eq!(is_handled(&object(1, status), None, Timestamp::UNIX_EPOCH), expected);
    }

    #[test]
    fn an_object_that_is_going_away_is_waited_for_no_longer() {
        let mut object = object(1, json!({ "lastHandledReconcileAt": "now" }));
        object.data["metadata"] = Value::Null;
        object.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Timestamp::UNIX_EPOCH));
        let expected = Wait::Failed("Resource scheduled for deletion".to_owned());
        object.data.as_object_mut().unwrap().remove("metadata");
        assert_eq!(is_handled(&object, None, Timestamp::UNIX_EPOCH), expected);
    }
}
