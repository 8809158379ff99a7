//! Status and events of a scan (IR-15, IR-17, image spec 2.7).

use jiff::Timestamp;
use weir_api::{Duration, ImageRepository, condition_time, image::ScanResult, reason};
use weir_runtime::condition::{self, Writer};
use weir_runtime::{EventDraft, Failure, Next, Outcome};

use super::{
    act::{Found, ScanError},
    decide::{Plan, READ_OPERATION_FAILED, authentication_failed, exclusions},
};

/// Makes the outcome of a run.
pub(super) fn report(
    object: &ImageRepository,
    writer: &Writer,
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
                writer,
                quiet,
                // Without jitter, as with Flux: a timer that fires early finds nothing to scan.
                Next::exactly(interval.to_std()),
            )
        }
        // No registry was asked: the certificates or the proxy of the object make no client.
        (Plan::Scan(_), Some(Err(ScanError::Registry(weir_oci::Error::Client(error))))) => {
            authentication_failed(error).outcome(object.clone(), writer, &writer.progress())
        }
        (Plan::Scan(scan), Some(Err(error))) => {
            let failure = Failure::retried(READ_OPERATION_FAILED, format!("scan failed: {error}"));
            let failure = failure.after(error.asked_wait());
            failure.outcome(object.clone(), writer, &scan.why.progress())
        }
        (Plan::Keep { next, canonical }, _) => {
            let left = Duration::from(next);
            let quiet = format!("no change in repository configuration since last scan, next scan in {left}");
            succeeded(object, object.clone(), canonical, writer, quiet, Next::After(next))
        }
        (Plan::Hindered { why, failure }, _) => failure.outcome(object.clone(), writer, &why.progress()),
        (Plan::Fail(failure), _) => failure.outcome(object.clone(), writer, &writer.progress()),
        // A scan always has a result; without one there is nothing to report.
        (Plan::Scan(_), None) => Outcome::superseded(object.clone()),
    }
}

fn succeeded(
    before: &ImageRepository,
    mut object: ImageRepository,
    canonical: String,
    writer: &Writer,
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
    writer.ready(&mut status.conditions, reason::SUCCEEDED, &message);
    let event = match ready_message(before) {
        Some(known) if known == message => EventDraft::trace(reason::SUCCEEDED, quiet),
        _ => EventDraft::info(reason::SUCCEEDED, &message),
    };
    Outcome::new(object, next).event(event).info(message)
}

/// The message with which the object was ready.
fn ready_message(object: &ImageRepository) -> Option<&str> {
    let conditions = &object.status.as_ref()?.conditions;
    let ready = condition::find(conditions, "Ready").filter(|ready| ready.status == "True")?;
    Some(&ready.message)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use serde_json::json;
    use weir_oci::{RegistryOptions, Repository};

    use super::*;
    use crate::image_repository::decide::{Scan, Why};

    fn next(interval: &str, result: Result<Found, ScanError>) -> Next {
        let object = json!({
            "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageRepository",
            "metadata": {"name": "app", "namespace": "ns"}, "spec": {"image": "org/app", "interval": interval},
        });
        let object: ImageRepository = serde_json::from_value(object).unwrap();
        let repository = Repository::parse("org/app").unwrap();
        let scan = Scan {
            why: Why::First,
            repository,
            options: RegistryOptions::default(),
            exclusions: Vec::new(),
            fills_store: false,
        };
        let now = Timestamp::UNIX_EPOCH;
        report(&object, &Writer::of(&object, now), Plan::Scan(Box::new(scan)), Some(result), now).next
    }

    /// An interval of zero is none, as in Flux.
    #[rstest]
    #[case("1m", Next::After(Duration::from_secs(60)))]
    #[case("0s", Next::Interval(Duration::ZERO))]
    fn the_next_scan_comes_after_the_interval(#[case] interval: &str, #[case] expected: Next) {
        let found = Found { count: 1, revision: "r".to_owned(), latest: Vec::new() };
        assert_eq!(next(interval, Ok(found)), expected);
    }

    #[rstest]
    #[case(None, Next::Backoff)]
    #[case(Some(20), Next::BackoffFrom(Duration::from_secs(20)))]
    fn a_registry_that_asks_for_time_gets_it(#[case] seconds: Option<u64>, #[case] expected: Next) {
        let refused = weir_oci::Error::Refused {
            method: axum::http::Method::GET,
            url: String::new(),
            words: String::new(),
            status: axum::http::StatusCode::TOO_MANY_REQUESTS,
            retry_after: seconds.map(Duration::from_secs),
        };
        assert_eq!(next("1m", Err(refused.into())), expected);
    }
}
