//! Kustomizations whose objects live in another cluster (KS-IMP-4 to KS-IMP-11): two control planes.

use futures::FutureExt;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use tokio::sync::OnceCell;
use weir_testkit::ControlPlane;

use crate::world::{PATIENCE, World, cm};

static OTHER: OnceCell<ControlPlane> = OnceCell::const_new();

/// The other cluster, with a namespace of the same name.
async fn other(world: &World) -> &'static ControlPlane {
    let plane = OTHER.get_or_init(|| async { ControlPlane::start().await.unwrap() }).await;
    plane.namespace(&world.ns).await.unwrap();
    plane
}

async fn kubeconfig(world: &World, name: &str, key: &str, content: &str) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {key: content}});
    let params = PatchParams::apply("test").force();
    world.api("v1", "Secret").await.patch(name, &params, &Patch::Apply(secret)).await.unwrap();
}

async fn remote_config_maps(plane: &ControlPlane, world: &World) -> Api<DynamicObject> {
    plane.api("v1", "ConfigMap", &world.ns).await.unwrap()
}

fn text(plane: &ControlPlane) -> String {
    std::fs::read_to_string(plane.kubeconfig_path()).unwrap()
}

async fn value(api: &Api<DynamicObject>, name: &str) -> Option<String> {
    let found = api.get_opt(name).await.unwrap()?;
    found.data["data"]["k"].as_str().map(str::to_owned)
}

/// Writes what is not in Git, and waits until it is put back, which takes a watch.
async fn is_corrected(there: &Api<DynamicObject>) {
    let foreign = json!({"data": {"k": "foreign"}});
    there.patch("a", &PatchParams::default(), &Patch::Merge(foreign)).await.unwrap();
    weir_testkit::eventually("the correction", PATIENCE, async || {
        value(there, "a").await.filter(|value| value == "1")
    })
    .await
    .unwrap();
}

/// Applied, corrected, pruned and deleted there; nothing of it is here.
#[tokio::test(flavor = "multi_thread")]
async fn objects_live_in_the_cluster_of_the_kubeconfig() {
    let world = World::new().await;
    let plane = other(&world).await;
    kubeconfig(&world, "remote", "value", &text(plane)).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1")), ("b.yaml", &cm("b", "1"))]).await;
    world.kustomization("app", json!({"kubeConfig": {"secretRef": {"name": "remote"}}, "wait": true})).await;
    world.ready("app").await;
    let there = remote_config_maps(plane, &world).await;
    assert_eq!(value(&there, "a").await.as_deref(), Some("1"));
    assert!(world.config_map("a").await.is_none(), "nothing is applied to the own cluster");
    // A watch there sees a foreign write.
    is_corrected(&there).await;
    let revision = world.source("src", 2, &[("a.yaml", &cm("a", "2"))]).await;
    world.applied("app", &revision).await;
    assert_eq!((value(&there, "a").await.as_deref(), value(&there, "b").await), (Some("2"), None));
    world.kustomizations().await.delete("app", &Default::default()).await.unwrap();
    weir_testkit::eventually("the end of the object", PATIENCE, async || {
        value(&there, "a").await.is_none().then_some(())
    })
    .await
    .unwrap();
}

/// KS-IMP-1: a certificate that is trusted for itself is that of one server, and of no other, also where a proxy leads to it.
#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_of_the_server_stands_for_an_authority() {
    let world = World::new().await;
    let plane = other(&world).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let proxy = weir_testkit::Proxy::start(&[]).await.unwrap();
    for (name, named) in [("own", plane), ("foreign", world.plane()), ("proxied", plane)] {
        let certificate = std::fs::read(named.path().join("server.crt")).unwrap();
        let certificate = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, certificate);
        let mut config: serde_json::Value = serde_json::from_str(&text(plane)).unwrap();
        config["clusters"][0]["cluster"]["certificate-authority-data"] = certificate.into();
        let mut fields = json!({"kubeConfig": {"secretRef": {"name": name}}});
        if name == "proxied" {
            fields["namePrefix"] = "proxied-".into();
            config["clusters"][0]["cluster"]["proxy-url"] = format!("http://{}", proxy.address()).into();
        }
        kubeconfig(&world, name, "value", &config.to_string()).await;
        world.kustomization(name, fields).await;
    }
    let message = failure(&world, "foreign").await;
    assert!(message.starts_with("failed to get server version: "), "{message}");
    assert!(message.ends_with("invalid peer certificate: UnknownIssuer"), "{message}");
    world.ready("proxied").await;
    assert!(!proxy.requests().is_empty());
    world.ready("own").await;
    let there = remote_config_maps(plane, &world).await;
    assert_eq!(value(&there, "a").await.as_deref(), Some("1"));
    // A watch lives on such a connection too.
    is_corrected(&there).await;
}

/// KS-IMP-4: the account is one of the other cluster.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_impersonated_there() {
    let world = World::new().await;
    let plane = other(&world).await;
    kubeconfig(&world, "remote", "config", &text(plane)).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let remote = json!({"kubeConfig": {"secretRef": {"name": "remote", "key": "config"}}, "serviceAccountName": "tenant"});
    world.kustomization("app", remote).await;
    let refused = world.not_ready("app", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&refused, "Ready").unwrap().message;
    assert!(message.contains(&format!("system:serviceaccount:{}:tenant", world.ns)), "{message}");
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]});
    plane.service_account(&world.ns, "tenant", &[serde_json::from_value(rule).unwrap()]).await.unwrap();
    world.requested("app").await;
    world.ready("app").await;
    assert_eq!(value(&remote_config_maps(plane, &world).await, "a").await.as_deref(), Some("1"));
}

/// KS-IMP-7: an identity that may work in one namespace only has a watch there.
#[tokio::test(flavor = "multi_thread")]
async fn drift_is_corrected_by_an_identity_of_one_namespace() {
    let world = World::new().await;
    let plane = other(&world).await;
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]});
    plane.service_account(&world.ns, "confined", &[serde_json::from_value(rule).unwrap()]).await.unwrap();
    let token = plane.service_account_token(&world.ns, "confined").await.unwrap();
    let config = std::fs::read_to_string(plane.kubeconfig_for(&token).unwrap()).unwrap();
    kubeconfig(&world, "confined", "value", &config).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({"kubeConfig": {"secretRef": {"name": "confined"}}})).await;
    world.ready("app").await;
    is_corrected(&remote_config_maps(plane, &world).await).await;
}

/// KS-IMP-5, KS-IMP-6
#[tokio::test(flavor = "multi_thread")]
async fn unusable_kubeconfigs_are_named() {
    let world = World::new().await;
    let plane = other(&world).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    kubeconfig(&world, "odd", "other", "x").await;
    // Without the file's CA and without the token that is in a file, nothing of this is left to trust or to show.
    let by_files = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server(plane), "insecure-skip-tls-verify": true}}],
        "users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/true",
            "interactiveMode": "Never"}}}]});
    kubeconfig(&world, "files", "value", &by_files.to_string()).await;
    let cases = [
        (
            "gone",
            format!("unable to read KubeConfig secret '{}/gone' error: secrets \"gone\" not found", world.ns),
        ),
        (
            "odd",
            format!("KubeConfig secret '{}/odd' does not contain a 'value' key with a kubeconfig", world.ns),
        ),
        ("files", "failed to get server version".to_owned()),
    ];
    for (name, expected) in cases {
        world.kustomization(name, json!({"kubeConfig": {"secretRef": {"name": name}}})).await;
        let failed = world.not_ready(name, "ReconciliationFailed").await;
        let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
        assert!(message.starts_with(&expected), "{message}");
    }
    assert!(world.config_map("a").await.is_none());
}

fn server(plane: &ControlPlane) -> String {
    let config: serde_json::Value = serde_json::from_str(&text(plane)).unwrap();
    config["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned()
}

/// An API server that takes connections and says nothing holds none of the workers that others need.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_cluster_delays_nobody_else() {
    let (world, _process) = World::process(&["--concurrent=2"]).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": format!("https://{}", silent.local_addr().unwrap())}}],
        "users": [{"name": "u", "user": {"token": "t"}}]});
    kubeconfig(&world, "silent", "value", &config.to_string()).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    for number in 0..6 {
        let remote = json!({"kubeConfig": {"secretRef": {"name": "silent"}}});
        world.kustomization(&format!("remote-{number}"), remote).await;
    }
    world.kustomization("local", json!({})).await;
    world.ready("local").await;
    // One run asks it; were there two, they would hold both workers.
    let asked = || std::iter::from_fn(|| silent.accept().now_or_never()).count();
    let before = asked();
    assert!(before <= 1, "{before} runs ask the silent server");
    let failed = world.not_ready("remote-0", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
    assert!(!message.is_empty() && !message.starts_with("failed to build kube client"), "{message}");
    assert!(before + asked() > 0, "nobody asked the silent server");
}

/// A ConfigMap that describes a cluster.
async fn described(world: &World, name: &str, data: serde_json::Value) {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
    let params = PatchParams::apply("test").force();
    world.api("v1", "ConfigMap").await.patch(name, &params, &Patch::Apply(object)).await.unwrap();
}

fn authority(plane: &ControlPlane) -> String {
    let config: serde_json::Value = serde_json::from_str(&text(plane)).unwrap();
    let data = config["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
    String::from_utf8(base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).unwrap())
        .unwrap()
}

async fn failure(world: &World, name: &str) -> String {
    let failed = world.not_ready(name, "ReconciliationFailed").await;
    weir_testkit::condition(&failed, "Ready").unwrap().message
}

/// KS-IMP-7, KS-IMP-9, KS-IMP-11: a ServiceAccount of this cluster is known in the other one, which trusts its tokens.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_trusts_our_tokens() {
    let gate = "--feature-gates=ObjectLevelWorkloadIdentity=true";
    let world = World::with_flags(Box::leak(Box::new([gate]))).await;
    let plane = ControlPlane::options().trusting(world.plane()).start().await.unwrap();
    plane.namespace(&world.ns).await.unwrap();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}});
    let params = PatchParams::apply("test").force();
    world.api("v1", "ServiceAccount").await.patch("deployer", &params, &Patch::Apply(account)).await.unwrap();
    let data = json!({"provider": "generic", "address": server(&plane), "ca.crt": authority(&plane),
        "serviceAccountName": "deployer"});
    described(&world, "remote", data).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let remote = json!({"kubeConfig": {"configMapRef": {"name": "remote"}}, "wait": true});
    world.kustomization("app", remote).await;
    // The token is good, and its user may do nothing yet.
    let message = failure(&world, "app").await;
    assert!(message.contains(&format!("system:serviceaccount:{}:deployer", world.ns)), "{message}");
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]});
    plane.service_account(&world.ns, "deployer", &[serde_json::from_value(rule).unwrap()]).await.unwrap();
    world.requested("app").await;
    world.ready("app").await;
    let there = remote_config_maps(&plane, &world).await;
    assert_eq!(value(&there, "a").await.as_deref(), Some("1"));
    assert!(world.config_map("a").await.is_none(), "nothing is applied to the own cluster");
    let revision = world.source("src", 2, &[("a.yaml", &cm("a", "2"))]).await;
    world.applied("app", &revision).await;
    assert_eq!(value(&there, "a").await.as_deref(), Some("2"));
    // An account that is gone has no token any more.
    world.api("v1", "ServiceAccount").await.delete("deployer", &Default::default()).await.unwrap();
    world.requested("app").await;
    let expected = format!(
        "failed to get access token for cluster: failed to get service account '{}/deployer': ",
        world.ns
    );
    let message = failure(&world, "app").await;
    assert!(message.starts_with(&expected), "{message}");
}

/// KS-TEN-2: a token of the controller would go wherever a tenant's ConfigMap says, and who has it is the controller.
#[tokio::test(flavor = "multi_thread")]
async fn tenants_do_not_enter_clusters_as_the_controller() {
    let world = World::with_flags(&["--default-service-account=default"]).await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", server.local_addr().unwrap());
    described(&world, "remote", json!({"provider": "generic", "address": address})).await;
    world.kustomization("app", json!({"kubeConfig": {"configMapRef": {"name": "remote"}}})).await;
    let expected = format!("configmap {}/remote names no serviceAccountName: ", world.ns);
    let message = failure(&world, "app").await;
    assert!(message.starts_with(&expected), "{message}");
    let asked = futures::FutureExt::now_or_never(server.accept());
    assert!(asked.is_none(), "nobody was sent anything");
}

/// KS-IMP-7 to KS-IMP-9, KS-IMP-11
#[tokio::test(flavor = "multi_thread")]
async fn unusable_descriptions_of_clusters_are_named() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    let cases = [
        ("unknown", json!({"provider": "acme"}), "provider 'acme' not implemented"),
        ("nowhere", json!({"provider": "generic"}), "cluster address is required to create a REST config"),
        (
            "plain",
            json!({"provider": "generic", "address": "http://k.example"}),
            "failed to parse cluster address http://k.example: the Kubernetes API server address 'http://k.example' must use https scheme",
        ),
        (
            "eks",
            json!({"provider": "aws", "cluster": "app"}),
            "invalid EKS cluster ARN: 'app'. must match ^arn:aws",
        ),
        (
            "gated",
            json!({"provider": "generic", "address": "https://k.example", "serviceAccountName": "deployer"}),
            "failed to get access token for cluster: ObjectLevelWorkloadIdentity feature gate is not enabled",
        ),
    ];
    for (name, data, expected) in cases {
        described(&world, name, data).await;
        world.kustomization(name, json!({"kubeConfig": {"configMapRef": {"name": name}}})).await;
        let message = failure(&world, name).await;
        assert!(message.starts_with(expected), "{message}");
    }
    world.kustomization("gone", json!({"kubeConfig": {"configMapRef": {"name": "gone"}}})).await;
    let expected = format!("failed to get configmap {}/gone: configmaps \"gone\" not found", world.ns);
    assert_eq!(failure(&world, "gone").await, expected);
    assert!(world.config_map("a").await.is_none());
}
