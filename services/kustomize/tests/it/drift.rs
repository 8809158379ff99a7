use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::world::{PATIENCE, World, cm, deployment};

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_applied_pruned_and_deleted_with_their_kustomization() {
    let world = World::new().await;
    let ns = &world.ns;
    let (a, b) = (cm("a", "1"), cm("b", "1"));
    world.source("src", 1, &[("a.yaml", &a), ("b.yaml", &b), ("web.yaml", &deployment("web", 0))]).await;
    world.kustomization("app", json!({})).await;
    let ready = world.ready("app").await;
    let ids: Vec<_> = ready.data["status"]["inventory"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["id"].clone())
        .collect();
    assert_eq!(
        ids,
        [
            json!(format!("{ns}_a__ConfigMap")),
            json!(format!("{ns}_b__ConfigMap")),
            json!(format!("{ns}_web_apps_Deployment"))
        ]
    );
    let revision =
        world.source("src", 2, &[("a.yaml", &cm("a", "2")), ("web.yaml", &deployment("web", 0))]).await;
    world.applied("app", &revision).await;
    assert!(world.config_map("b").await.is_none());
    assert_eq!(world.config_map("a").await.unwrap().data["data"]["k"], "2");
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    assert!(world.config_map("a").await.is_none());
    let last = world.event("app", "web deleted").await;
    assert_eq!(
        last,
        format!("ReconciliationSucceeded: Deployment/{ns}/web deleted\nConfigMap/{ns}/a deleted")
    );
    let events = world.events("app").await;
    let expected = [
        format!(
            "Progressing: ConfigMap/{ns}/a created\nConfigMap/{ns}/b created\nDeployment/{ns}/web created"
        ),
        "ReconciliationSucceeded: Reconciliation finished".to_owned(),
        format!("Progressing: ConfigMap/{ns}/a configured"),
        format!("Progressing: ConfigMap/{ns}/b deleted"),
    ];
    for (event, expected) in events.iter().zip(expected) {
        assert!(event.starts_with(&expected), "{event}\n{expected}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_corrected_when_it_is_seen_and_does_not_count_as_a_reconciliation() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    let before = world.ready("app").await;
    let api = world.api("v1", "ConfigMap").await;
    let edit = Patch::Merge(json!({"data": {"k": "hand", "extra": "x"}}));
    api.patch("a", &PatchParams::apply("hand"), &edit).await.unwrap();
    weir_testkit::wait_for(&api, "a", "the edit is reverted", PATIENCE, |found| {
        found.is_some_and(|found| found.data["data"] == json!({"k": "1", "extra": "x"}))
    })
    .await
    .unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_for(&api, "a", "the object is made again", PATIENCE, |found| found.is_some())
        .await
        .unwrap();
    let created = format!("Progressing: ConfigMap/{}/a created", world.ns);
    weir_testkit::eventually("both corrections are told", PATIENCE, async || {
        let events = world.events("app").await;
        let created = events.iter().filter(|event| **event == created).count();
        (created >= 1 && events.iter().any(|event| event.ends_with("configured"))).then_some(())
    })
    .await
    .unwrap();
    let after = world.kustomizations().await.get("app").await.unwrap();
    assert_eq!(before.data["status"]["history"], after.data["status"]["history"]);
}

/// Somebody moves a repository, as `bootstrap` does: it must be read at its new place before it is put back.
#[tokio::test(flavor = "multi_thread")]
async fn toolkit_objects_are_put_back_by_the_next_run_and_not_at_once() {
    let world = World::new().await;
    let repository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: fleet\n\
                      spec:\n  interval: 1h\n  suspend: true\n  url: https://git.example.com/old\n";
    world.source("fleet-src", 1, &[("fleet.yaml", repository)]).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let of_fleet = json!({"sourceRef": {"kind": "GitRepository", "name": "fleet-src"}});
    world.kustomization("fleet", of_fleet).await;
    world.kustomization("app", json!({})).await;
    world.ready("fleet").await;
    world.ready("app").await;
    let repositories = world.api("source.toolkit.fluxcd.io/v1", "GitRepository").await;
    let moved = Patch::Merge(json!({"spec": {"url": "https://git.example.com/new"}}));
    repositories.patch("fleet", &PatchParams::apply("hand"), &moved).await.unwrap();

    // A later change of another object is corrected, so that the earlier one has been seen too.
    let configs = world.api("v1", "ConfigMap").await;
    let edit = Patch::Merge(json!({"data": {"k": "hand"}}));
    configs.patch("a", &PatchParams::apply("hand"), &edit).await.unwrap();
    weir_testkit::wait_for(&configs, "a", "the edit is reverted", PATIENCE, |found| {
        found.is_some_and(|found| found.data["data"] == json!({"k": "1"}))
    })
    .await
    .unwrap();
    let url = repositories.get("fleet").await.unwrap().data["spec"]["url"].clone();
    assert_eq!(url, "https://git.example.com/new");

    world.requested("fleet").await;
    let url = repositories.get("fleet").await.unwrap().data["spec"]["url"].clone();
    assert_eq!(url, "https://git.example.com/old");
}

/// Put back at once, a restart would restart nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_by_kubectl_is_put_back_by_the_next_run_and_not_at_once() {
    let world = World::new().await;
    world.source("src", 1, &[("web.yaml", &deployment("web", 0))]).await;
    world.source("other", 1, &[("web.yaml", &deployment("other", 0))]).await;
    world.kustomization("app", json!({})).await;
    world.kustomization("other", json!({"sourceRef": {"kind": "GitRepository", "name": "other"}})).await;
    world.ready("app").await;
    world.ready("other").await;
    let deployments = world.api("apps/v1", "Deployment").await;
    let annotated = json!({"kubectl.kubernetes.io/restartedAt": "2026-01-02T03:04:05Z"});
    let restart =
        Patch::Strategic(json!({"spec": {"template": {"metadata": {"annotations": annotated.clone()}}}}));
    deployments.patch("web", &PatchParams::apply("kubectl-rollout"), &restart).await.unwrap();

    // A later change by anybody else is corrected, so that the earlier one has been seen too.
    deployments.patch("other", &PatchParams::apply("kubectl-edit"), &restart).await.unwrap();
    let annotations = "/spec/template/metadata/annotations";
    weir_testkit::wait_for(&deployments, "other", "the edit is reverted", PATIENCE, |found| {
        found.is_some_and(|found| found.data.pointer(annotations).is_none())
    })
    .await
    .unwrap();
    let live = deployments.get("web").await.unwrap();
    assert_eq!(live.data.pointer(annotations), Some(&annotated));

    world.requested("app").await;
    let live = deployments.get("web").await.unwrap();
    assert_eq!(live.data.pointer(annotations), None);
}

/// KS-TST-5: people keep an object by its label. Put back at once, the label would keep nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_has_lost_its_owner_by_hand_is_put_back_by_the_next_run_or_kept() {
    let world = World::new().await;
    let own =
        [("given.yaml", &*cm("given", "1")), ("freed.yaml", &*cm("freed", "1")), ("a.yaml", &*cm("a", "1"))];
    world.source("src", 1, &own).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let configs = world.api("v1", "ConfigMap").await;
    let label = "kustomize.toolkit.fluxcd.io/name";
    let label_of = async |name: &str| configs.get(name).await.unwrap().metadata.labels.unwrap().remove(label);
    let disown = async || {
        for (name, owner) in [("given", json!("somebody")), ("freed", json!(null))] {
            let labelled = Patch::Merge(json!({"metadata": {"labels": {label: owner}}}));
            configs.patch(name, &PatchParams::apply("kubectl-label"), &labelled).await.unwrap();
        }
        // A later change of another object is corrected, which leaves the earlier ones as they are.
        let edit = Patch::Merge(json!({"data": {"k": "hand"}}));
        configs.patch("a", &PatchParams::apply("hand"), &edit).await.unwrap();
        weir_testkit::wait_for(&configs, "a", "the edit is reverted", PATIENCE, |found| {
            found.is_some_and(|found| found.data["data"] == json!({"k": "1"}))
        })
        .await
        .unwrap();
        assert_eq!((label_of("given").await.as_deref(), label_of("freed").await), (Some("somebody"), None));
    };
    disown().await;
    world.requested("app").await;
    assert_eq!(
        (label_of("given").await.as_deref(), label_of("freed").await.as_deref()),
        (Some("app"), Some("app"))
    );

    disown().await;
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    assert!(world.config_map("given").await.is_some() && world.config_map("freed").await.is_some());
}

const SHORT_JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec:\n  ttlSecondsAfterFinished: 60\n  \
                         template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}\n";

/// KS-HC-9, also for a check that has begun anew because somebody has asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_by_itself_is_healthy_once_it_is_gone() {
    let world = World::new().await;
    world.source("src", 1, &[("job.yaml", SHORT_JOB)]).await;
    world.kustomization("app", json!({"wait": true})).await;
    let jobs = world.api("batch/v1", "Job").await;
    weir_testkit::wait_for(&jobs, "once", "it is applied", PATIENCE, |job| job.is_some()).await.unwrap();
    let asked = world.requested("app").await;
    assert_eq!(weir_testkit::condition(&asked, "Ready").unwrap().status, "Unknown");
    jobs.delete("once", &DeleteParams::foreground()).await.unwrap();
    world.ready("app").await;
    assert!(jobs.get_opt("once").await.unwrap().is_none());
}

/// The cluster deletes such a Job once it has finished. Made anew at once, it would run again and again.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_by_itself_is_made_anew_by_the_next_run_only() {
    let world = World::new().await;
    world.source("src", 1, &[("job.yaml", SHORT_JOB), ("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let jobs = world.api("batch/v1", "Job").await;
    jobs.delete("once", &DeleteParams::foreground()).await.unwrap();
    weir_testkit::wait_gone(&jobs, "once", PATIENCE).await.unwrap();

    // The correction of another object leaves it alone as well.
    let configs = world.api("v1", "ConfigMap").await;
    let edit = Patch::Merge(json!({"data": {"k": "hand"}}));
    configs.patch("a", &PatchParams::apply("hand"), &edit).await.unwrap();
    world.event("app", "a configured").await;
    assert!(jobs.get_opt("once").await.unwrap().is_none());

    world.requested("app").await;
    assert!(jobs.get_opt("once").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn new_revision_with_the_same_manifests_moves_the_revision_only() {
    let world = World::new().await;
    let a = cm("a", "1");
    world.source("src", 1, &[("app/a.yaml", &a), ("README.md", "1")]).await;
    world.kustomization("app", json!({"path": "./app"})).await;
    world.ready("app").await;
    let before = world.config_map("a").await.unwrap().metadata.resource_version;
    let revision = world.source("src", 2, &[("app/a.yaml", &a), ("README.md", "2")]).await;
    let applied = world.applied("app", &revision).await;
    assert_eq!(world.config_map("a").await.unwrap().metadata.resource_version, before);
    let history = &applied.data["status"]["history"];
    assert_eq!((history.as_array().unwrap().len(), &history[0]["totalReconciliations"]), (1, &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn suspended_kustomization_leaves_its_objects_alone_and_behind() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    world.kustomization("app", json!({"suspend": true})).await;
    world.requested("app").await;
    let api = world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", PATIENCE).await.unwrap();
    assert!(world.config_map("a").await.is_some());
}
