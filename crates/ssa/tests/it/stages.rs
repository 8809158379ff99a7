//! The waits between stages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::api::PostParams;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_evaluation::MayGoOn;
use weir_kstatus::{Assessment, Status};
use weir_ssa::{Entry, Judge, Manifest, Mapper, ObjectId, Probe, Record, Session, Settings};
use weir_testkit::eventually;

use crate::world::{PATIENCE, Recorded, World, lines};

fn definition(world: &World, plural: &str) -> Value {
    let group = format!("{}.example.com", world.ns);
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Gear", "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

/// Calls the run off once its objects are about to be written.
struct Overtaken(CancellationToken);

impl Record for Overtaken {
    async fn add(&self, _: Vec<Entry>) -> bool {
        self.0.cancel();
        true
    }
}

/// Fails where a newer run has just been called for, as the record of an object does that somebody else has changed.
struct Outrun {
    cancel: CancellationToken,
    calls: AtomicUsize,
    failing: usize,
}

impl Record for Outrun {
    async fn add(&self, _: Vec<Entry>) -> bool {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call == self.failing {
            self.cancel.cancel();
        }
        call != self.failing
    }
}

/// Takes three looks to find a definition ready.
#[derive(Default)]
struct Slow(AtomicUsize);

impl Judge for Slow {
    fn covers(&self, id: &ObjectId) -> bool {
        id.kind == "CustomResourceDefinition"
    }

    fn judge(&self, _: &ObjectId, _: &Value, _: &MayGoOn<'_>) -> Probe {
        let looks = self.0.fetch_add(1, Ordering::SeqCst);
        let status = if looks < 3 { Status::InProgress } else { Status::Current };
        Assessment::new(status, "").into()
    }
}

/// The next run sees the objects of the first stage as unchanged, so that nobody would be told of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_written_goes_on_to_its_end() {
    let world = World::new().await;
    let settings = Settings { judge: Some(Arc::new(Slow::default())), ..world.settings() };
    let manifests =
        [definition(&world, "gears"), world.cm("a", "1")].map(|object| Manifest::try_from(object).unwrap());
    let cancel = CancellationToken::new();
    let applied =
        world.session.apply(manifests.to_vec(), &settings, &cancel, &Overtaken(cancel.clone())).await;
    let ns = &world.ns;
    let expected =
        format!("CustomResourceDefinition/gears.{ns}.example.com created\nConfigMap/{ns}/a created");
    assert_eq!(lines(&applied.unwrap()), expected);
    let again = world.session.apply(manifests.to_vec(), &settings, &cancel, &Overtaken(cancel.clone())).await;
    assert!(matches!(again.unwrap_err().error, weir_ssa::Error::Cancelled), "nothing was written");
}

/// A failure would be told as one, although the newer run follows at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_fails_for_something_newer_is_no_failure() {
    let world = World::new().await;
    let manifests =
        [definition(&world, "gears"), world.cm("a", "1")].map(|object| Manifest::try_from(object).unwrap());
    let apply = async |failing: usize| {
        let cancel = CancellationToken::new();
        let record = Outrun { cancel: cancel.clone(), calls: AtomicUsize::new(0), failing };
        world.session.apply(manifests.to_vec(), &world.settings(), &cancel, &record).await
    };
    let called_off = apply(0).await.unwrap_err().error;
    assert!(matches!(called_off, weir_ssa::Error::Cancelled), "nothing was written: {called_off}");
    assert!(world.config_map("a").await.is_none());
    let applied = apply(1).await.unwrap();
    assert_eq!(applied.0.len(), 2, "what was begun is done to its end");
    assert!(world.config_map("a").await.is_some());
}

/// Two definitions of one group cannot have the same kind.
#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_has_failed_is_not_waited_for() {
    let world = World::new().await;
    world.apply(&[definition(&world, "gears")]).await.unwrap();
    let failure = world.apply(&[definition(&world, "cogs"), world.cm("a", "1")]).await.unwrap_err();
    let expected = format!(
        "failed early due to stalled resources: [CustomResourceDefinition/cogs.{}.example.com status: 'Failed']\n",
        world.ns
    );
    assert_eq!(failure.to_string(), expected);
    assert!(!failure.error.may_pass());
    assert!(world.config_map("a").await.is_none());
}

/// KS-SSA-12, KS-SSA-17: who may not bind every role may bind one that is there and gives no more than they have.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_role_comes_before_its_binding_where_the_operator_has_named_its_kind() {
    let world = World::new().await;
    let ns = &world.ns;
    let maps = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]});
    let rights = [
        json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["get", "create", "patch"]}),
        maps.clone(),
    ];
    let rights: Vec<_> = rights.map(|rule| serde_json::from_value(rule).unwrap()).into();
    world.plane.service_account(ns, "tenant", &rights).await.unwrap();
    let own = world.plane.client().unwrap();
    let session =
        Session::unwatched(weir_ssa::impersonate(own.clone(), ns, "tenant"), Mapper::new(own).into());
    let object = |kind: &str, fields: Value| {
        let mut object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": {"name": "reader", "namespace": ns}});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        Manifest::try_from(object).unwrap()
    };
    let role = json!({"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"});
    let subject = json!({"kind": "ServiceAccount", "name": "tenant", "namespace": ns});
    let manifests = vec![
        object("RoleBinding", json!({"roleRef": role, "subjects": [subject]})),
        object("Role", json!({"rules": [maps]})),
    ];
    let apply = async |settings: &Settings| {
        let (cancel, record) = (CancellationToken::new(), Recorded::default());
        session.apply(manifests.clone(), settings, &cancel, &record).await
    };
    let failure = apply(&world.settings()).await.unwrap_err().to_string();
    let expected = format!(
        "RoleBinding/{ns}/reader not found: rolebindings.rbac.authorization.k8s.io \"reader\" not found"
    );
    assert!(failure.starts_with(&expected), "{failure}");
    let custom_stage = vec!["rbac.authorization.k8s.io/Role".parse().unwrap()];
    let changes = apply(&Settings { custom_stage, ..world.settings() }).await.unwrap();
    assert_eq!(lines(&changes), format!("Role/{ns}/reader created\nRoleBinding/{ns}/reader created"));
}

/// A new version of a definition may refuse what the old one has admitted, or have other defaults; no watch of its objects tells of that.
#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_definition_that_changes_are_tried_anew() {
    let world = World::new().await;
    let mut crd = definition(&world, "gears");
    let mut gear = json!({"apiVersion": format!("{}.example.com/v1", world.ns), "kind": "Gear",
        "metadata": {"name": "g", "namespace": world.ns}, "spec": {"a": 1}});
    let made = world.apply(&[crd.clone(), gear.clone()]).await.unwrap();
    world.proved(&made).await;
    world.requests();
    world.apply(&[crd.clone(), gear.clone()]).await.unwrap();
    assert_eq!(world.requests(), 0);
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = json!({"spec": {"type": "object",
        "x-kubernetes-preserve-unknown-fields": true, "required": ["teeth"], "properties": {"teeth": {"type": "integer"}}}});
    // The server may go by the old schema for a moment longer, so that this comparison may find nothing.
    let _first = world.apply(&[crd.clone(), gear.clone()]).await;
    let gears = world.api(gear["apiVersion"].as_str().unwrap(), "Gear").await;
    let (mut other, trial) = (gear.clone(), PostParams { dry_run: true, ..PostParams::default() });
    other["metadata"]["name"] = json!("other");
    let other = serde_json::from_value(other).unwrap();
    let knows_schema = async || gears.create(&trial, &other).await.err().map(drop);
    eventually("the server knows the new schema", PATIENCE, knows_schema).await.unwrap();
    let refused = world.apply(&[crd.clone(), gear.clone()]).await.unwrap_err().to_string();
    assert!(refused.contains("spec.teeth: Required value"), "{refused}");
    gear["spec"]["teeth"] = json!(12);
    let changed = world.apply(&[crd.clone(), gear.clone()]).await.unwrap();
    assert_eq!(changed.changed_lines(), format!("Gear/{}/g configured", world.ns));
    let is_trusted = async || {
        world.requests();
        world.apply(&[crd.clone(), gear.clone()]).await.unwrap();
        (world.requests() == 0).then_some(())
    };
    eventually("no request is needed any more", PATIENCE, is_trusted).await.unwrap();
    world.session.prune(&world.owner(), &changed.inventory()).await;
}
