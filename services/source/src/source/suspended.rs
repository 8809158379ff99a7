//! A suspended source: nothing is fetched, but nothing is claimed that is not so.

use weir_api::Condition;
use weir_api::condition_type::{ARTIFACT_IN_STORAGE, READY, RECONCILING, STALLED};
use weir_runtime::condition::{self, Status, Writer};

use super::{Source, known_artifact};
use crate::storage::{Found, Storage};

/// Reason of the conditions of a suspended object whose artifact is gone.
const REASON: &str = "ArtifactNotFound";
const MESSAGE: &str = "artifact disappeared from storage, resume the object to fetch it again";

/// Returns the object as it should be shown: its newest generation was seen; an artifact whose file is gone, as after
/// a restart on an empty disk, is no longer advertised (SRC deviation 23). None when it never had a condition.
pub(super) async fn suspended<S: Source>(storage: &Storage, object: &S) -> Option<S> {
    if object.conditions().is_empty() {
        return None;
    }
    let found = match (object.location(), object.artifact()) {
        (Ok(at), Some(artifact)) => storage.look(&at, artifact).await,
        _ => Found::Nothing,
    };
    Some(shown(object, &found, |path| storage.url_of(path)))
}

/// Returns the object as it is shown once its files are removed, while finalizers of others keep it: consumers wait for an
/// artifact instead of asking for one that is gone.
pub(super) fn kept<S: Source>(object: &S) -> S {
    let mut object = seen(object);
    *object.status_mut().artifact = None;
    object
}

fn shown<S: Source>(object: &S, found: &Found, url: impl Fn(&str) -> Option<String>) -> S {
    let writer = Writer::of(object, jiff::Timestamp::now());
    let mut object = seen(object);
    if *found != Found::Nothing {
        known_artifact(&mut object, found, url);
    }
    let parts = object.status_mut();
    if matches!(found, Found::Missing | Found::Broken { .. }) {
        for type_ in [ARTIFACT_IN_STORAGE, READY] {
            writer.set(parts.conditions, type_, Status::False, REASON, MESSAGE);
        }
    }
    object
}

/// Returns the object with the mark that its newest generation was seen. Nothing is tried any more: nothing is stalled.
fn seen<S: Source>(object: &S) -> S {
    let generation = Writer::of(object, jiff::Timestamp::now()).generation();
    let mut object = object.clone();
    let parts = object.status_mut();
    *parts.observed_generation = generation;
    condition::remove(parts.conditions, STALLED);
    let is_of_the_run = |condition: &&mut Condition| [READY, RECONCILING].contains(&condition.type_.as_str());
    for condition in parts.conditions.iter_mut().filter(is_of_the_run) {
        condition.observed_generation = Some(generation);
    }
    object
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use weir_api::GitRepository;

    use super::*;

    fn stored() -> GitRepository {
        let condition = |type_: &str| {
            json!({ "type": type_, "status": "True", "reason": "Succeeded", "message": "m", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-02T03:04:05Z" })
        };
        serde_json::from_value(json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": { "name": "a", "namespace": "b", "generation": 2 },
            "spec": { "url": "https://h/r", "interval": "1m", "suspend": true },
            "status": { "observedGeneration": 1, "conditions": [condition("Ready"), condition("ArtifactInStorage")],
                "artifact": { "path": "p", "url": "http://old/p", "digest": "sha256:a", "revision": "r",
                    "lastUpdateTime": "2026-01-02T03:04:05Z" } },
        }))
        .unwrap()
    }

    #[rstest]
    #[case(Found::Whole, "True", true)]
    #[case(Found::Unreadable { reason: "x".into() }, "True", true)]
    #[case(Found::Missing, "False", false)]
    #[case(Found::Broken { reason: "x".into() }, "False", false)]
    fn a_lost_artifact_is_no_longer_advertised(
        #[case] found: Found,
        #[case] ready: &str,
        #[case] there: bool,
    ) {
        let status = shown(&stored(), &found, |path| Some(format!("http://new/{path}"))).status.unwrap();
        let status: Value = serde_json::to_value(status).unwrap();
        assert_eq!(status["observedGeneration"], 2);
        for condition in status["conditions"].as_array().unwrap() {
            assert_eq!(condition["status"], ready, "{condition}");
        }
        assert_eq!(status["conditions"][0]["observedGeneration"], 2);
        assert_eq!(status["artifact"].is_object(), there);
        if there {
            let address = if found == Found::Whole { "http://new/p" } else { "http://old/p" };
            assert_eq!(status["artifact"]["url"], address);
        }
    }

    /// As Flux shows it: what was being tried again is of the newest generation, and nothing is stalled.
    #[test]
    fn a_failure_is_shown_as_seen_in_the_newest_generation() {
        let mut object = stored();
        let condition = |type_: &str, status: &str| -> Condition {
            serde_json::from_value(json!({ "type": type_, "status": status, "reason": "r", "message": "m",
                "observedGeneration": 1, "lastTransitionTime": "2026-01-02T03:04:05Z" }))
            .unwrap()
        };
        let conditions =
            [("Stalled", "True"), ("Reconciling", "True"), ("Ready", "False"), ("FetchFailed", "True")];
        object.status.as_mut().unwrap().conditions =
            conditions.map(|(type_, status)| condition(type_, status)).into();
        let shown = shown(&object, &Found::Whole, |_| None).status.unwrap().conditions;
        let shown: Vec<_> =
            shown.iter().map(|it| (it.type_.as_str(), it.observed_generation.unwrap())).collect();
        assert_eq!(shown, [("Reconciling", 2), ("Ready", 2), ("FetchFailed", 1)]);
    }
}
