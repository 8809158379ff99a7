//! Conditions of an object: set, remove and read them as Flux's controllers do.

use jiff::Timestamp;
use weir_api::Condition;

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// `"True"`.
    True,
    /// `"False"`.
    False,
    /// `"Unknown"`.
    Unknown,
}

impl Status {
    /// The text in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::True => "True",
            Status::False => "False",
            Status::Unknown => "Unknown",
        }
    }
}

/// Longest message the API takes (maxLength of `metav1.Condition`).
const MAX_MESSAGE: usize = 32_768;

/// Sets a condition; `lastTransitionTime` moves only when the condition's status changes. The list stays in the order
/// observers know: Reconciling, Stalled, Ready, then the others as they came.
pub fn set(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: Status,
    reason: &str,
    message: &str,
    generation: i64,
    now: Timestamp,
) {
    let mut message = message.to_owned();
    if message.len() > MAX_MESSAGE {
        let end = (0..=MAX_MESSAGE).rev().find(|&end| message.is_char_boundary(end)).unwrap_or(0);
        message.truncate(end);
    }
    let mut condition = Condition {
        type_: type_.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation: Some(generation),
        last_transition_time: weir_api::condition_time(now),
    };
    match conditions.iter_mut().find(|known| known.type_ == type_) {
        Some(known) => {
            if known.status == condition.status {
                condition.last_transition_time = known.last_transition_time.clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
    conditions.sort_by_key(|known| match known.type_.as_str() {
        "Reconciling" => 0,
        "Stalled" => 1,
        "Ready" => 2,
        _ => 3,
    });
}

/// Removes a condition if it is there.
pub fn remove(conditions: &mut Vec<Condition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// The condition of that type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition is there with status `True`.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Whether the object is Ready.
pub fn is_ready(conditions: &[Condition]) -> bool {
    is_true(conditions, "Ready")
}
