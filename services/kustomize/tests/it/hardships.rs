//! Clusters that make it hard: namespaces that do not go, webhooks that refuse or do not answer, kinds that come late or vanish.

use kube::api::{DeleteParams, Patch, PatchParams};
use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::{Server, condition, eventually};

use crate::webhook::{self, VALIDATING, guarded};
use crate::world::{PATIENCE, World, cm};

fn definition(group: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: gears.{group}}}\nspec:\n  \
         group: {group}\n  scope: Namespaced\n  names: {{plural: gears, singular: gear, kind: Gear}}\n  versions:\n  \
         - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, \
         x-kubernetes-preserve-unknown-fields: true}}}}}}\n"
    )
}

fn gear(group: &str) -> String {
    format!("apiVersion: {group}/v1\nkind: Gear\nmetadata: {{name: g}}\nspec: {{teeth: 7}}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_and_objects_come_in_one_revision_whatever_their_order() {
    let world = World::new().await;
    let group = format!("{}.example.com", world.ns);
    let (gear, definition) = (gear(&group), definition(&group));
    let kustomization = "resources: [a.yaml, z.yaml]\n";
    let files = [("kustomization.yaml", kustomization), ("a.yaml", &*gear), ("z.yaml", &*definition)];
    world.source("src", 1, &files).await;
    world.kustomization("app", json!({"wait": true, "deletionPolicy": "WaitForTermination"})).await;
    world.ready("app").await;
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    let event = world.event("app", "deleted").await;
    let (objects, definitions) =
        (event.find("Gear/").unwrap(), event.find("CustomResourceDefinition/").unwrap());
    assert!(objects < definitions, "{event}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kind_that_disappears_is_told_and_its_objects_count_as_gone() {
    let world = World::new().await;
    let group = format!("{}.example.com", world.ns);
    world.plane().apply_yaml("", &definition(&group)).await.unwrap();
    let (a, gear) = (cm("a", "1"), gear(&group));
    world.source("src", 1, &[("a.yaml", &a), ("gear.yaml", &gear)]).await;
    world.kustomization("app", json!({"retryInterval": "1s"})).await;
    world.ready("app").await;
    let definitions = world.api("apiextensions.k8s.io/v1", "CustomResourceDefinition").await;
    definitions.delete(&format!("gears.{group}"), &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&definitions, &format!("gears.{group}"), PATIENCE).await.unwrap();
    world.requested("app").await;
    let failed = world.not_ready("app", "ReconciliationFailed").await;
    let message = condition(&failed, "Ready").unwrap().message;
    assert!(
        message.starts_with(&format!("Gear/{}/g dry-run failed: no matches for kind", world.ns)),
        "{message}"
    );
    let revision = world.source("src", 2, &[("a.yaml", &a)]).await;
    let applied = world.applied("app", &revision).await;
    let entries = applied.data["status"]["inventory"]["entries"].as_array().unwrap().clone();
    assert_eq!(entries.len(), 1, "{entries:?}");
}

/// KS-GC-22: nothing is left of an object whose kind is gone.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_whose_kind_is_gone_does_not_hold_up_a_deletion() {
    let world = World::new().await;
    let group = format!("{}.example.com", world.ns);
    world.plane().apply_yaml("", &definition(&group)).await.unwrap();
    world.source("src", 1, &[("gear.yaml", &gear(&group))]).await;
    world.kustomization("app", json!({"deletionPolicy": "WaitForTermination", "timeout": "1h"})).await;
    world.ready("app").await;
    let definitions = world.api("apiextensions.k8s.io/v1", "CustomResourceDefinition").await;
    definitions.delete(&format!("gears.{group}"), &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&definitions, &format!("gears.{group}"), PATIENCE).await.unwrap();
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    world.event("app", "deleted").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespace_that_hangs_in_terminating_holds_up_nobody_else() {
    let world = World::new().await;
    let space = format!("{}-held", world.ns);
    let namespaces = world.api("v1", "Namespace").await;
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
    world.plane().apply("", made.clone()).await.unwrap();
    let held = cm("held", "1").replace("name: held", "name: held\n  finalizers: [example.com/held]");
    world.plane().apply_yaml(&space, &held).await.unwrap();
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("held", json!({"targetNamespace": space, "retryInterval": "1s"})).await;
    world.ready("held").await;
    namespaces.delete(&space, &DeleteParams::default()).await.unwrap();
    let failed = world.not_ready("held", "ReconciliationFailed").await;
    let message = condition(&failed, "Ready").unwrap().message;
    assert!(message.contains("because it is being terminated"), "{message}");
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let maps = world.plane().api("v1", "ConfigMap", &space).await.unwrap();
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("held", &PatchParams::default(), &free).await.unwrap();
    weir_testkit::wait_gone(&namespaces, &space, PATIENCE).await.unwrap();
    world.plane().apply("", made).await.unwrap();
    world.ready("held").await;
    assert!(maps.get_opt("a").await.unwrap().is_some());
}

/// Flux comes by later, when the namespace is gone; who corrects at once must not tell of a failure in between.
#[tokio::test(flavor = "multi_thread")]
async fn namespace_that_is_deleted_by_hand_comes_back_without_a_failure() {
    let world = World::new().await;
    let space = format!("{}-lost", world.ns);
    let namespaces = world.api("v1", "Namespace").await;
    let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {space}}}\n");
    world.source("src", 1, &[("ns.yaml", &namespace), ("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("lost", json!({"targetNamespace": space})).await;
    let before = world.ready("lost").await;
    let held = cm("held", "1").replace("name: held", "name: held\n  finalizers: [example.com/held]");
    world.plane().apply_yaml(&space, &held).await.unwrap();
    let old = namespaces.get(&space).await.unwrap().metadata.uid;
    namespaces.delete(&space, &DeleteParams::default()).await.unwrap();
    let refused = eventually("the service to try", PATIENCE, async || {
        let requests = world.plane().audited_requests().ok()?;
        requests.into_iter().find(|request| {
            request.code == 403 && request.resource == "configmaps" && request.namespace == space
        })
    });
    refused.await.unwrap();
    let maps = world.plane().api("v1", "ConfigMap", &space).await.unwrap();
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("held", &PatchParams::default(), &free).await.unwrap();
    let back = eventually("the object to be back", PATIENCE, async || {
        let namespace = namespaces.get_opt(&space).await.ok()??;
        (namespace.metadata.uid != old).then_some(())?;
        maps.get_opt("a").await.ok()?
    });
    back.await.unwrap();
    let after = world.kustomizations().await.get("lost").await.unwrap();
    assert_eq!(after.data["status"], before.data["status"]);
    let events = world.events("lost").await;
    assert!(events.iter().all(|event| !event.starts_with("ReconciliationFailed")), "{events:?}");
}

/// The answers of an admission webhook.
#[derive(Clone, Copy)]
enum Webhook {
    Refuses,
    IsSilent,
}

impl Webhook {
    async fn answer(self) -> Value {
        if matches!(self, Self::IsSilent) {
            return std::future::pending().await;
        }
        json!({"allowed": false, "status": {"message": "not on a Friday"}})
    }

    async fn install(self, world: &World, operation: &str) -> Server {
        webhook::install(world, VALIDATING, &[operation], move |_| self.answer()).await
    }
}

/// Nothing of its stage is applied, and nothing else is held up.
#[rstest]
#[case::refuses(
    Webhook::Refuses,
    "admission webhook \"guard.example.com\" denied the request: not on a Friday"
)]
#[case::is_silent(Webhook::IsSilent, "failed calling webhook \"guard.example.com\"")]
#[tokio::test(flavor = "multi_thread")]
async fn webhook_that_lets_nothing_through_is_named(#[case] webhook: Webhook, #[case] expected: &str) {
    let world = World::new().await;
    let _server = webhook.install(&world, "CREATE").await;
    let guarded = guarded("1");
    world.source("src", 1, &[("a.yaml", &cm("a", "1")), ("guarded.yaml", &guarded)]).await;
    // The API server takes a moment to hear of webhooks.
    let made = eventually("the webhook to be called", PATIENCE, async || {
        world.kustomization("app", json!({"retryInterval": "1s"})).await;
        let api = world.kustomizations().await;
        let done = |ready: &weir_testkit::Condition| ready.status != "Unknown";
        let ready = eventually("a result", PATIENCE, async || {
            condition(&api.get("app").await.ok()?, "Ready").filter(done)
        });
        let ready = ready.await.unwrap();
        if ready.status == "True" {
            api.delete("app", &DeleteParams::default()).await.unwrap();
            weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
            return None;
        }
        Some(ready)
    });
    let ready = made.await.unwrap();
    assert_eq!(ready.reason, "ReconciliationFailed");
    assert!(ready.message.contains(expected), "{}", ready.message);
    assert!(world.config_map("a").await.is_none(), "its stage is not applied");
    webhook::remove(&world, VALIDATING).await;
    world.ready("app").await;
    assert!(world.config_map("a").await.is_some());
}

/// KS-TST-12
#[tokio::test(flavor = "multi_thread")]
async fn refused_deletion_is_tried_again() {
    let world = World::new().await;
    let _server = Webhook::Refuses.install(&world, "DELETE").await;
    let (a, b, guarded) = (cm("a", "1"), cm("b", "1"), guarded("1"));
    world.source("src", 1, &[("a.yaml", &a), ("b.yaml", &b), ("guarded.yaml", &guarded)]).await;
    world.kustomization("app", json!({"retryInterval": "1s"})).await;
    world.ready("app").await;
    let maps = world.api("v1", "ConfigMap").await;
    eventually("the webhook to be called", PATIENCE, async || {
        let tried = DeleteParams { dry_run: true, ..DeleteParams::default() };
        maps.delete("guarded", &tried).await.err()
    })
    .await
    .unwrap();
    world.source("src", 2, &[("a.yaml", &a)]).await;
    let failed = world.not_ready("app", "PruneFailed").await;
    let message = condition(&failed, "Ready").unwrap().message;
    assert!(
        message
            .starts_with(&format!("delete failed, errors: ConfigMap/{}/guarded delete failed: ", world.ns)),
        "{message}"
    );
    assert_eq!(failed.data["status"]["inventory"]["entries"].as_array().unwrap().len(), 2);
    assert!(world.config_map("b").await.is_none());
    world.event("app", "PruneFailed").await;
    webhook::remove(&world, VALIDATING).await;
    world.applied("app", "main@sha1:2").await;
    assert!(world.config_map("guarded").await.is_none());
    // As in Flux, no event tells of what went before the refusal.
    world.event("app", "guarded deleted").await;
    let events = world.events("app").await;
    assert!(!events.iter().any(|event| event.contains("/b deleted")), "{events:?}");
}

/// The watches prove that nobody has touched what a failed apply has left, but it is not what the commit before had made.
#[tokio::test(flavor = "multi_thread")]
async fn reverted_commit_puts_back_what_a_failed_apply_has_changed() {
    let world = World::new().await;
    let name = format!("{}-reader", world.ns);
    let role = |verb: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {name}}}\nrules:\n\
             - {{apiGroups: [\"\"], resources: [pods], verbs: [{verb}]}}\n"
        )
    };
    let verb = async || {
        let roles = world.plane().api("rbac.authorization.k8s.io/v1", "ClusterRole", "").await.unwrap();
        roles.get(&name).await.unwrap().data["rules"][0]["verbs"][0].as_str().unwrap().to_owned()
    };
    let good = [("role.yaml", role("get")), ("a.yaml", cm("a", "1"))];
    let good = good.each_ref().map(|(path, text)| (*path, text.as_str()));
    world.source("src", 1, &good).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: perhaps\n";
    world.source("src", 2, &[("role.yaml", &role("list")), ("a.yaml", bad)]).await;
    world.not_ready("app", "ReconciliationFailed").await;
    assert_eq!(verb().await, "list", "its stage comes first");
    let revision = world.source("src", 3, &good).await;
    world.applied("app", &revision).await;
    assert_eq!(verb().await, "get");
}
