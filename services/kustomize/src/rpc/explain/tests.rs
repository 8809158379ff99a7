use serde_json::{Value, json};

use super::*;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("apps", name)
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!({"type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn kustomization(name: &str, spec: Value, ready: Value) -> Arc<Kustomization> {
    let mut full =
        json!({"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "src"}});
    full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let object = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "apps", "generation": 1}, "spec": full,
        "status": {"observedGeneration": 1, "conditions": [ready]}});
    Arc::new(serde_json::from_value(object).unwrap())
}

fn source(ready: Value, has_artifact: bool) -> SourceFact {
    let conditions = vec![serde_json::from_value(ready).unwrap()];
    SourceFact::Known(SeenSource { conditions, has_artifact, is_suspended: false })
}

fn known(object: Arc<Kustomization>, source: SourceFact) -> Fact {
    let awaited = match object.metadata.name.as_deref() {
        Some("db") => vec![("StatefulSet/apps/db".to_owned(), Health::InProgress, "Ready: 0/1".to_owned())],
        _ => Vec::new(),
    };
    Fact::Known(Box::new(Known { object, source, awaited }))
}

fn lines(explanation: &Explanation, depth: usize) -> String {
    let state = explanation.state().as_str_name().trim_start_matches("STATE_");
    let line = format!("{}{} {state} {}\n", "  ".repeat(depth), explanation.object, explanation.message);
    explanation.causes.iter().fold(line, |text, cause| text + &lines(cause, depth + 1))
}

/// Waits for a chain of things, each with the state that matters; what is ready is left out.
#[test]
fn causes_are_followed_to_their_ends() {
    let good = || source(ready("True", "Succeeded", "stored"), true);
    let dependency =
        |name: &str| json!({"dependsOn": [{"name": name}, {"name": "ready"}, {"name": "secret"}]});
    let look = |key: &ObjectKey| match key.name.as_str() {
        "web" => {
            let ready = ready("False", "DependencyNotReady", "dependency 'apps/db' is not ready");
            known(kustomization("web", dependency("db"), ready), good())
        }
        "db" => {
            let ready = ready("Unknown", "Progressing", "Reconciliation in progress");
            known(
                kustomization(
                    "db",
                    json!({"dependsOn": [{"name": "web"}, {"name": "gone"}, {"name": "old"}]}),
                    ready,
                ),
                good(),
            )
        }
        "ready" => known(kustomization("ready", json!({}), ready("True", "x", "Applied")), good()),
        "old" => {
            let failed = source(ready("False", "GitOperationFailed", "no route"), false);
            known(kustomization("old", json!({}), ready("False", "ArtifactFailed", "no artifact")), failed)
        }
        "secret" => Fact::Hidden,
        _ => Fact::Missing,
    };
    let mut facts = Facts::about(&key("web"));
    while let Some(key) = facts.next() {
        let fact = look(&key);
        facts.insert(key, fact);
    }
    let expected = "Kustomization/apps/web WAITING dependency 'apps/db' is not ready\n  \
        Kustomization/apps/db WAITING Reconciliation in progress\n    \
        Kustomization/apps/web WAITING dependency 'apps/db' is not ready\n    \
        Kustomization/apps/gone MISSING there is no such object\n    \
        Kustomization/apps/old FAILED no artifact\n      \
        GitRepository/apps/src FAILED no artifact yet: no route\n    \
        StatefulSet/apps/db WAITING Ready: 0/1\n  \
        Kustomization/apps/secret HIDDEN \n";
    let explanation = facts.explain(&key("web"));
    assert_eq!(lines(&explanation, 0), expected);
    assert_eq!(explanation.since.unwrap().seconds, 1_767_225_600);
}

#[test]
fn suspension_is_the_whole_explanation() {
    let object = kustomization(
        "web",
        json!({"suspend": true, "dependsOn": [{"name": "db"}]}),
        ready("False", "x", "y"),
    );
    let mut facts = Facts::about(&key("web"));
    facts.insert(key("web"), known(object, SourceFact::Missing));
    let expected = "Kustomization/apps/web SUSPENDED nothing happens until it is resumed\n";
    assert_eq!(lines(&facts.explain(&key("web")), 0), expected);
}
