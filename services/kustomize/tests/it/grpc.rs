use serde_json::json;
use tonic::Code;
use tonic::transport::Channel;
use weir_proto::kustomize::v1::kustomizations_client::KustomizationsClient;
use weir_proto::kustomize::v1::{
    BuildRequest, DiffRequest, InventoryRequest, KustomizationRef, ReconcileNowRequest,
};
use weir_testkit::authorized;

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
