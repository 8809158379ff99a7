//! KS-KST-70..74: Flux's own table. A Job that runs is not Current, and a Job that is being deleted is judged by its
//! conditions like any other, so that one with a short time to live still counts as done.

use serde_json::Value;

use super::count;
use crate::Assessment;
use crate::fields::{Malformed, at, conditions, integer, text};

pub(crate) fn assess(object: &Value) -> Result<Assessment, Malformed> {
    let parallelism = integer(object, &["spec", "parallelism"]).unwrap_or(1);
    let completions = integer(object, &["spec", "completions"]).unwrap_or(parallelism);
    let (succeeded, failed) = (count(object, "succeeded"), count(object, "failed"));
    if at(object, &["spec", "suspend"]).and_then(Value::as_bool) == Some(true) {
        return Ok(Assessment::current("Job is suspended"));
    }
    for condition in conditions(object)? {
        if condition.is("Complete", "True") {
            return Ok(Assessment::current(format!("Job Completed. succeeded: {succeeded}/{completions}")));
        }
        if condition.is("Failed", "True") {
            return Ok(Assessment::failed(format!("Job Failed. failed: {failed}/{completions}")));
        }
    }
    let active = count(object, "active");
    Ok(Assessment::in_progress(match text(object, &["status", "startTime"]) {
        None => format!("Job not started. active: {active}/{parallelism}"),
        Some(_) => format!("Job in progress. success:{succeeded}, active: {active}, failed: {failed}"),
    }))
}
