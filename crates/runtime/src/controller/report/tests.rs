use super::*;
use crate::log::written::Written;

/// OBS-01, SRC-LOG-1: the message of a failed run is always the same, and its cause stands beside it.
#[test]
fn a_failure_is_logged_with_its_cause() {
    let written = Written::default();
    let out = written.clone();
    let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(move || out.clone());
    tracing::subscriber::with_default(subscriber.finish(), || {
        let error = Outcome::new((), Next::Backoff).error("no such host");
        log(Duration::ZERO, Some("main@sha1:a"), error.log, error.cause);
        let failed = Outcome::new((), Next::Backoff).failed("Reconciliation failed after 1s", "no such host");
        log(Duration::ZERO, None, failed.log, failed.cause);
        let done = Outcome::new((), Next::Stop).info("stored artifact");
        log(Duration::ZERO, None, done.log, done.cause);
    });
    let text = String::from_utf8(written.0.lock().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown = lines.iter().map(|line| (&line["level"], &line["message"], line.get("error")));
    let cause = Value::from("no such host");
    let expected: [(Value, Value, Option<&Value>); 3] = [
        ("ERROR".into(), "Reconciler error".into(), Some(&cause)),
        ("ERROR".into(), "Reconciliation failed after 1s".into(), Some(&cause)),
        ("INFO".into(), "stored artifact".into(), None),
    ];
    let expected = expected.iter().map(|(level, message, error)| (level, message, *error));
    assert_eq!(shown.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(lines[0]["revision"], "main@sha1:a");
}
