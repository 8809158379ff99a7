//! Others that have a hand in the same objects: fields that are left to them, and owners before.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use weir_ssa::{IgnoreRules, Owner, Settings};

use crate::world::{PATIENCE, World};

fn ignoring(world: &World, pointer: &'static str) -> Settings {
    let ignored = IgnoreRules::new(1, move |object: &DynamicObject| {
        let is_meant = object.types.as_ref().is_some_and(|types| types.kind == "Deployment");
        if is_meant { vec![pointer.to_owned()] } else { Vec::new() }
    });
    Settings { ignored, ..world.settings() }
}

fn deployment(world: &World, replicas: u32, min_ready: u32) -> Value {
    let mut object = world.deployment("web", "one");
    object["spec"]["replicas"] = json!(replicas);
    object["spec"]["minReadySeconds"] = json!(min_ready);
    object
}

fn owns_replicas(object: &DynamicObject, manager: &str) -> bool {
    let mut entries = object.metadata.managed_fields.iter().flatten();
    entries.any(|entry| {
        entry.manager.as_deref() == Some(manager)
            && entry.operation.as_deref() == Some("Apply")
            && entry.fields_v1.as_ref().unwrap().0.pointer("/f:spec/f:replicas").is_some()
    })
}

/// KS-SSA-71 to KS-SSA-73: the field of somebody who applies it is given up.
#[tokio::test(flavor = "multi_thread")]
async fn ignored_field_that_another_applies_is_left_to_them() {
    let world = World::new().await;
    let settings = ignoring(&world, "/spec/replicas");
    world.apply_with(&[deployment(&world, 2, 0)], &settings).await.unwrap();
    let api = world.api("apps/v1", "Deployment").await;
    assert_eq!(api.get("web").await.unwrap().data["spec"]["replicas"], 2);
    // Its controller numbers it, which between a dry run and a look would be a difference.
    let is_numbered = |found: Option<&DynamicObject>| {
        let annotations = found.and_then(|found| found.metadata.annotations.as_ref());
        annotations.is_some_and(|known| known.contains_key("deployment.kubernetes.io/revision"))
    };
    weir_testkit::wait_for(&api, "web", "its number", PATIENCE, is_numbered).await.unwrap();
    let scaled = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 5}});
    api.patch("web", &PatchParams::apply("scaler").force(), &Patch::Apply(scaled)).await.unwrap();
    world.ledger.forget(&world.owner());
    let changes = world.apply_with(&[deployment(&world, 2, 0)], &settings).await.unwrap();
    assert_eq!(changes.changed_lines(), "", "drift of an ignored field is none");
    world.proved(&changes).await;
    world.apply_with(&[deployment(&world, 2, 7)], &settings).await.unwrap();
    let live = api.get("web").await.unwrap();
    assert_eq!(
        (&live.data["spec"]["replicas"], &live.data["spec"]["minReadySeconds"]),
        (&json!(5), &json!(7))
    );
    assert!(!owns_replicas(&live, "kustomize-controller") && owns_replicas(&live, "scaler"));
    // Without the rule the manifest holds again, whatever the ledger has proved.
    world.apply(&[deployment(&world, 2, 7)]).await.unwrap();
    assert_eq!(api.get("web").await.unwrap().data["spec"]["replicas"], 2);
}

/// KS-SSA-3: a manifest that names no target port means the port itself, as for Flux.
#[tokio::test(flavor = "multi_thread")]
async fn port_that_somebody_leads_elsewhere_is_led_back() {
    let world = World::new().await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": world.ns},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "a"}}});
    world.apply(std::slice::from_ref(&service)).await.unwrap();
    let api = world.api("v1", "Service").await;
    let port = async || api.get("a").await.unwrap().data["spec"]["ports"][0]["targetPort"].clone();
    assert_eq!(port().await, 80);
    let led = json!({"spec": {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 9999}]}});
    api.patch("a", &PatchParams::apply("hand"), &Patch::Merge(led)).await.unwrap();
    assert_eq!(port().await, 9999);
    world.ledger.forget(&world.owner());
    let changes = world.apply(std::slice::from_ref(&service)).await.unwrap();
    assert_eq!(changes.changed_lines(), format!("Service/{}/a configured", world.ns));
    assert_eq!(port().await, 80);
}

/// KS-SSA-73: the value of somebody who only updates it is kept, and stays ours.
#[tokio::test(flavor = "multi_thread")]
async fn ignored_field_that_another_updates_is_adopted() {
    let world = World::new().await;
    let settings = ignoring(&world, "/spec/replicas");
    let changes = world.apply_with(&[deployment(&world, 2, 0)], &settings).await.unwrap();
    world.proved(&changes).await;
    let api = world.api("apps/v1", "Deployment").await;
    let scaled = Patch::Merge(json!({"spec": {"replicas": 5}}));
    api.patch("web", &PatchParams::apply("scaler"), &scaled).await.unwrap();
    world.apply_with(&[deployment(&world, 2, 7)], &settings).await.unwrap();
    let live = api.get("web").await.unwrap();
    assert_eq!(
        (&live.data["spec"]["replicas"], &live.data["spec"]["minReadySeconds"]),
        (&json!(5), &json!(7))
    );
    assert!(owns_replicas(&live, "kustomize-controller"));
    let fields =
        world.session.diff(vec![deployment(&world, 2, 7).try_into().unwrap()], &settings).await.unwrap();
    assert_eq!(fields[0].fields, [] as [&str; 0]);
}

/// KS-SSA-73: a field that kubectl has applied becomes ours by the same apply, which keeps its value.
#[tokio::test(flavor = "multi_thread")]
async fn ignored_field_that_is_taken_over_is_adopted() {
    let world = World::new().await;
    let settings = ignoring(&world, "/spec/replicas");
    world.apply_with(&[deployment(&world, 2, 0)], &settings).await.unwrap();
    let api = world.api("apps/v1", "Deployment").await;
    let scaled = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 5}});
    api.patch("web", &PatchParams::apply("kubectl").force(), &Patch::Apply(scaled)).await.unwrap();
    world.apply_with(&[deployment(&world, 2, 7)], &settings).await.unwrap();
    let live = api.get("web").await.unwrap();
    assert_eq!(live.data["spec"]["replicas"], 5);
    assert!(owns_replicas(&live, "kustomize-controller") && !owns_replicas(&live, "kubectl"));
}

/// KS-TEN-6
#[tokio::test(flavor = "multi_thread")]
async fn owner_before_and_writers_of_drift_are_told() {
    let world = World::new().await;
    let other = Owner { name: "other".into(), ..world.owner() };
    let settings = Settings { owner: other.clone(), ..world.settings() };
    world.apply_with(&[world.cm("a", "1")], &settings).await.unwrap();
    let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
    assert_eq!(changes.0[0].conflict.owner, Some(other));
    let api = world.api("v1", "ConfigMap").await;
    let edit = Patch::Merge(json!({"data": {"k": "2"}}));
    api.patch("a", &PatchParams::apply("rival"), &edit).await.unwrap();
    world.ledger.forget(&world.owner());
    let conflict = world.apply(&[world.cm("a", "1")]).await.unwrap().0.remove(0).conflict;
    assert_eq!((conflict.owner, conflict.fields), (None, vec!["/data/k".to_owned()]));
    assert_eq!(conflict.managers, ["rival".to_owned()].into());
}

/// KS-SSA-3: Go's types, which Flux reads built-in kinds into, leave empty fields out.
#[tokio::test(flavor = "multi_thread")]
async fn empty_fields_do_not_take_away_what_others_fill_in() {
    let world = World::new().await;
    let webhook = |seconds: u32| {
        let config = json!({"caBundle": "", "service": {"name": "x", "namespace": world.ns}});
        let rule = json!({"apiGroups": ["no.such"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["CREATE"]});
        let webhook = json!({"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "timeoutSeconds": seconds, "rules": [rule], "clientConfig": config});
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": world.ns}, "webhooks": [webhook]})
    };
    let account = |label: &str| {
        let metadata = json!({"name": "a", "namespace": world.ns, "labels": {"x": label}});
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "imagePullSecrets": []})
    };
    world.apply(&[webhook(5), account("1")]).await.unwrap();
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(world.plane.client().unwrap());
    let accounts = world.api("v1", "ServiceAccount").await;
    let certificate = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem();
    let injected =
        json!([{"name": "a.example.com", "clientConfig": {"caBundle": STANDARD.encode(certificate)}}]);
    let other = PatchParams::apply("injector");
    webhooks.patch(&world.ns, &other, &Patch::Strategic(json!({"webhooks": injected}))).await.unwrap();
    let added = Patch::Merge(json!({"imagePullSecrets": [{"name": "pull"}]}));
    accounts.patch("a", &other, &added).await.unwrap();

    world.apply(&[webhook(6), account("2")]).await.unwrap();
    let live = webhooks.get(&world.ns).await.unwrap().webhooks.unwrap().remove(0);
    assert_eq!((live.timeout_seconds, live.client_config.ca_bundle.is_some()), (Some(6), true));
    let live = accounts.get("a").await.unwrap();
    assert_eq!(live.data["imagePullSecrets"], json!([{"name": "pull"}]));
    webhooks.delete(&world.ns, &Default::default()).await.unwrap();
}
