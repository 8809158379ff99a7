//! The rights of each service are enough, and none of them can go: the API server's audit log says which were needed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use kube::api::{DeleteParams, DynamicObject};
use serde_json::json;
use weir_e2e::{NAMESPACE, SERVICES};
use weir_testkit::{
    AuditedRequest, condition, eventually, touch_requested_at, wait_for, wait_gone, wait_ready,
};

use super::grants::{self, Grant};
use super::main_loop::{DEADLINE, MainLoop};

const OBJECTS: &str = include_str!("../manifests/five-every-right.yaml");

const SOURCE: &str = "source.toolkit.fluxcd.io/v1";

/// Kinds that Alerts and Receivers may name.
const KINDS: [(&str, &str); 12] = [
    (SOURCE, "Bucket"),
    (SOURCE, "ExternalArtifact"),
    (SOURCE, "GitRepository"),
    (SOURCE, "HelmChart"),
    (SOURCE, "HelmRepository"),
    (SOURCE, "OCIRepository"),
    ("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator"),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
    ("image.toolkit.fluxcd.io/v1", "ImagePolicy"),
    ("image.toolkit.fluxcd.io/v1", "ImageRepository"),
    ("image.toolkit.fluxcd.io/v1", "ImageUpdateAutomation"),
];

/// Reasons for grants that the test never uses, or not always: by role and verb, for some resources.
const JUSTIFIED: [(&str, &str, &[&str], &str); 3] = [
    (
        "kustomize-controller",
        "get",
        &["buckets", "externalartifacts", "ocirepositories"],
        "source asks for it when an artifact of this kind is fetched; GitRepositories show it",
    ),
    (
        "source-controller",
        "get",
        &["buckets", "gitrepositories", "helmcharts", "helmrepositories", "ocirepositories"],
        "a source is read when its artifact is asked for before the answer to the write of its status has come",
    ),
    (
        "notification-controller",
        "get",
        &["providers"],
        "a Provider is read when an event comes before the watch tells of it",
    ),
];

fn is_justified(grant: &Grant) -> bool {
    JUSTIFIED.iter().any(|(role, verb, resources, _)| {
        grant.role == *role && grant.verb == *verb && resources.contains(&grant.resource.as_str())
    })
}

/// The requests of each service to the API server, which need its rights.
fn requests_of(main_loop: &MainLoop, service: &str) -> Result<Vec<AuditedRequest>> {
    let user = format!("system:serviceaccount:{NAMESPACE}:{service}");
    let mut requests: Vec<_> = main_loop.world.plane.audited_requests()?.into_iter().collect();
    requests.retain(|request| request.user == user);
    // A server-side apply of an object that is not there yet takes the right to create it as well.
    let made = requests.iter().filter(|request| request.verb == "patch" && request.code == 201);
    let made: Vec<_> =
        made.map(|request| AuditedRequest { verb: "create".into(), ..request.clone() }).collect();
    requests.extend(made);
    Ok(requests)
}

/// Grants without which some request of the service would have been refused, as no other grant allows it.
fn needed(grants: &BTreeSet<Grant>, requests: &[AuditedRequest]) -> BTreeSet<Grant> {
    let only = |request: &AuditedRequest| {
        let mut covering = grants.iter().filter(|grant| grant.covers(request));
        covering.next().filter(|_| covering.next().is_none()).cloned()
    };
    requests.iter().filter_map(only).collect()
}

/// Grants that no service needed. A role that several have needs one of them only.
fn unneeded(main_loop: &MainLoop) -> Result<BTreeSet<Grant>> {
    let (mut all, mut used) = (BTreeSet::new(), BTreeSet::new());
    for service in SERVICES {
        let grants = grants::of_account(&main_loop.world.installation, service);
        used.extend(needed(&grants, &requests_of(main_loop, service)?));
        all.extend(grants);
    }
    Ok(all.difference(&used).cloned().collect())
}

async fn bring_about_everything(main_loop: &MainLoop) -> Result<()> {
    let world = &main_loop.world;
    world.plane.apply_yaml(NAMESPACE, &main_loop.with_hosts(OBJECTS)).await?;
    let external = world.api("ExternalArtifact").await?;
    wait_for(&external, "every", "an artifact", DEADLINE, |found| found.is_some()).await?;
    delete_a_tenant(main_loop).await?;

    // The same failure twice is one Kubernetes event with a count.
    let buckets = world.api("Bucket").await?;
    let has_failed = |found: Option<&DynamicObject>| {
        found.and_then(|it| condition(it, "Ready")).is_some_and(|ready| ready.status == "False")
    };
    wait_for(&buckets, "every", "a failure", DEADLINE, has_failed).await?;
    touch_requested_at(&buckets, "every").await?;
    tell_of_every_kind(main_loop).await?;
    mark_every_kind(main_loop).await?;

    let generators = world.api("ArtifactGenerator").await?;
    let providers = world.api("Provider").await?;
    for api in [generators, providers] {
        api.delete("every", &DeleteParams::default()).await?;
        wait_gone(&api, "every", DEADLINE).await?;
    }
    Ok(())
}

/// A Kustomization whose ServiceAccount is gone with its rights goes without its objects.
async fn delete_a_tenant(main_loop: &MainLoop) -> Result<()> {
    let world = &main_loop.world;
    let kustomizations = world.api("Kustomization").await?;
    wait_ready(&kustomizations, "tenant", DEADLINE).await?;
    let bindings = world.api("RoleBinding").await?;
    for api in [bindings, world.api("ServiceAccount").await?, kustomizations.clone()] {
        api.delete("tenant", &DeleteParams::default()).await?;
    }
    wait_gone(&kustomizations, "tenant", DEADLINE).await?;
    Ok(())
}

/// Posts an event about an object of each kind, as Flux's controllers do; an Alert asks for their labels.
async fn tell_of_every_kind(main_loop: &MainLoop) -> Result<()> {
    let client = reqwest::Client::new();
    for (api_version, kind) in KINDS {
        let object = json!({"apiVersion": api_version, "kind": kind, "namespace": NAMESPACE, "name": "every", "uid": kind});
        let event = json!({
            "involvedObject": object, "severity": "info", "timestamp": jiff::Timestamp::now(), "message": kind,
            "reason": "Test", "reportingController": "test",
        });
        let answer = client.post(main_loop.world.events_url()?).json(&event).send().await?;
        assert!(answer.status().is_success(), "{kind}: {}", answer.status());
    }
    Ok(())
}

/// A webhook that marks an object of each kind by its name, and all of each kind by their labels.
async fn mark_every_kind(main_loop: &MainLoop) -> Result<()> {
    let world = &main_loop.world;
    let by_name =
        KINDS.iter().map(|(version, kind)| json!({"apiVersion": version, "kind": kind, "name": "every"}));
    let by_label = KINDS.iter().map(
        |(version, kind)| json!({"apiVersion": version, "kind": kind, "name": "*", "matchLabels": {"every": "kind"}}),
    );
    let resources: Vec<_> = by_name.chain(by_label).collect();
    let spec = json!({"type": "generic", "secretRef": {"name": "push"}, "resources": resources});
    let receiver = json!({"apiVersion": "notification.toolkit.fluxcd.io/v1", "kind": "Receiver", "metadata": {"name": "every"}, "spec": spec});
    world.plane.apply(NAMESPACE, receiver).await?;
    let receiver = wait_ready(&world.api("Receiver").await?, "every", DEADLINE).await?;
    let path = receiver.data["status"]["webhookPath"].as_str().unwrap_or_default();
    // HelmReleases are not served here, so that the answer is no success.
    reqwest::Client::new().post(world.receiver_url(path)?).body("{}").send().await?;
    Ok(())
}

#[tokio::test]
async fn the_rights_of_each_service_are_enough_and_least() -> Result<()> {
    let mut main_loop = MainLoop::start().await?;
    main_loop.push_by_webhook().await?;
    main_loop.new_image().await?;
    bring_about_everything(&main_loop).await?;

    // Requests that the log lacks may still come: runs go on.
    let unexpected = || -> Result<BTreeSet<Grant>> {
        Ok(unneeded(&main_loop)?.into_iter().filter(|grant| !is_justified(grant)).collect())
    };
    let all_needed = async || unexpected().is_ok_and(|grants| grants.is_empty()).then_some(());
    let least = eventually("every grant to be needed", DEADLINE, all_needed).await;
    assert!(least.is_ok(), "these rights were never needed: {:#?}", unexpected()?);

    let refused: BTreeMap<&str, Vec<AuditedRequest>> = SERVICES
        .into_iter()
        .map(|service| {
            let requests = requests_of(&main_loop, service)?.into_iter();
            Ok((service, requests.filter(|request| request.code == 403).collect()))
        })
        .collect::<Result<_>>()?;
    assert!(refused.values().all(Vec::is_empty), "these requests were refused: {refused:#?}");
    Ok(())
}
