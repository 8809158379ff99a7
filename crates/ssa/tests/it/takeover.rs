use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use weir_ssa::{Notice, Settings};

use crate::world::{PATIENCE, World, lines};

fn managers(object: &kube::api::DynamicObject) -> Vec<(String, String)> {
    let entries = object.metadata.managed_fields.iter().flatten();
    let mut managers: Vec<_> =
        entries.map(|entry| (entry.manager.clone().unwrap(), entry.operation.clone().unwrap())).collect();
    managers.sort();
    managers
}

fn pair(manager: &str, operation: &str) -> (String, String) {
    (manager.into(), operation.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_kubectl_are_taken_over_and_those_of_others_stay() {
    let world = World::new().await;
    let api = world.api("v1", "ConfigMap").await;
    let annotation = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let mut made = world.cm("a", "0");
    made["data"]["old"] = json!("1");
    made["metadata"]["annotations"] = annotation;
    let params =
        PostParams { field_manager: Some("kubectl-client-side-apply".into()), ..PostParams::default() };
    api.create(&params, &serde_json::from_value(made).unwrap()).await.unwrap();
    let helm =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"helm": "1"}});
    api.patch("a", &PatchParams::apply("helm"), &Patch::Apply(helm)).await.unwrap();
    let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
    assert_eq!(lines(&changes), format!("ConfigMap/{}/a configured", world.ns));
    let live = world.config_map("a").await.unwrap();
    assert_eq!(live.data["data"], json!({"helm": "1", "k": "1"}));
    assert_eq!(live.metadata.annotations.clone().unwrap_or_default().len(), 0);
    assert_eq!(managers(&live), [pair("helm", "Apply"), pair("kustomize-controller", "Apply")]);
}

/// Whoever restarts a Deployment by hand while it is taken over does not fail the run.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_changes_before_it_is_taken_over_is_evaluated_anew() {
    let world = World::new().await;
    let api = world.api("v1", "ConfigMap").await;
    let params =
        PostParams { field_manager: Some("kubectl-client-side-apply".into()), ..PostParams::default() };
    api.create(&params, &serde_json::from_value(world.cm("a", "0")).unwrap()).await.unwrap();
    let (other, hand) =
        (api.clone(), Patch::Merge(json!({"metadata": {"annotations": {"touched": "by hand"}}})));
    world.before_takeover(async move {
        other.patch("a", &PatchParams::apply("hand"), &hand).await.unwrap();
    });
    let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
    assert_eq!(lines(&changes), format!("ConfigMap/{}/a configured", world.ns));
    let live = world.config_map("a").await.unwrap();
    assert_eq!(live.metadata.annotations.clone().unwrap()["touched"], "by hand");
    assert_eq!(managers(&live), [pair("hand", "Update"), pair("kustomize-controller", "Apply")]);
}

/// Applies a ConfigMap that is to be merged, lets kubectl add a value, and forgets what is known of it. Returns the manifest.
async fn merged_with_an_edit(world: &World) -> Value {
    let mut merged = world.cm("a", "1");
    merged["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/ssa": "merge"});
    world.apply(std::slice::from_ref(&merged)).await.unwrap();
    let api = world.api("v1", "ConfigMap").await;
    let edit = Patch::Merge(json!({"data": {"extra": "x"}}));
    api.patch("a", &PatchParams::apply("kubectl-edit"), &edit).await.unwrap();
    world.ledger.forget(&world.owner());
    merged
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_keeps_what_kubectl_has_added() {
    let world = World::new().await;
    let merged = merged_with_an_edit(&world).await;
    assert_eq!(world.apply(&[merged]).await.unwrap().changed_lines(), "");
    let live = world.config_map("a").await.unwrap();
    assert_eq!(live.data["data"], json!({"k": "1", "extra": "x"}));
}

/// Nothing but the fields of kubectl is left to do then, which no watch tells of.
#[tokio::test(flavor = "multi_thread")]
async fn fields_of_kubectl_are_taken_over_once_merge_is_dropped() {
    let world = World::new().await;
    let merged = merged_with_an_edit(&world).await;
    let changes = world.apply(&[merged]).await.unwrap();
    world.proved(&changes).await;
    for expected in [json!({"k": "1", "extra": "x"}), json!({"k": "1"})] {
        let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
        assert_eq!(lines(&changes), format!("ConfigMap/{}/a configured", world.ns));
        assert_eq!(world.config_map("a").await.unwrap().data["data"], expected);
    }
}

fn marked(world: &World, name: &str, key: &str, value: &str) -> Value {
    let mut object = world.cm(name, "1");
    object["metadata"]["annotations"] = json!({format!("kustomize.toolkit.fluxcd.io/{key}"): value});
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_on_desired_and_live_are_heeded() {
    let mut world = World::new().await;
    let ns = &world.ns.clone();
    let manifests = [
        marked(&world, "case", "reconcile", "DISABLED"),
        marked(&world, "ignore", "ssa", "Ignore"),
        marked(&world, "once", "ssa", "IfNotPresent"),
        world.cm("live", "1"),
    ];
    let changes = world.apply(&manifests).await.unwrap();
    let expected = format!(
        "ConfigMap/{ns}/case skipped\nConfigMap/{ns}/ignore skipped\nConfigMap/{ns}/live created\nConfigMap/{ns}/once created"
    );
    assert_eq!(lines(&changes), expected);
    let again = world.apply(&manifests).await.unwrap();
    assert!(lines(&again).ends_with(&format!("ConfigMap/{ns}/once skipped")), "{}", lines(&again));
    let api = world.api("v1", "ConfigMap").await;
    let hand = json!({"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}, "data": {"k": "hand"}});
    for name in ["live", "once"] {
        api.patch(name, &PatchParams::apply("hand"), &Patch::Merge(hand.clone())).await.unwrap();
    }
    let notice = tokio::time::timeout(PATIENCE, world.notices.recv()).await.unwrap();
    assert_eq!(notice, Some(Notice::Drift));
    let mut changed = marked(&world, "once", "ssa", "IfNotPresent");
    changed["data"]["k"] = json!("2");
    let changes = world.apply(&[changed, world.cm("live", "1")]).await.unwrap();
    assert_eq!(lines(&changes), format!("ConfigMap/{ns}/live skipped\nConfigMap/{ns}/once skipped"));
    assert_eq!(world.config_map("live").await.unwrap().data["data"]["k"], "hand");
}

#[tokio::test(flavor = "multi_thread")]
async fn immutable_field_is_refused_without_force_and_replaced_with_it() {
    let world = World::new().await;
    world.apply(&[world.deployment("web", "one")]).await.unwrap();
    let api = world.api("apps/v1", "Deployment").await;
    let before = api.get("web").await.unwrap().metadata.uid;
    let failure = world.apply(&[world.deployment("web", "two")]).await.unwrap_err().to_string();
    assert!(failure.contains("field is immutable"), "{failure}");
    let mut settings = world.settings();
    settings.force = true;
    let changes = world.apply_with(&[world.deployment("web", "two")], &settings).await.unwrap();
    assert_eq!(lines(&changes), format!("Deployment/{}/web created", world.ns));
    assert_ne!(api.get("web").await.unwrap().metadata.uid, before);
}

/// Flux deletes first and then finds out that it cannot make the object anew.
#[tokio::test(flavor = "multi_thread")]
async fn force_does_not_delete_what_it_could_not_make_anew() {
    let world = World::new().await;
    world.apply(&[world.deployment("web", "one")]).await.unwrap();
    let api = world.api("apps/v1", "Deployment").await;
    let before = api.get("web").await.unwrap().metadata.uid;
    let mut broken = world.deployment("web", "two");
    broken["spec"]["template"]["spec"]["containers"] = json!([]);
    let mut settings = world.settings();
    settings.force = true;
    let failure = world.apply_with(&[broken], &settings).await.unwrap_err().to_string();
    assert!(failure.contains("dry-run failed (Invalid)"), "{failure}");
    assert!(!failure.contains("field is immutable"), "the fault of the new object is told: {failure}");
    assert_eq!(api.get("web").await.unwrap().metadata.uid, before);
}

/// A manifest that was written out of a cluster names a state of an object that nobody can make anew.
#[tokio::test(flavor = "multi_thread")]
async fn force_does_not_delete_what_a_manifest_could_not_bring_back() {
    let world = World::new().await;
    let sealed = |value: &str| {
        let mut sealed = world.cm("a", value);
        sealed["immutable"] = json!(true);
        sealed
    };
    world.apply(&[sealed("1")]).await.unwrap();
    let before = world.config_map("a").await.unwrap().metadata;
    let settings = Settings { force: true, ..world.settings() };
    for (field, of) in [("uid", &before.uid), ("resourceVersion", &before.resource_version)] {
        let mut exported = sealed("2");
        exported["metadata"][field] = json!(of);
        let failure = world.apply_with(&[exported], &settings).await.unwrap_err().to_string();
        assert!(failure.contains("dry-run failed (Invalid)"), "{failure}");
        assert_eq!(world.config_map("a").await.unwrap().metadata.uid, before.uid, "{failure}");
    }
    world.apply_with(&[sealed("2")], &settings).await.unwrap();
    assert_ne!(world.config_map("a").await.unwrap().metadata.uid, before.uid);
}

#[tokio::test(flavor = "multi_thread")]
async fn security_object_that_changes_before_it_is_replaced_is_evaluated_anew() {
    let world = World::new().await;
    world.apply(&[world.deployment("web", "one")]).await.unwrap();
    let api = world.api("apps/v1", "Deployment").await;
    let before = api.get("web").await.unwrap().metadata.uid;
    let mut settings = world.settings();
    settings.force = true;
    let (hand, deployments) = (
        Patch::Merge(
            json!({"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}}),
        ),
        api.clone(),
    );
    world.before_delete(async move {
        deployments.patch("web", &PatchParams::apply("hand"), &hand).await.unwrap();
    });
    let changes = world.apply_with(&[world.deployment("web", "two")], &settings).await.unwrap();
    assert_eq!(lines(&changes), format!("Deployment/{}/web skipped", world.ns));
    assert_eq!(api.get("web").await.unwrap().metadata.uid, before);
}

/// A manifest without the labels of the owner, and with fields that Flux's Go types add, is applied by Flux; then the manifest as it
/// lies in the source is applied here. Returns the changes.
async fn taken_over(world: &World, mut of_flux: Value, manifest: Value) -> String {
    let text = |path: &str| of_flux.pointer(path).and_then(Value::as_str).unwrap().to_owned();
    let api = world.api(&text("/apiVersion"), &text("/kind")).await;
    let name = text("/metadata/name");
    for (key, value) in world.owner().labels() {
        of_flux["metadata"]["labels"][key] = json!(value);
    }
    api.patch(&name, &PatchParams::apply("kustomize-controller"), &Patch::Apply(of_flux)).await.unwrap();
    lines(&world.apply(&[manifest]).await.unwrap())
}

/// KS-API-25: Flux sends the metadata of a Pod template that has none. The server puts labels there, which nobody owns.
#[tokio::test(flavor = "multi_thread")]
async fn job_of_flux_without_labels_in_its_template_is_taken_over_as_it_is() {
    let world = World::new().await;
    let job = |template: Value| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": world.ns},
            "spec": {"template": template}})
    };
    let spec = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "example.com/c:1"}]});
    let of_flux = job(json!({"metadata": {}, "spec": spec}));
    let changes = taken_over(&world, of_flux, job(json!({"spec": spec}))).await;
    assert_eq!(changes, format!("Job/{}/once unchanged", world.ns));
}

/// KS-API-25: Flux sends resources of containers that have none. A LimitRange puts limits there, which nobody owns.
#[tokio::test(flavor = "multi_thread")]
async fn pod_of_flux_in_a_namespace_with_limits_is_taken_over_as_it_is() {
    let world = World::new().await;
    let limits = json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}});
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "limits"}});
    for (kind, object) in [("LimitRange", limits), ("ServiceAccount", account)] {
        let api = world.api("v1", kind).await;
        api.patch("limits", &PatchParams::apply("test"), &Patch::Apply(object)).await.unwrap();
    }
    let pod = |container: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": world.ns},
            "spec": {"serviceAccountName": "limits", "containers": [container]}})
    };
    let of_flux = pod(json!({"name": "c", "image": "example.com/c:1", "resources": {}}));
    let changes = taken_over(&world, of_flux, pod(json!({"name": "c", "image": "example.com/c:1"}))).await;
    assert_eq!(changes, format!("Pod/{}/web unchanged", world.ns));
    let live = world.api("v1", "Pod").await.get("web").await.unwrap();
    assert_eq!(live.data["spec"]["containers"][0]["resources"]["limits"]["cpu"], "1");
}
