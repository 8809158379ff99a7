use serde_json::{Value, json};

use super::*;

fn read<K: FluxObject>(spec: Value, status: Value) -> K {
    let api_version = format!("{}/{}", K::GROUP, K::VERSION);
    let metadata = json!({ "name": "x", "namespace": "y" });
    serde_json::from_value(json!({
        "apiVersion": api_version, "kind": K::KIND, "metadata": metadata, "spec": spec, "status": status,
    }))
    .unwrap()
}

/// The names of the trait are those of the definition.
fn assert_named<K: FluxObject + kube::CustomResourceExt>() {
    let resource = K::api_resource();
    assert_eq!(
        (K::GROUP, K::VERSION, K::KIND, K::PLURAL),
        (&*resource.group, &*resource.version, &*resource.kind, &*resource.plural)
    );
}

#[test]
fn names_are_those_of_the_definitions() {
    assert_named::<GitRepository>();
    assert_named::<OciRepository>();
    assert_named::<Bucket>();
    assert_named::<HelmRepository>();
    assert_named::<HelmChart>();
    assert_named::<ExternalArtifact>();
    assert_named::<ArtifactGenerator>();
    assert_named::<Kustomization>();
    assert_named::<ImageRepository>();
    assert_named::<ImagePolicy>();
    assert_named::<ImageUpdateAutomation>();
    assert_named::<Alert>();
    assert_named::<Provider>();
    assert_named::<Receiver>();
}

/// Objects from an API server of the future, or from an old Flux, are read (DEP-K8S-4, SRC-API-8).
#[test]
fn unknown_values_and_old_shapes_are_read() {
    let git: GitRepository = read(
        json!({ "interval": "1h0m0.5s", "url": "gopher://x", "provider": "new", "gitImplementation": "libgit2" }),
        json!({
            "artifact": { "path": "p", "url": "u", "revision": "main/abc", "checksum": "c", "lastUpdateTime": "2022-01-02T03:04:05Z" },
            "url": "http://old",
        }),
    );
    assert_eq!(git.spec.provider.as_deref(), Some("new"));
    assert_eq!(git.status.unwrap().artifact.unwrap().digest, "");
}

/// Fields that have to be there today, and that some older version of Flux did without.
#[test]
fn fields_that_older_versions_did_without_are_read_as_empty() {
    let repository: ImageRepository = read(json!({ "accessFrom": {} }), json!({}));
    assert_eq!((repository.spec.image.as_str(), repository.spec.interval), ("", Duration::default()));
    let git: GitRepository = read(
        json!({ "interval": "1m", "url": "https://x", "verify": { "mode": "head" } }),
        json!({ "artifact": { "path": "p", "url": "u", "lastUpdateTime": "2022-01-02T03:04:05Z" } }),
    );
    assert_eq!(git.spec.verify.unwrap().secret_ref.name, "");
    assert_eq!(git.status.unwrap().artifact.unwrap().revision, "");
    let automation: ImageUpdateAutomation = read(
        json!({
            "interval": "1m", "sourceRef": { "kind": "GitRepository", "name": "x" },
            "git": { "commit": { "author": { "email": "x" }, "signingKey": {} } },
        }),
        json!({}),
    );
    assert_eq!(automation.spec.git.unwrap().commit.signing_key.unwrap().secret_ref.name, "");
    let alert: Alert =
        read(json!({ "providerRef": { "name": "x" }, "eventSources": [{ "name": "x" }] }), json!({}));
    assert_eq!(alert.spec.event_sources[0].kind, "");
    let receiver: Receiver = read(json!({ "type": "generic", "resources": [{ "name": "x" }] }), json!({}));
    assert_eq!(receiver.spec.resources[0].reference.kind, "");
    let apps: Kustomization = read(
        json!({ "interval": "10m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "x" }, "patches": [{}] }),
        json!({}),
    );
    assert_eq!(apps.spec.patches[0].patch, "");
}

#[test]
fn objects_say_where_they_stand() {
    let mut apps: Kustomization = read(
        json!({ "interval": "10m", "prune": true, "suspend": true, "sourceRef": { "kind": "GitRepository", "name": "x" } }),
        json!({ "observedGeneration": 3, "lastAppliedRevision": "main@sha1:abc", "lastHandledReconcileAt": "t1" }),
    );
    assert!(apps.is_suspended());
    assert_eq!(apps.interval(), Some(Duration::from_secs(600)));
    assert_eq!(apps.revision(), Some("main@sha1:abc"));
    assert_eq!(apps.observed_generation(), 3);
    assert_eq!(apps.last_handled_reconcile_at(), Some("t1"));
    apps.set_last_handled_reconcile_at("t2");
    assert_eq!(apps.last_handled_reconcile_at(), Some("t2"));
}

#[test]
fn objects_that_nothing_has_looked_at() {
    let mut policy = ImagePolicy::default();
    assert_eq!((policy.observed_generation(), policy.revision(), policy.conditions().len()), (-1, None, 0));
    assert!(policy.conditions_mut().is_some_and(|conditions| conditions.is_empty()));
    assert!(Alert::default().conditions_mut().is_none());
}

/// Nothing is written that was not there: an empty status stays empty, so that a patch of it changes nothing.
#[test]
fn absent_fields_are_not_written() {
    let spec = json!({ "interval": "1m0s", "url": "oci://x" });
    let repository: OciRepository = read(spec.clone(), json!({}));
    let written = serde_json::to_value(&repository).unwrap();
    assert_eq!((&written["spec"], &written["status"]), (&spec, &json!({})));
}
