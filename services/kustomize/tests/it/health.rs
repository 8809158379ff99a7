use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;
use weir_proto::kustomize::v1::{ExplainRequest, KustomizationRef};
use weir_testkit::authorized;

use crate::grpc::{client, token};
use crate::world::{PATIENCE, World, cm, deployment};

#[tokio::test(flavor = "multi_thread")]
async fn ready_waits_for_health_and_frees_the_worker_meanwhile() {
    let world = World::new().await;
    let slow = deployment("web", 1).replace("replicas: 1", "replicas: 1\n  progressDeadlineSeconds: 300");
    world.source("src", 1, &[("a.yaml", &slow)]).await;
    world.kustomization("app", json!({"wait": true, "timeout": "1h"})).await;
    let waiting = world.under_check("app").await;
    let message = weir_testkit::condition(&waiting, "Reconciling").unwrap().message;
    assert_eq!(message, "Running health checks for revision main@sha1:1 with a timeout of 1h0m0s");
    assert_eq!(weir_testkit::condition(&waiting, "Ready").unwrap().status, "Unknown");
    assert!(
        waiting.data["status"]["inventory"]["entries"].as_array().is_some_and(|entries| entries.len() == 1)
    );
    // Nobody runs Pods here: the test plays their part in the Deployment's status.
    let deployments = world.api("apps/v1", "Deployment").await;
    let status = json!({"status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1, "conditions": [
            {"type": "Available", "status": "True", "reason": "x", "message": ""},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""}]}});
    let api = world.kustomizations().await;
    weir_testkit::eventually("the controller lets the status be", PATIENCE, async || {
        deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(&status)).await.ok()?;
        let found = api.get("app").await.ok()?;
        weir_testkit::condition(&found, "Ready").filter(|ready| ready.status == "True")
    })
    .await
    .unwrap();
    let event = world.event("app", "Health check passed").await;
    assert!(event.starts_with("Progressing: Health check passed in "));
}

/// Of many waits each is announced in the end, ten a second; twenty may come at once (docs/adr/0013).
#[tokio::test(flavor = "multi_thread")]
async fn many_waits_are_announced_one_after_the_other() {
    let world = World::alone().await;
    world.source("src", 1, &[("a.yaml", &cm("${name}", "1"))]).await;
    let never =
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "never", "namespace": world.ns}]);
    for number in 0..100 {
        let name = format!("app-{number}");
        let fields =
            json!({"healthChecks": never, "timeout": "1h", "postBuild": {"substitute": {"name": name}}});
        world.kustomization(&name, fields).await;
    }
    let api = world.kustomizations().await;
    let announced = weir_testkit::eventually("all waits are announced", PATIENCE, async || {
        let all = api.list(&ListParams::default()).await.ok()?;
        let times: Option<Vec<jiff::Timestamp>> = all.items.iter().map(announced_at).collect();
        times.filter(|times| times.len() == 100)
    });
    let mut times = announced.await.unwrap();
    times.sort();
    let took = times[99].duration_since(times[0]);
    // Eight seconds by the pace; conditions count whole ones.
    assert!(took >= jiff::SignedDuration::from_secs(7), "{took:?}");
}

/// The moment since which an object says that it waits for health.
fn announced_at(object: &DynamicObject) -> Option<jiff::Timestamp> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    let healthy =
        conditions.iter().find(|known| known["type"] == "Healthy" && known["status"] == "Unknown")?;
    healthy["lastTransitionTime"].as_str()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_job_ends_the_wait_early() {
    let world = World::new().await;
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: evil}\nspec:\n  backoffLimit: 0\n  template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}\n";
    world.source("src", 1, &[("a.yaml", job), ("b.yaml", &cm("b", "1"))]).await;
    world.kustomization("app", json!({"wait": true, "timeout": "10m"})).await;
    // Nobody runs Pods here: the test ends the Job's.
    let pods = world.api("v1", "Pod").await;
    let failed = Patch::Merge(json!({"status": {"phase": "Failed"}}));
    weir_testkit::eventually("the Job's Pod has failed", PATIENCE, async || {
        let found = pods.list(&ListParams::default().labels("job-name=evil")).await.ok()?;
        let name = found.items.first()?.metadata.name.clone()?;
        pods.patch_status(&name, &PatchParams::default(), &failed).await.ok()
    })
    .await
    .unwrap();
    let app = world.not_ready("app", "HealthCheckFailed").await;
    let healthy = weir_testkit::condition(&app, "Healthy").unwrap();
    let cause = format!("failed early due to stalled resources: [Job/{}/evil status: 'Failed']", world.ns);
    assert_eq!((healthy.status.as_str(), healthy.message), ("False", cause));
}

/// A Kustomization that waits for an object which it does not apply.
async fn waiting_for_another() -> World {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let check = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "foreign", "namespace": world.ns});
    world.kustomization("app", json!({"healthChecks": [check]})).await;
    world.under_check("app").await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_others_can_be_waited_for() {
    let world = waiting_for_another().await;
    world.plane().apply_yaml(&world.ns, &cm("foreign", "1")).await.unwrap();
    world.ready("app").await;
}

/// KS-REC-58, KS-SUB-7: objects that take no variables are applied although there are none, and their health counts.
#[tokio::test(flavor = "multi_thread")]
async fn health_is_checked_although_the_variables_are_missing() {
    let world = World::new().await;
    let plain = cm("a", "1")
        .replace("name: a", "name: a\n  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}");
    world.source("src", 1, &[("a.yaml", &plain)]).await;
    let check = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "foreign", "namespace": world.ns});
    let from = json!({"substituteFrom": [{"kind": "ConfigMap", "name": "none"}]});
    world.kustomization("app", json!({"healthChecks": [check], "postBuild": from})).await;
    world.under_check("app").await;
    world.plane().apply_yaml(&world.ns, &cm("foreign", "1")).await.unwrap();
    world.ready("app").await;
}

/// A status that says for good that a check goes on would be wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_health_check_ends_although_the_kustomization_is_suspended_meanwhile() {
    let world = waiting_for_another().await;
    let api = world.kustomizations().await;
    let suspend = Patch::Merge(json!({"spec": {"suspend": true}}));
    api.patch("app", &PatchParams::default(), &suspend).await.unwrap();
    world.plane().apply_yaml(&world.ns, &cm("foreign", "1")).await.unwrap();
    let ended = weir_testkit::eventually("the check is over and the suspension seen", PATIENCE, async || {
        let found = api.get("app").await.ok()?;
        (found.data["status"]["observedGeneration"] == json!(2)).then_some(found)
    });
    let ended = ended.await.unwrap();
    assert_eq!(weir_testkit::condition(&ended, "Ready").unwrap().status, "True");
    assert_eq!(weir_testkit::condition(&ended, "Healthy").unwrap().status, "True");
    assert!(weir_testkit::condition(&ended, "Reconciling").is_none());
}

/// `reconcile` of the commands reads the conditions once the request is handled (CLI-REC01).
#[tokio::test(flavor = "multi_thread")]
async fn a_handled_request_does_not_show_the_conditions_of_an_earlier_run() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.plane().apply_yaml(&world.ns, &cm("foreign", "1")).await.unwrap();
    let check = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "foreign", "namespace": world.ns});
    world.kustomization("app", json!({"healthChecks": [check]})).await;
    world.ready("app").await;
    world.api("v1", "ConfigMap").await.delete("foreign", &Default::default()).await.unwrap();
    let api = world.kustomizations().await;
    weir_testkit::touch_requested_at(&api, "app").await.unwrap();
    let is_handled = |found: Option<&kube::api::DynamicObject>| {
        found.is_some_and(|found| found.data["status"]["lastHandledReconcileAt"].is_string())
    };
    let handled = weir_testkit::wait_for(&api, "app", "the request is handled", PATIENCE, is_handled).await;
    let ready = weir_testkit::condition(&handled.unwrap().unwrap(), "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("Unknown", "Progressing"));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_revision_does_not_wait_for_the_health_of_the_old_one() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &deployment("web", 1))]).await;
    world.kustomization("app", json!({"wait": true, "timeout": "1h"})).await;
    world.under_check("app").await;
    let revision = world.source("src", 2, &[("b.yaml", &cm("b", "1"))]).await;
    world.applied("app", &revision).await;
    let gone = world.event("app", "web deleted").await;
    assert_eq!(gone, format!("Progressing: Deployment/{}/web deleted", world.ns));
}

/// The status did not know yet what the run that waited had applied: the Kustomization became Ready with an empty inventory.
#[tokio::test(flavor = "multi_thread")]
async fn regression_14_request_while_health_is_awaited_keeps_the_inventory() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &deployment("web", 1))]).await;
    world.kustomization("app", json!({"wait": true, "timeout": "1h"})).await;
    let deployments = world.api("apps/v1", "Deployment").await;
    weir_testkit::wait_for(&deployments, "web", "it is applied", PATIENCE, |found| found.is_some())
        .await
        .unwrap();
    world.requested("app").await;
    let app = world.under_check("app").await;
    assert_eq!(app.data["status"]["inventory"]["entries"].as_array().unwrap().len(), 1);
}

/// KS-HC-30, KS-HC-31
#[tokio::test(flavor = "multi_thread")]
async fn health_check_that_gives_way_to_a_new_revision_is_told() {
    let world = World::with_flags(&["--feature-gates=CancelHealthCheckOnNewRevision=true"]).await;
    world.source("src", 1, &[("a.yaml", &deployment("web", 1))]).await;
    world.kustomization("app", json!({"wait": true, "timeout": "1h"})).await;
    world.under_check("app").await;
    let revision = world.source("src", 2, &[("b.yaml", &cm("b", "1"))]).await;
    world.applied("app", &revision).await;
    let expected = format!("triggered by GitRepository/{}/src", world.ns);
    let event = world.event("app", "Health checks canceled").await;
    assert_eq!(
        event,
        format!("HealthCheckCanceled: Health checks canceled due to new reconciliation {expected}")
    );
    assert!(world.event("app", "web deleted").await.starts_with("Progressing: "));
}

/// KS-HC-31: `reconcile` of the commands reads the conditions once the request is handled, and a check that gave way is no answer.
#[tokio::test(flavor = "multi_thread")]
async fn request_that_ends_a_health_check_is_handled_by_the_run_that_follows() {
    let world = World::with_flags(&["--feature-gates=CancelHealthCheckOnNewRevision=true"]).await;
    world.source("src", 1, &[("a.yaml", &deployment("web", 1))]).await;
    world.kustomization("app", json!({"wait": true, "timeout": "1h"})).await;
    world.under_check("app").await;
    let handled = world.requested("app").await;
    let ready = weir_testkit::condition(&handled, "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("Unknown", "Progressing"));
    let expected = format!("triggered by Kustomization/{}/app", world.ns);
    assert!(world.event("app", "Health checks canceled").await.ends_with(&expected));
}

/// KS-HC-32: the operator has turned the gate off.
#[tokio::test(flavor = "multi_thread")]
async fn new_revision_waits_for_the_health_of_the_old_one_where_it_is_to() {
    let world = World::with_flags(&["--feature-gates=CancelHealthCheckOnNewRevision=false"]).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let check = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "awaited", "namespace": world.ns});
    world.kustomization("app", json!({"healthChecks": [check], "timeout": "1h"})).await;
    world.under_check("app").await;
    let second = world.source("src", 2, &[("a.yaml", &cm("a", "2"))]).await;
    world.plane().apply_yaml(&world.ns, &cm("awaited", "1")).await.unwrap();
    world.applied("app", &second).await;
    world.event("app", "a configured").await;
    let events = world.events("app").await;
    let place = |words: &str| events.iter().position(|event| event.contains(words)).unwrap();
    assert!(place("Health check passed") < place("a configured"), "{events:#?}");
    assert_eq!(world.config_map("a").await.unwrap().data["data"]["k"], "2");
}

/// KS-TST-8
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_health_check_that_is_put_right_passes() {
    let world = World::new().await;
    let check = json!({"apiVersion": "v1", "kind": "ConfigMap", "current": "data.k == 'good'",
        "failed": "data.k == 'bad'"});
    world.source("src", 1, &[("a.yaml", &cm("a", "bad"))]).await;
    world.kustomization("app", json!({"wait": true, "healthCheckExprs": [check]})).await;
    let failed = world.not_ready("app", "HealthCheckFailed").await;
    let healthy = weir_testkit::condition(&failed, "Healthy").unwrap();
    assert_eq!((healthy.status.as_str(), healthy.reason.as_str()), ("False", "HealthCheckFailed"));
    let inventory = json!([{"id": format!("{}_a__ConfigMap", world.ns), "v": "v1"}]);
    assert_eq!(failed.data["status"]["inventory"]["entries"], inventory);

    let second = world.source("src", 2, &[("a.yaml", &cm("a", "good"))]).await;
    let fixed = world.applied("app", &second).await;
    let healthy = weir_testkit::condition(&fixed, "Healthy").unwrap();
    assert_eq!((healthy.status.as_str(), healthy.reason.as_str()), ("True", "Succeeded"));
    assert_eq!(fixed.data["status"]["inventory"]["entries"], inventory);
    world.event("app", "Health check passed in ").await;
}

/// KS-TST-17, KS-CEL-5: half a minute is the shortest time of a health check.
#[tokio::test(flavor = "multi_thread")]
async fn an_expression_that_cannot_be_evaluated_is_named_when_the_time_is_over() {
    let world = World::new().await;
    let check = json!({"apiVersion": "v1", "kind": "ConfigMap", "current": "has(data.foo.bar)"});
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({"wait": true, "timeout": "1s", "healthCheckExprs": [check]})).await;
    let failed = world.not_ready("app", "HealthCheckFailed").await;
    let expected = format!(
        "timeout waiting for: [ConfigMap/{}/a status: 'Unknown': failed to evaluate the CEL expression \
         'has(data.foo.bar)': no such key: foo]",
        world.ns
    );
    assert_eq!(weir_testkit::condition(&failed, "Healthy").unwrap().message, expected);
}

/// KS-CEL-6: what an expression says of a class decides when the objects after it are applied.
#[tokio::test(flavor = "multi_thread")]
async fn expressions_hold_between_stages() {
    let world = World::new().await;
    let class = format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: {}}}\nprovisioner: example.com/p\n",
        world.ns
    );
    world.source("src", 1, &[("class.yaml", &class), ("b.yaml", &cm("b", "1"))]).await;
    let check = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "current": "has(metadata.annotations) && 'example.com/done' in metadata.annotations"});
    world.kustomization("app", json!({"healthCheckExprs": [check]})).await;
    let failed = world.not_ready("app", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
    let expected = format!("timeout waiting for: [StorageClass/{} status: 'InProgress']", world.ns);
    assert!(message.starts_with(&expected), "{message}");
    assert!(world.config_map("b").await.is_none());
    let classes = world.api("storage.k8s.io/v1", "StorageClass").await;
    let done = Patch::Merge(json!({"metadata": {"annotations": {"example.com/done": "1"}}}));
    classes.patch(&world.ns, &PatchParams::apply("provisioner"), &done).await.unwrap();
    world.ready("app").await;
    assert!(world.config_map("b").await.is_some());
}

/// The Ready of a child that has not begun with the new revision is that of the one before. The child belongs to another shard here, whose
/// part the test plays.
#[tokio::test(flavor = "multi_thread")]
async fn children_are_waited_for_until_they_are_ready_for_the_new_revision() {
    let world = World::with_flags(&["--watch-label-selector=!sharding.fluxcd.io/key"]).await;
    let child = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: child\n  \
                 labels: {sharding.fluxcd.io/key: other}\nspec: {interval: 1h, path: ./child, prune: true, \
                 sourceRef: {kind: GitRepository, name: src}}\n";
    let files = [("parent/k.yaml", child), ("child/a.yaml", &cm("a", "1"))];
    let api = world.kustomizations().await;
    let ready = async |revision: &str| {
        let status = json!({"status": {"observedGeneration": 1, "lastAppliedRevision": revision,
            "lastAttemptedRevision": revision, "conditions": [{"type": "Ready", "status": "True", "reason": "x",
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        weir_testkit::eventually("the child is there", PATIENCE, async || {
            api.patch_status("child", &PatchParams::default(), &Patch::Merge(&status)).await.ok()
        })
        .await
        .unwrap()
    };
    let first = world.source("src", 1, &files).await;
    world.kustomization("parent", json!({"path": "./parent", "wait": true, "timeout": "1h"})).await;
    ready(&first).await;
    world.applied("parent", &first).await;
    let second = world.source("src", 2, &files).await;
    let waiting = world.under_check("parent").await;
    let message = weir_testkit::condition(&waiting, "Healthy").unwrap().message;
    assert_eq!(message, "Running health checks for revision main@sha1:2 with a timeout of 1h0m0s");
    let caller = token(&world, "caller", &["get"]).await;
    let kustomization = Some(KustomizationRef { namespace: world.ns.clone(), name: "parent".into() });
    let request = authorized(&caller, ExplainRequest { kustomization });
    let explanation = client(&world).explain(request).await.unwrap().into_inner().explanation.unwrap();
    let child = format!("Kustomization/{}/child", world.ns);
    assert!(explanation.causes.iter().any(|cause| cause.object == child), "{explanation:?}");
    // An expression decides alone (KS-CEL-3).
    let expression = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "current": "status.conditions.exists(it, it.type == 'Ready' && it.status == 'True')"});
    let check = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": "child",
        "namespace": world.ns});
    let fields = json!({"path": "./child", "healthChecks": [check], "healthCheckExprs": [expression]});
    world.kustomization("judge", fields).await;
    world.applied("judge", &second).await;
    ready(&second).await;
    world.applied("parent", &second).await;
}
