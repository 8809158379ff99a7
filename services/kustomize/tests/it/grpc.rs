use serde_json::json;
use tonic::Code;
use tonic::transport::Channel;
use weir_proto::kustomize::v1::kustomizations_client::KustomizationsClient;
use weir_proto::kustomize::v1::{
    BuildRequest, DiffRequest, InventoryRequest, KustomizationRef, ReconcileNowRequest,
};
use weir_testkit::{authorized, eventually};

use crate::world::{PATIENCE, World, cm};

async fn token(world: &World, account: &str, verbs: &[&str]) -> String {
    let resources = ("kustomize.toolkit.fluxcd.io", &["kustomizations"][..]);
    world.plane().token_for(&world.ns, account, resources, verbs).await.unwrap()
}

fn client(world: &World) -> KustomizationsClient<Channel> {
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

    let inventory =
        client.inventory(authorized(&reader, InventoryRequest { kustomization: reference() })).await.unwrap();
    let ids: Vec<String> = inventory.into_inner().entries.into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids, [format!("{ns}_a__ConfigMap"), format!("{ns}_gone__ConfigMap")]);

    let now = ReconcileNowRequest { kustomization: reference() };
    let refused = client.reconcile_now(authorized(&reader, now.clone())).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    let writer = token(&world, "writer", &["patch"]).await;
    let token = client.reconcile_now(authorized(&writer, now)).await.unwrap().into_inner().token;
    let annotations = world.kustomizations().await.get("app").await.unwrap().metadata.annotations.unwrap();
    assert_eq!(annotations["reconcile.fluxcd.io/requestedAt"], token);
}

#[tokio::test(flavor = "multi_thread")]
async fn security_without_a_token_or_rights_nothing_is_told() {
    let world = World::new().await;
    let reference = Some(KustomizationRef { namespace: world.ns.clone(), name: "app".into() });
    let request = || InventoryRequest { kustomization: reference.clone() };
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
