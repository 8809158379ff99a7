//! Status and events of a scan (IR-15, IR-17, image spec 2.7).

use jiff::Timestamp;
use weir_api::{Duration, ImageRepository, condition_time, image::ScanResult, reason};
use weir_runtime::{EventDraft, Next, Outcome, condition};

use super::{
    act::{Found, ScanError},
    decide::{Plan, READ_OPERATION_FAILED, exclusions},
};
use crate::mark::{Failure, Mark};

/// Makes the outcome of a run.
pub(super) fn report(
    object: &ImageRepository,
    mark: &Mark,
    plan: Plan,
    result: Option<Result<Found, ScanError>>,
    now: Timestamp,
) -> Outcome<ImageRepository> {
    let interval = object.spec.interval;
    match (plan, result) {
        (Plan::Scan(scan), Some(Ok(found))) => {
            let quiet = format!("tags did not change, next scan in {interval}");
            let mut scanned = object.clone();
            let status = scanned.status.get_or_insert_default();
            status.last_scan_result = Some(ScanResult {
                revision: found.revision,
                tag_count: i64::try_from(found.count).unwrap_or(i64::MAX),
                scan_time: Some(condition_time(now)),
                latest_tags: found.latest,
            });
            succeeded(
                object,
                scanned,
                scan.repository.to_string(),
                mark,
                quiet,
                Next::Interval(interval.to_std()),
            )
        }
        (Plan::Scan(scan), Some(Err(error))) => {
            let failure = Failure::retry(READ_OPERATION_FAILED, format!("scan failed: {error}"));
            failed(object, mark, &failure, &scan.progress())
        }
        (Plan::Keep { next, canonical }, _) => {
            let left = Duration::from(next);
            let quiet = format!("no change in repository configuration since last scan, next scan in {left}");
            succeeded(object, object.clone(), canonical, mark, quiet, Next::After(next))
        }
        (Plan::Fail(failure), _) => failed(object, mark, &failure, &mark.progress()),
        // A scan always has a result; without one there is nothing to report.
        (Plan::Scan(_), None) => Outcome::superseded(object.clone()),
    }
}

fn succeeded(
    before: &ImageRepository,
    mut object: ImageRepository,
    canonical: String,
    mark: &Mark,
    quiet: String,
    next: Next,
) -> Outcome<ImageRepository> {
    let exclusions = exclusions(before);
    let status = object.status.get_or_insert_default();
    status.canonical_image_name = Some(canonical);
    status.observed_exclusion_list = exclusions;
    status.observed_generation = before.metadata.generation.unwrap_or_default();
    let (count, revision) =
        status.last_scan_result.as_ref().map_or((0, ""), |last| (last.tag_count, last.revision.as_str()));
    let message = format!("successful scan: found {count} tags with checksum {revision}");
    mark.ready(&mut status.conditions, &message);
    let event = match ready_message(before) {
        Some(known) if known == message => EventDraft::trace(reason::SUCCEEDED, quiet),
        _ => EventDraft::info(reason::SUCCEEDED, &message),
    };
    Outcome::new(object, next).event(event).info(message)
}

fn failed(
    before: &ImageRepository,
    mark: &Mark,
    failure: &Failure,
    progress: &str,
) -> Outcome<ImageRepository> {
    let mut object = before.clone();
    let status = object.status.get_or_insert_default();
    mark.failed(&mut status.conditions, failure, progress);
    if failure.is_terminal {
        status.observed_generation = before.metadata.generation.unwrap_or_default();
    }
    let next = if failure.is_terminal { Next::Stop } else { Next::Backoff };
    Outcome::new(object, next)
        .event(EventDraft::error(failure.reason, &failure.message))
        .error(failure.message.clone())
}

/// The message with which the object was ready.
fn ready_message(object: &ImageRepository) -> Option<&str> {
    let conditions = &object.status.as_ref()?.conditions;
    let ready = condition::find(conditions, "Ready").filter(|ready| ready.status == "True")?;
    Some(&ready.message)
}
