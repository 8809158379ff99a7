use serde_json::json;
use tonic::Code;
use tonic::transport::Channel;
use weir_proto::kustomize::v1::kustomizations_client::KustomizationsClient;
use weir_proto::kustomize::v1::{
    BuildRequest, DiffRequest, ExplainRequest, Explanation, InventoryRequest, KustomizationRef,
    ReconcileNowRequest, ReconcileNowResponse, State,
};
use weir_testkit::{authorized, eventually};

use crate::world::{PATIENCE, World, cm, deployment};

pub(crate) async fn token(world: &World, account: &str, verbs: &[&str]) -> String {
    let resources = ("kustomize.toolkit.fluxcd.io", &["kustomizations"][..]);
    world.plane().token_for(&world.ns, account, resources, verbs).await.unwrap()
}

pub(crate) fn client(world: &World) -> KustomizationsClient<Channel> {
    KustomizationsClient::new(Channel::from_shared(world.grpc_url()).unwrap().connect_lazy())
}

#[tokio::test(flavor = "multi_thread")]
async fn build_diff_inventory_and_reconcile_are_served_to_those_who_may() {
    let world = World::new().await;
    let ns = &world.ns;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  a: Yg==\n";
    world.source("src", 1, &[("a.yaml", &cm("a", "1")), ("gone.yaml", &cm("gone", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    world.kustomization("app", json!({"suspend": true})).await;
    world.requested("app").await;
    world.source("src", 2, &[("a.yaml", &cm("a", "2")), ("s.yaml", secret)]).await;
    let reference = || Some(KustomizationRef { namespace: ns.clone(), name: "app".into() });
    let (reader, mut client) = (token(&world, "reader", &["get"]).await, client(&world));

    let mut diff = client
        .diff(authorized(&reader, DiffRequest { kustomization: reference() }))
        .await
        .unwrap()
        .into_inner();
    let mut lines = Vec::new();
    while let Some(found) = diff.message().await.unwrap() {
        lines.push(format!("{} {} {}", found.object, found.action, found.fields.join(",")));
    }
    let expected = [
        format!("ConfigMap/{ns}/a configured /data/k"),
        format!("Secret/{ns}/s created "),
        format!("ConfigMap/{ns}/gone deleted "),
    ];
    assert_eq!(lines, expected);

    let mut build = client
        .build(authorized(&reader, BuildRequest { kustomization: reference() }))
        .await
        .unwrap()
        .into_inner();
    let mut yaml = String::new();
    while let Some(found) = build.message().await.unwrap() {
        yaml += &found.yaml;
    }
    assert!(yaml.contains("k: \"2\"") && yaml.contains("a: '***'"), "{yaml}");

    let request = InventoryRequest { kustomization: reference(), with_health: true };
    let inventory = client.inventory(authorized(&reader, request)).await.unwrap().into_inner();
    let found = inventory.entries.into_iter().map(|entry| (entry.id, entry.status));
    let current = |id: String| (id, "Current".to_owned());
    let expected = [current(format!("{ns}_a__ConfigMap")), current(format!("{ns}_gone__ConfigMap"))];
    assert_eq!(found.collect::<Vec<_>>(), expected);

    let now = ReconcileNowRequest { kustomization: reference() };
    let refused = client.reconcile_now(authorized(&reader, now.clone())).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let writer = token(&world, "writer", &["patch"]).await;
    let suspended = client.reconcile_now(authorized(&writer, now.clone())).await.unwrap_err();
    assert_eq!(suspended.code(), Code::FailedPrecondition);
    world.kustomization("app", json!({"suspend": false})).await;
    world.applied("app", "main@sha1:2").await;
    let answers = followed(client.reconcile_now(authorized(&writer, now)).await.unwrap().into_inner()).await;
    let (first, last) = (&answers[0], answers.last().unwrap());
    assert!(!first.token.is_empty() && !first.done && last.done && last.ready, "{answers:?}");
    assert_eq!(last.message, "Applied revision: main@sha1:2");
    let annotations = world.kustomizations().await.get("app").await.unwrap().metadata.annotations.unwrap();
    assert_eq!(annotations["reconcile.fluxcd.io/requestedAt"], first.token);
}

/// A preview is no run: it leaves nothing behind that wakes the Kustomization. One whose run looks at its dependencies is woken by them,
/// although it is ready.
#[tokio::test(flavor = "multi_thread")]
async fn a_preview_wakes_nobody() {
    let world = World::new().await;
    world.source("base", 1, &[("b.yaml", &cm("b", "1"))]).await;
    world.source("src", 1, &[("app/a.yaml", &cm("a", "1")), ("witness/c.yaml", &cm("c", "1"))]).await;
    world.kustomization("base", json!({"sourceRef": {"kind": "GitRepository", "name": "base"}})).await;
    world.ready("base").await;
    world.kustomization("app", json!({"path": "./app", "dependsOn": [{"name": "base"}]})).await;
    world.ready("app").await;
    let second = json!({"name": "base", "readyExpr": "dep.status.lastAppliedRevision == 'main@sha1:2'"});
    world.kustomization("witness", json!({"path": "./witness", "dependsOn": [second]})).await;
    world.not_ready("witness", "DependencyNotReady").await;

    let (reader, mut client) = (token(&world, "reader", &["get"]).await, client(&world));
    let kustomization = Some(KustomizationRef { namespace: world.ns.clone(), name: "app".into() });
    let build = client.build(authorized(&reader, BuildRequest { kustomization })).await;
    assert!(build.unwrap().into_inner().message().await.unwrap().is_some());
    let revision = world.source("base", 2, &[("b.yaml", &cm("b", "2"))]).await;
    world.applied("base", &revision).await;
    world.ready("witness").await;
    let runs = world.requested("app").await.data["status"]["history"][0]["totalReconciliations"].clone();
    assert_eq!(runs, json!(2), "the first run, and the one that was asked for");
}

async fn followed(mut answers: tonic::Streaming<ReconcileNowResponse>) -> Vec<ReconcileNowResponse> {
    let all = async {
        let mut all = Vec::new();
        while let Some(answer) = answers.message().await.unwrap() {
            all.push(answer);
        }
        all
    };
    tokio::time::timeout(PATIENCE, all).await.unwrap()
}

/// A run that fails is followed to its failure, and one that waits for health until it has it.
#[tokio::test(flavor = "multi_thread")]
async fn requests_are_followed_to_their_end_and_explained_on_the_way() {
    let world = World::new().await;
    let ns = &world.ns;
    world.source("src", 1, &[("base/web.yaml", &deployment("web", 1)), ("top/a.yaml", &cm("a", "1"))]).await;
    world.kustomization("base", json!({"path": "base", "wait": true, "timeout": "1h"})).await;
    world.kustomization("top", json!({"path": "top", "dependsOn": [{"name": "base"}]})).await;
    world.not_ready("top", "DependencyNotReady").await;
    let reference = |name: &str| Some(KustomizationRef { namespace: ns.clone(), name: name.into() });
    let caller = token(&world, "caller", &["get", "patch"]).await;
    let mut client = client(&world);
    let explained = eventually("the Deployment to be named", PATIENCE, async || {
        let request = ExplainRequest { kustomization: reference("top") };
        let answer = client.clone().explain(authorized(&caller, request)).await.unwrap().into_inner();
        let explanation = answer.explanation.unwrap();
        explanation
            .causes
            .last()?
            .causes
            .iter()
            .any(|cause| cause.object.starts_with("Deployment"))
            .then_some(explanation)
    });
    let top = explained.await.unwrap();
    let named = |explanation: &Explanation| (explanation.object.clone(), explanation.state());
    assert_eq!(named(&top), (format!("Kustomization/{ns}/top"), State::Waiting));
    assert!(top.since.is_some());
    // The caller has no right to see the source.
    let causes: Vec<_> = top.causes.iter().map(named).collect();
    let hidden = (format!("GitRepository/{ns}/src"), State::Hidden);
    assert_eq!(causes, [hidden.clone(), (format!("Kustomization/{ns}/base"), State::Waiting)]);
    let causes: Vec<_> = top.causes[1].causes.iter().map(named).collect();
    assert_eq!(causes, [hidden, (format!("Deployment/{ns}/web"), State::Waiting)]);

    world.source("src", 2, &[("base/web.yaml", "kind: ["), ("top/a.yaml", &cm("a", "1"))]).await;
    world.not_ready("base", "BuildFailed").await;
    let request = ReconcileNowRequest { kustomization: reference("base") };
    let answers = client.reconcile_now(authorized(&caller, request)).await.unwrap().into_inner();
    let last = followed(answers).await.pop().unwrap();
    assert_eq!((last.done, last.ready, last.reason.as_str()), (true, false, "BuildFailed"));
}

/// Objects of Kustomizations among the objects are part of the tree, for those who may see them.
#[tokio::test(flavor = "multi_thread")]
async fn inventory_unfolds_kustomizations() {
    let world = World::new().await;
    let ns = &world.ns;
    let child = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: child}}\nspec: {{interval: 1h, \
         prune: true, path: child, targetNamespace: {ns}, sourceRef: {{kind: GitRepository, name: src}}}}\n"
    );
    world.source("src", 1, &[("top/child.yaml", &child), ("child/a.yaml", &cm("a", "1"))]).await;
    world.kustomization("top", json!({"path": "top", "wait": true})).await;
    world.ready("top").await;
    let reader = token(&world, "reader", &["get"]).await;
    let reference = Some(KustomizationRef { namespace: ns.clone(), name: "top".into() });
    let request = InventoryRequest { kustomization: reference, with_health: false };
    let tree = client(&world).inventory(authorized(&reader, request)).await.unwrap().into_inner().entries;
    assert_eq!((tree.len(), tree[0].object.clone()), (1, format!("Kustomization/{ns}/child")));
    assert_eq!(
        (tree[0].entries[0].object.clone(), &*tree[0].entries[0].status),
        (format!("ConfigMap/{ns}/a"), "")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn security_without_a_token_or_rights_nothing_is_told() {
    let world = World::new().await;
    let reference = Some(KustomizationRef { namespace: world.ns.clone(), name: "app".into() });
    let request = || InventoryRequest { kustomization: reference.clone(), with_health: false };
    let mut client = client(&world);
    // The service may be starting while the first test asks.
    let code = weir_testkit::eventually("an answer", PATIENCE, || {
        let (mut client, request) = (client.clone(), request());
        async move {
            let code = client.inventory(request).await.unwrap_err().code();
            (code != Code::Unavailable).then_some(code)
        }
    });
    assert_eq!(code.await.unwrap(), Code::Unauthenticated);
    let stranger = token(&world, "stranger", &["list"]).await;
    let refused = client.inventory(authorized(&stranger, request())).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
}

/// A value from a Secret of the cluster, and one that a generator made from the artifact, wherever they end up.
#[tokio::test(flavor = "multi_thread")]
async fn security_values_of_secrets_are_in_no_preview() {
    let (world, _process) = World::process(&[]).await;
    let ns = &world.ns;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vars"},
        "stringData": {"password": "hunter2", "pin": "Q7"}});
    world.plane().apply(ns, secret).await.unwrap();
    let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"},
        "data": {"region": "az-1"}});
    world.plane().apply(ns, plain).await.unwrap();
    let kustomization = "resources: [a.yaml]\nsecretGenerator:\n- name: made\n  literals: [token=open-sesame]\n\
        replacements:\n- source: {kind: Secret, name: made, fieldPath: data.token}\n  targets:\n  \
        - select: {kind: ConfigMap}\n    fieldPaths: [data.copied]\n    options: {create: true}\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app-${password}\ndata:\n  \
        url: https://me:${password}@host\n  pin: \"${pin}\"\n  part: \"${password:0:4}\"\n  region: ${region}\n";
    world.source("src", 1, &[("kustomization.yaml", kustomization), ("a.yaml", map)]).await;
    let from = |kind: &str, name: &str| json!({"kind": kind, "name": name});
    let post_build = json!({"substituteFrom": [from("Secret", "vars"), from("ConfigMap", "plain")]});
    world.kustomization("app", json!({"postBuild": post_build, "suspend": true})).await;
    let reference = || Some(KustomizationRef { namespace: ns.clone(), name: "app".into() });
    let (reader, mut client) = (token(&world, "reader", &["get"]).await, client(&world));

    let build = || authorized(&reader, BuildRequest { kustomization: reference() });
    let known = eventually("the Kustomization to be known", PATIENCE, || {
        let (mut client, request) = (client.clone(), build());
        async move { client.build(request).await.ok() }
    });
    let mut build = known.await.unwrap().into_inner();
    let mut yaml = String::new();
    while let Some(found) = build.message().await.unwrap() {
        yaml += &found.yaml;
    }
    for value in ["hunter2", "hunt", "Q7", "open-sesame", "b3Blbi1zZXNhbWU="] {
        assert!(!yaml.contains(value), "{value} in\n{yaml}");
    }
    assert!(yaml.contains("region: az-1") && yaml.contains("copied: '***'"), "{yaml}");

    // A short value cannot be hidden inside of other text: who may change what is applied may see it.
    let diff = || DiffRequest { kustomization: reference() };
    let refused = client.diff(authorized(&reader, diff())).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let long = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vars"},
        "stringData": {"password": "hunter2", "pin": "letters"}});
    world.plane().apply(ns, long).await.unwrap();
    let mut diff = client.diff(authorized(&reader, diff())).await.unwrap().into_inner();
    let mut objects = Vec::new();
    while let Some(found) = diff.message().await.unwrap() {
        objects.push(found.object);
    }
    assert!(objects.contains(&format!("ConfigMap/{ns}/app-***")), "{objects:?}");
}

/// The verdicts are those of the health checks of the Kustomization's runs.
#[tokio::test(flavor = "multi_thread")]
async fn inventory_asks_the_expressions_of_the_kustomization() {
    let world = World::new().await;
    let ns = &world.ns;
    world.source("src", 1, &[("a.yaml", &cm("a", "1")), ("b.yaml", &cm("b", "2"))]).await;
    let check = json!({"apiVersion": "v1", "kind": "ConfigMap", "current": "data.k == '1'", "failed": "data.k == '2'"});
    world.kustomization("app", json!({"healthCheckExprs": [check]})).await;
    world.ready("app").await;
    let reader = token(&world, "reader", &["get"]).await;
    let reference = Some(KustomizationRef { namespace: ns.clone(), name: "app".into() });
    let request = InventoryRequest { kustomization: reference, with_health: true };
    let inventory = client(&world).inventory(authorized(&reader, request)).await.unwrap().into_inner();
    let found: Vec<_> = inventory.entries.into_iter().map(|entry| (entry.id, entry.status)).collect();
    let expected = [("a", "Current"), ("b", "Failed")]
        .map(|(name, status)| (format!("{ns}_{name}__ConfigMap"), status.to_owned()));
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn build_hides_a_part_of_a_secret_that_a_replacement_copies() {
    let world = World::new().await;
    let kustomization = "resources: [a.yaml, s.yaml]\nreplacements:\n- source: {kind: Secret, name: s, fieldPath: stringData.login, \
        options: {delimiter: ':', index: 1}}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: [data.copy]\n    \
        options: {create: true}\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {login: 'admin:hunter2'}\n";
    let files = [("kustomization.yaml", kustomization), ("a.yaml", &*cm("a", "1")), ("s.yaml", secret)];
    world.source("src", 1, &files).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    assert_eq!(world.config_map("a").await.unwrap().data["data"]["copy"], "hunter2");
    let reader = token(&world, "reader", &["get"]).await;
    let reference = Some(KustomizationRef { namespace: world.ns.clone(), name: "app".into() });
    let request = BuildRequest { kustomization: reference };
    let mut build = client(&world).build(authorized(&reader, request)).await.unwrap().into_inner();
    let mut yaml = String::new();
    while let Some(found) = build.message().await.unwrap() {
        yaml += &found.yaml;
    }
    assert!(yaml.contains("copy: '***'") && !yaml.contains("hunter2"), "{yaml}");
}
