//! Conditions of an object: set, remove and read them as Flux's controllers do. [`Writer`] knows the common states.

mod writer;

use jiff::Timestamp;
use weir_api::Condition;
use weir_api::condition_type::{self, READY, RECONCILING, STALLED};

pub use self::writer::Writer;

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
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Longest message the API takes (maxLength of `metav1.Condition`), in bytes to be on the safe side, as Flux has it.
const MAX_MESSAGE: usize = 32_768;
/// End of a message that was cut.
const CUT: &str = "...";

/// Sets a condition; `lastTransitionTime` moves when status, reason or message change (SRC-TYP-8). The list stays in the
/// order of [`sort`].
pub fn set(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: Status,
    reason: &str,
    message: &str,
    generation: i64,
    now: Timestamp,
) {
    let mut condition = Condition {
        type_: type_.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_owned(),
        message: shortened(message),
        observed_generation: Some(generation),
        last_transition_time: weir_api::condition_time(now),
    };
    let state = |of: &Condition| (of.status.clone(), of.reason.clone(), of.message.clone());
    match conditions.iter_mut().find(|known| known.type_ == type_) {
        Some(known) => {
            if state(known) == state(&condition) {
                condition.last_transition_time = known.last_transition_time.clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
    sort(conditions);
}

fn shortened(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(MAX_MESSAGE - CUT.len());
    format!("{}{CUT}", message.get(..end).unwrap_or_default())
}

/// The order that observers know: Stalled, Reconciling and Ready, then what is about the newest generation, by name
/// (SRC-TYP-9).
fn sort(conditions: &mut [Condition]) {
    const FIRST: [&str; 3] = [STALLED, RECONCILING, READY];
    conditions.sort_by(|a, b| {
        let rank = |of: &Condition| FIRST.iter().position(|first| *first == of.type_).unwrap_or(FIRST.len());
        let newest = || b.observed_generation.cmp(&a.observed_generation);
        rank(a).cmp(&rank(b)).then_with(newest).then_with(|| a.type_.cmp(&b.type_))
    });
}

/// Takes the conditions that are not ours as they are in `latest`, whatever they were when the run began (SRC-REC-11).
pub(crate) fn keep_foreign(conditions: &mut Vec<Condition>, latest: &[Condition]) {
    let is_ours = |condition: &Condition| condition_type::OURS.contains(&condition.type_.as_str());
    conditions.retain(is_ours);
    conditions.extend(latest.iter().filter(|condition| !is_ours(condition)).cloned());
    sort(conditions);
}

/// Removes a condition if it is there.
pub fn remove(conditions: &mut Vec<Condition>, type_: &str) {
    conditions.retain(|condition| condition.type_ != type_);
}

/// The condition of that type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Returns true when the condition is there with status `True`.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Returns true when the object is Ready.
pub fn is_ready(conditions: &[Condition]) -> bool {
    is_true(conditions, READY)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    /// SRC-TYP-8.
    #[rstest]
    #[case::nothing(Status::True, "Succeeded", "done", 1)]
    #[case::status(Status::False, "Succeeded", "done", 2)]
    #[case::reason(Status::True, "Other", "done", 2)]
    #[case::message(Status::True, "Succeeded", "done again", 2)]
    fn the_time_moves_with(
        #[case] status: Status,
        #[case] reason: &str,
        #[case] message: &str,
        #[case] time: i64,
    ) {
        let mut conditions = Vec::new();
        set(&mut conditions, READY, Status::True, "Succeeded", "done", 1, at(1));
        set(&mut conditions, READY, status, reason, message, 2, at(2));
        let ready = find(&conditions, READY).unwrap();
        assert_eq!((ready.last_transition_time.0, ready.observed_generation), (at(time), Some(2)));
    }

    /// SRC-TYP-9.
    #[test]
    fn the_order_is_fixed() {
        let mut conditions = Vec::new();
        for (type_, generation) in [("B", 1), ("A", 1), ("C", 2), (READY, 1), (RECONCILING, 1), (STALLED, 1)]
        {
            set(&mut conditions, type_, Status::True, "Reason", "", generation, at(0));
        }
        let order: Vec<_> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(order, [STALLED, RECONCILING, READY, "C", "A", "B"]);
    }

    #[rstest]
    #[case("x".repeat(MAX_MESSAGE), "x".repeat(MAX_MESSAGE))]
    #[case("x".repeat(MAX_MESSAGE + 1), format!("{}...", "x".repeat(MAX_MESSAGE - 3)))]
    #[case("é".repeat(MAX_MESSAGE), format!("{}...", "é".repeat((MAX_MESSAGE - 4) / 2)))]
    fn long_messages_are_cut(#[case] message: String, #[case] expected: String) {
        assert_eq!(shortened(&message), expected);
    }
}
