use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use weir_kstatus::Status;
use weir_ssa::{Notice, Settings};

use crate::world::{PATIENCE, Recorded, World, lines};

#[tokio::test(flavor = "multi_thread")]
async fn first_apply_costs_two_requests_an_object_and_an_unchanged_one_none() {
    let world = World::new().await;
    let ns = &world.ns;
    let manifests = [world.deployment("web", "web"), world.cm("a", "1"), world.cm("b", "1")];
    let changes = world.apply(&manifests).await.unwrap();
    let expected = format!("ConfigMap/{ns}/a created\nConfigMap/{ns}/b created\nDeployment/{ns}/web created");
    assert_eq!(lines(&changes), expected);
    assert_eq!(world.requests(), 6);
    world.proved(&changes).await;
    let again = world.apply(&manifests).await.unwrap();
    assert_eq!(again.changed_lines(), "");
    assert_eq!(again.inventory(), changes.inventory());
    assert_eq!(world.requests(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn change_of_one_object_costs_an_apply_and_of_more_a_dry_run_each_too() {
    let world = World::new().await;
    let changes = world.apply(&[world.cm("a", "1"), world.cm("b", "1"), world.cm("c", "1")]).await.unwrap();
    let ns = &world.ns;
    for (values, changed, requests) in [
        (["2", "1", "1"], format!("ConfigMap/{ns}/a configured"), 1),
        (["3", "2", "1"], format!("ConfigMap/{ns}/a configured\nConfigMap/{ns}/b configured"), 4),
    ] {
        world.proved(&changes).await;
        world.requests();
        let manifests: Vec<_> =
            ["a", "b", "c"].into_iter().zip(values).map(|(name, value)| world.cm(name, value)).collect();
        assert_eq!(world.apply(&manifests).await.unwrap().changed_lines(), changed);
        assert_eq!(world.requests(), requests);
    }
}

/// The words are those of the dry run that follows.
#[tokio::test(flavor = "multi_thread")]
async fn the_only_change_of_a_stage_is_refused_as_by_a_dry_run() {
    let world = World::new().await;
    let manifests = [world.cm("a", "1"), world.deployment("web", "web")];
    let changes = world.apply(&manifests).await.unwrap();
    world.proved(&changes).await;
    let (mut broken, mut other) = (manifests.clone(), manifests.clone());
    broken[1]["spec"]["template"]["spec"]["containers"][0]["image"] = json!(null);
    other[1]["spec"]["selector"]["matchLabels"] = json!({"app": "other"});
    other[1]["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    for (manifests, requests) in [(&broken, 3), (&other, 2)] {
        world.requests();
        let failure = world.apply(manifests).await.unwrap_err().to_string();
        let expected = format!(
            "Deployment/{}/web dry-run failed (Invalid): Deployment.apps \"web\" is invalid: spec.",
            world.ns
        );
        assert!(failure.starts_with(&expected), "{failure}");
        // The apply, the dry run, and a look at the object, which might ask to be left alone. After a write that has failed an object
        // is not taken for known, so that the dry run comes first.
        assert_eq!(world.requests(), requests);
    }
    // An object that may be replaced is replaced.
    let changes = world.apply_with(&other, &Settings { force: true, ..world.settings() }).await.unwrap();
    assert_eq!(changes.changed_lines(), format!("Deployment/{}/web created", world.ns));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_ledger_an_unchanged_object_is_not_written() {
    let world = World::new().await;
    world.apply(&[world.cm("a", "1"), world.deployment("web", "web")]).await.unwrap();
    let before = world.config_map("a").await.unwrap();
    let mut world_after_restart = World::new().await;
    world_after_restart.ns.clone_from(&world.ns);
    let again =
        world_after_restart.apply(&[world.cm("a", "1"), world.deployment("web", "web")]).await.unwrap();
    assert_eq!(again.changed_lines(), "");
    let after = world.config_map("a").await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
}

/// A run reads an object as a whole, and the watch the parts that it needs: a difference between them would be drift for ever.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_has_read_is_what_the_watch_sees() {
    let world = World::new().await;
    let group = format!("{}.example.com", world.ns);
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gadgets.{group}"), "annotations": {"example.com/note": "a<b & \"c\" é"}},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let gadget = json!({"apiVersion": format!("{group}/v1"), "kind": "Gadget",
        "metadata": {"name": "g", "namespace": world.ns}, "spec": {"a<b": [1, {"\"c\"": null}], "é": true}});
    let manifests = [crd, gadget, world.deployment("web", "web"), world.cm("a", "1")];
    let made = world.apply(&manifests).await.unwrap();
    world.proved(&made).await;
    let mut restarted = World::new().await;
    restarted.ns.clone_from(&world.ns);
    let again = restarted.apply(&manifests).await.unwrap();
    assert_eq!(again.changed_lines(), "");
    restarted.proved(&again).await;
    assert!(restarted.notices.try_recv().is_err(), "no drift");
    world.session.prune(&world.owner(), &made.inventory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_told_and_corrected() {
    let mut world = World::new().await;
    let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
    world.proved(&changes).await;
    let api = world.api("v1", "ConfigMap").await;
    let edit = kube::api::Patch::Merge(json!({"data": {"k": "2", "extra": "x"}}));
    api.patch("a", &kube::api::PatchParams::apply("hand"), &edit).await.unwrap();
    let notice = tokio::time::timeout(PATIENCE, world.notices.recv()).await.unwrap();
    assert_eq!(notice, Some(Notice::Drift));
    let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
    assert_eq!(lines(&changes), format!("ConfigMap/{}/a configured", world.ns));
    let data = world.config_map("a").await.unwrap().data["data"].clone();
    assert_eq!(data, json!({"k": "1", "extra": "x"}));
    world.proved(&changes).await;
}

/// A second Flux, or a person in its name: the fields are the same, and so are their managers.
#[tokio::test(flavor = "multi_thread")]
async fn other_values_in_our_name_are_drift() {
    let mut world = World::new().await;
    let changes = world.apply(&[world.cm("a", "1")]).await.unwrap();
    world.proved(&changes).await;
    let api = world.api("v1", "ConfigMap").await;
    let params = kube::api::PatchParams::apply("kustomize-controller").force();
    let mut other = world.cm("a", "2");
    other["metadata"]["labels"] = json!(world.config_map("a").await.unwrap().metadata.labels);
    // The server's clock counts seconds, so that the first write may leave no trace.
    for value in 2..90 {
        other["data"]["k"] = json!(value.to_string());
        api.patch("a", &params, &kube::api::Patch::Apply(&other)).await.unwrap();
        let second = std::time::Duration::from_secs(1);
        if let Ok(notice) = tokio::time::timeout(second, world.notices.recv()).await {
            assert_eq!(notice, Some(Notice::Drift));
            return;
        }
    }
    panic!("nobody has noticed it");
}

/// KS-SSA-95: read from an inventory, such a name has a `:`.
#[tokio::test(flavor = "multi_thread")]
async fn rbac_names_with_underscores_are_proved_too() {
    let world = World::new().await;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("{}__role", world.ns)}, "rules": []});
    let changes = world.apply(&[role]).await.unwrap();
    world.proved(&changes).await;
    let mut read = changes.inventory();
    read[0].id = read[0].id.to_string().parse().unwrap();
    assert!(world.ledger.proves(&world.owner(), &read));
}

#[tokio::test(flavor = "multi_thread")]
async fn churn_of_status_is_no_drift() {
    let world = World::new().await;
    let changes = world.apply(&[world.deployment("web", "web")]).await.unwrap();
    let api = world.api("apps/v1", "Deployment").await;
    weir_testkit::wait_for(&api, "web", "the controller has seen it", PATIENCE, |found| {
        found.is_some_and(|found| found.data["status"]["observedGeneration"] == 1)
    })
    .await
    .unwrap();
    world.proved(&changes).await;
    let health = weir_testkit::eventually("health by watch", PATIENCE, async || {
        let found = world.ledger.assessment(&world.owner(), &changes.inventory()[0].id)?;
        (found.status == weir_kstatus::Status::Current).then_some(found.message)
    });
    assert_eq!(health.await.unwrap(), "Deployment is available. Replicas: 0");
    assert_eq!(world.apply(&[world.deployment("web", "web")]).await.unwrap().changed_lines(), "");
}

/// Another account applies everything anew, and changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_others_that_no_watch_has_told_of_is_not_called_ours() {
    let mut world = World::new().await;
    let manifests = [world.cm("a", "1"), world.cm("b", "1")];
    let changes = world.apply(&manifests).await.unwrap();
    let api = world.api("v1", "ConfigMap").await;
    world.proved(&changes).await;
    world.before_trial_of_a(async move {
        let note = Patch::Merge(json!({"metadata": {"annotations": {"example.com/note": "1"}}}));
        api.patch("a", &PatchParams::default(), &note).await.unwrap();
    });
    world.session = world.session.acting_as(Some("other"));
    assert_eq!(world.apply(&manifests).await.unwrap().changed_lines(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_come_before_what_needs_them() {
    let world = World::new().await;
    let group = format!("{}.example.com", world.ns);
    let inner = format!("{}-inner", world.ns);
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gadgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let gadget = json!({"apiVersion": format!("{group}/v1"), "kind": "Gadget",
        "metadata": {"name": "g", "namespace": inner}, "spec": {"a": 1}});
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner}});
    let changes = world.apply(&[gadget, crd, space]).await.unwrap();
    let expected = format!(
        "CustomResourceDefinition/gadgets.{group} created\nNamespace/{inner} created\nGadget/{inner}/g created"
    );
    assert_eq!(lines(&changes), expected);
    let pruned = world.session.prune(&world.owner(), &changes.inventory()).await;
    assert!(pruned.errors.is_empty());
    assert!(lines(&pruned.changes).starts_with(&format!("Gadget/{inner}/g deleted\nNamespace")));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_refused_object_holds_back_its_stage() {
    let world = World::new().await;
    let mut broken = world.deployment("web", "web");
    broken["spec"] = json!({});
    let failure = world.apply(&[world.cm("a", "1"), broken]).await.unwrap_err();
    let ns = &world.ns;
    assert!(
        failure.to_string().starts_with(&format!(
            "Deployment/{ns}/web dry-run failed (Invalid): Deployment.apps \"web\" is invalid: [spec.selector: Required value"
        )),
        "{failure}"
    );
    assert!(failure.to_string().ends_with('\n'));
    assert!(world.config_map("a").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_apply_has_recorded_its_objects_before_it_made_them() {
    let world = World::new().await;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": world.ns}, "rules": []});
    let mut broken = world.deployment("web", "web");
    broken["spec"] = json!({});
    let record = Recorded::default();
    world.apply_recorded(&[role, broken], &world.settings(), &record).await.unwrap_err();
    let recorded = record.0.into_inner();
    let subjects: Vec<String> = recorded.iter().map(|entry| entry.id.subject()).collect();
    assert_eq!(subjects, [format!("ClusterRole/{}", world.ns)]);
    let pruned = world.session.prune(&world.owner(), &recorded).await;
    assert_eq!(lines(&pruned.changes), format!("ClusterRole/{} deleted", world.ns));
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_a_built_in_kind_lacks_are_left_out() {
    let world = World::new().await;
    let mut odd = world.deployment("web", "web");
    odd["hoge"] = json!({"replicas": 1});
    odd["spec"]["template"]["spec"]["containers"][0]["huga"] = json!(1);
    let changes = world.apply(&[odd]).await.unwrap();
    assert_eq!(lines(&changes), format!("Deployment/{}/web created", world.ns));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_told_in_flux_words() {
    let world = World::new().await;
    let ns = &world.ns;
    let thing =
        json!({"apiVersion": "nope.example/v1", "kind": "Thing", "metadata": {"name": "x", "namespace": ns}});
    let mut lost = world.cm("a", "1");
    lost["metadata"]["namespace"] = json!("no-such-namespace");
    let mut nowhere = world.cm("a", "1");
    nowhere["metadata"].as_object_mut().unwrap().remove("namespace");
    let named =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad name", "namespace": ns}});
    let typed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "t", "namespace": ns}, "data": {"v": true}});
    for (object, expected) in [
        (
            thing,
            format!(
                "Thing/{ns}/x dry-run failed: no matches for kind \"Thing\" in version \"nope.example/v1\"\n"
            ),
        ),
        (
            lost,
            "ConfigMap/no-such-namespace/a not found: namespaces \"no-such-namespace\" not found\n"
                .to_owned(),
        ),
        (
            nowhere,
            "ConfigMap/a namespace not specified: the server could not find the requested resource\n"
                .to_owned(),
        ),
        (
            named,
            format!(
                "ConfigMap/{ns}/bad name dry-run failed (Invalid): ConfigMap \"bad name\" is invalid: metadata.name: Invalid value"
            ),
        ),
        (
            typed,
            format!(
                "ConfigMap/{ns}/t dry-run failed: failed to create typed patch object ({ns}/t; /v1, Kind=ConfigMap): .data.v: expected string, got &value.valueUnstructured{{Value:true}}\n"
            ),
        ),
    ] {
        let failure = world.apply(&[object]).await.unwrap_err().to_string();
        assert!(failure.starts_with(&expected), "{failure}\n{expected}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn namespace_on_a_cluster_scoped_kind_disappears() {
    let world = World::new().await;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("{}:role", world.ns), "namespace": world.ns}, "rules": []});
    let changes = world.apply(&[role]).await.unwrap();
    let id = changes.inventory()[0].id.to_string();
    assert_eq!(id, format!("_{}__role_rbac.authorization.k8s.io_ClusterRole", world.ns));
    let pruned = world.session.prune(&world.owner(), &changes.inventory()).await;
    assert_eq!(lines(&pruned.changes), format!("ClusterRole/{}:role deleted", world.ns));
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_names_fields_and_writes_nothing() {
    let world = World::new().await;
    let ns = &world.ns;
    world.apply(&[world.cm("a", "1"), world.cm("same", "1")]).await.unwrap();
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("{ns}-new")}});
    let mut inner = world.cm("inner", "1");
    inner["metadata"]["namespace"] = json!(format!("{ns}-new"));
    let manifests = [world.cm("a", "2"), world.cm("same", "1"), world.cm("new", "1"), space, inner];
    let manifests = manifests.map(|value| weir_ssa::Manifest::try_from(value).unwrap());
    let found = world.session.diff(manifests.to_vec(), &world.settings()).await.unwrap();
    let found: Vec<String> =
        found.iter().map(|d| format!("{} {} {:?}", d.id.subject(), d.action, d.fields)).collect();
    let expected = [
        format!("Namespace/{ns}-new created []"),
        format!("ConfigMap/{ns}/a configured [\"/data/k\"]"),
        format!("ConfigMap/{ns}/new created []"),
        format!("ConfigMap/{ns}/same unchanged []"),
        format!("ConfigMap/{ns}-new/inner created []"),
    ];
    assert_eq!(found, expected);
    assert_eq!(world.config_map("a").await.unwrap().data["data"]["k"], "1");
    assert!(world.config_map("new").await.is_none());
}

/// An empty selector means all, where none at all means nothing.
#[tokio::test(flavor = "multi_thread")]
async fn empty_selectors_are_told_apart() {
    let world = World::new().await;
    let policy = |from: Value| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a", "namespace": world.ns},
            "spec": {"podSelector": {}, "ingress": [{"from": [from]}]}})
    };
    world.apply(&[policy(json!({"podSelector": {}}))]).await.unwrap();
    // As after a restart: the object is compared instead of remembered.
    world.ledger.forget(&world.owner());
    let changes = world.apply(&[policy(json!({"namespaceSelector": {}}))]).await.unwrap();
    assert_eq!(lines(&changes), format!("NetworkPolicy/{}/a configured", world.ns));
    let live = world.api("networking.k8s.io/v1", "NetworkPolicy").await.get("a").await.unwrap();
    assert_eq!(live.data.pointer("/spec/ingress/0/from"), Some(&json!([{"namespaceSelector": {}}])));
}

/// KS-HC-2: a health check of `kind: deployment` means a Deployment.
#[tokio::test(flavor = "multi_thread")]
async fn kinds_in_lower_case_are_found_and_judged() {
    let world = World::new().await;
    let mut web = world.deployment("web", "web");
    web["spec"]["replicas"] = json!(1);
    world.apply(&[web]).await.unwrap();
    let status = async |kind: &str| {
        let id = format!("{}_web_apps_{kind}", world.ns).parse().unwrap();
        weir_ssa::probe(&world.session, &id).await.assessment.status
    };
    assert_eq!(status("Deployment").await, Status::InProgress);
    assert_eq!(status("deployment").await, Status::InProgress);
    assert_eq!(status("deploymenT").await, Status::Unknown);
}
