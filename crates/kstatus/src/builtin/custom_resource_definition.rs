//! KS-KST-83.

use serde_json::Value;

use crate::Assessment;
use crate::fields::{Malformed, conditions};

pub(crate) fn assess(object: &Value) -> Result<Assessment, Malformed> {
    for condition in conditions(object)? {
        match (condition.kind, condition.status) {
            ("NamesAccepted", "False") => return Ok(Assessment::failed(condition.message)),
            ("Established", "False") if condition.reason != "Installing" => {
                return Ok(Assessment::failed(condition.message));
            }
            ("Established", "True") => return Ok(Assessment::current("CRD is established")),
            _ => {}
        }
    }
    Ok(Assessment::in_progress("Install in progress"))
}
