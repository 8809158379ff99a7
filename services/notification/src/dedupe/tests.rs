//! The duplicate key and its windows.

use jiff::ToSpan;

use super::*;
use crate::event::ObjectReference;

fn at(milliseconds: i64) -> Timestamp {
    "2026-01-02T03:04:05Z".parse::<Timestamp>().unwrap() + milliseconds.milliseconds()
}

fn event(metadata: &[(&str, &str)]) -> Event {
    Event {
        involved_object: ObjectReference {
            kind: "Kustomization".into(),
            name: "webapp".into(),
            namespace: "apps".into(),
            api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
            ..Default::default()
        },
        message: "hello".into(),
        metadata: metadata
            .iter()
            .map(|(k, v)| (format!("kustomize.toolkit.fluxcd.io/{k}"), v.to_string()))
            .collect(),
        ..Default::default()
    }
}

#[test]
fn key_is_the_hash_of_the_identifying_parts() {
    let key = key(&event(&[("revision", "main@sha1:abc"), ("other", "x")]));
    assert_eq!(key, "0571997c89c04bd6705b555e049363dc010ea39d8a90f4134c0f83807e0e3d45");
}

#[test]
fn revision_origin_and_token_tell_events_apart_and_severity_does_not() {
    let keys: std::collections::BTreeSet<String> =
        [&[("revision", "a")], &[("originRevision", "a")], &[("token", "a")]].map(|m| key(&event(m))).into();
    assert_eq!(keys.len(), 3);
    let loud = Event { severity: "error".into(), reason: "Other".into(), ..event(&[]) };
    assert_eq!(key(&loud), key(&event(&[])));
}

#[test]
fn windows_are_aligned_to_the_first_sighting() {
    let mut windows = Windows::new(SignedDuration::from_secs(2));
    let admitted: Vec<bool> =
        [0, 1900, 2100, 3900, 4000, 4001, 9999].map(|ms| windows.admit("k", at(ms)).is_admitted).into();
    assert_eq!(admitted, [true, false, true, false, true, false, true]);
}

#[test]
fn reset_is_the_start_of_the_next_window() {
    let mut windows = Windows::new(SignedDuration::from_secs(2));
    windows.admit("k", at(0));
    assert_eq!(windows.admit("k", at(500)), Admission { is_admitted: false, reset: at(2000) });
    assert_eq!(windows.admit("k", at(4500)), Admission { is_admitted: true, reset: at(6000) });
}

#[test]
fn a_released_token_can_be_taken_again() {
    let mut windows = Windows::new(SignedDuration::from_secs(2));
    windows.admit("k", at(0));
    windows.release("k");
    assert!(windows.admit("k", at(1)).is_admitted);
}

#[test]
fn a_clock_set_back_refuses_rather_than_repeats() {
    let mut windows = Windows::new(SignedDuration::from_secs(2));
    windows.admit("k", at(5000));
    assert!(!windows.admit("k", at(0)).is_admitted);
}

#[test]
fn idle_keys_are_swept_and_the_store_stays_bounded() {
    let mut windows = Windows::new(SignedDuration::from_secs(2));
    windows.admit("old", at(0));
    windows.admit("new", at(4001));
    assert_eq!(windows.remembered(), 1);
    for n in 0..(MAX_KEYS + 10) {
        windows.admit(&n.to_string(), at(4002));
    }
    assert!(windows.remembered() <= MAX_KEYS);
}

#[test]
fn without_an_interval_everything_passes() {
    let mut windows = Windows::new(SignedDuration::ZERO);
    assert!(windows.admit("k", at(0)).is_admitted && windows.admit("k", at(0)).is_admitted);
}
