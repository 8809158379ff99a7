//! Status and events of a selection (IP-13 to IP-17).

use std::time::Duration;

use weir_api::{ImagePolicy, image::ImageRef, reason};
use weir_runtime::condition::{self, Writer};
use weir_runtime::{EventDraft, Failure, Next, Outcome};

use super::decide::Plan;

/// Pause between two looks at a digest where the interval is zero.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(600);

/// Makes the outcome of a run.
pub(super) fn report(
    policy: &ImagePolicy,
    writer: &Writer,
    plan: Plan,
    latest: Option<Result<ImageRef, Failure>>,
) -> Outcome<ImagePolicy> {
    match (plan, latest) {
        (Plan::Select(_), Some(Ok(latest))) => selected(policy, writer, latest),
        (Plan::Select(_), Some(Err(failure))) | (Plan::Fail(failure), _) => {
            failure.outcome(policy.clone(), writer, &writer.progress())
        }
        (Plan::Wait(give_up), _) => Outcome::new(policy.clone(), Next::Wait { give_up }),
        // A selection always has a result; without one there is nothing to report.
        (Plan::Select(_), None) => Outcome::superseded(policy.clone()),
    }
}

fn selected(policy: &ImagePolicy, writer: &Writer, latest: ImageRef) -> Outcome<ImagePolicy> {
    let mut object = policy.clone();
    let status = object.status.get_or_insert_default();
    if status.latest_ref.as_ref() != Some(&latest) {
        status.observed_previous_ref = status.latest_ref.replace(latest.clone());
    }
    status.observed_generation = policy.metadata.generation.unwrap_or_default();
    let message = message(&latest, status.observed_previous_ref.as_ref());
    writer.ready(&mut status.conditions, reason::SUCCEEDED, &message);
    let known = policy.status.as_ref().and_then(|status| condition::find(&status.conditions, "Ready"));
    let event = match known.filter(|ready| ready.status == "True") {
        Some(ready) if ready.message == message => EventDraft::trace(reason::SUCCEEDED, &message),
        _ => EventDraft::info(reason::SUCCEEDED, &message),
    };
    Outcome::new(object, next(policy)).event(event).info(message)
}

/// Returns when the digest is looked up again. Unless that is asked for, only changes matter (IP-3). There is no jitter, as with
/// Flux.
fn next(policy: &ImagePolicy) -> Next {
    let interval = policy.spec.interval.map(|interval| interval.to_std());
    match interval.filter(|_| policy.spec.digest_reflection_policy.as_deref() == Some("Always")) {
        None => Next::Interval(Duration::ZERO),
        Some(Duration::ZERO) => Next::After(DEFAULT_INTERVAL),
        Some(interval) => Next::After(interval),
    }
}

fn message(latest: &ImageRef, previous: Option<&ImageRef>) -> String {
    let mut text = format!("Latest image tag for {} resolved to {}", latest.name, latest.tag);
    if !latest.digest.is_empty() {
        text.push_str(&format!(" with digest {}", latest.digest));
    }
    if let Some(previous) = previous.filter(|previous| *previous != latest) {
        text.push_str(&format!(" (previously {previous})"));
    }
    text
}

#[cfg(test)]
mod tests;
