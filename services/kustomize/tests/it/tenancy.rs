use serde_json::json;

use crate::world::{World, cm};

fn rule(resources: &[&str]) -> k8s_openapi::api::rbac::v1::PolicyRule {
    serde_json::from_value(json!({"apiGroups": [""], "resources": resources, "verbs": ["*"]})).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tenant_does_only_what_its_account_may() {
    let world = World::new().await;
    let ns = &world.ns;
    world.plane().service_account(ns, "tenant", &[rule(&["configmaps"])]).await.unwrap();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n";
    world.source("src", 1, &[("ok/a.yaml", &cm("a", "1")), ("no/s.yaml", secret)]).await;
    world.kustomization("ok", json!({"path": "./ok", "serviceAccountName": "tenant"})).await;
    world.ready("ok").await;
    world.kustomization("no", json!({"path": "./no", "serviceAccountName": "tenant"})).await;
    let refused = world.not_ready("no", "ReconciliationFailed").await;
    let user = format!("User \"system:serviceaccount:{ns}:tenant\" cannot patch resource \"secrets\"");
    let message = weir_testkit::condition(&refused, "Ready").unwrap().message;
    assert!(message.starts_with(&format!(
        "Secret/{ns}/s dry-run failed (Forbidden): secrets \"s\" is forbidden: {user}"
    )));
}

/// Nothing has changed in the cluster in both cases, so that no watch tells of anything.
#[tokio::test(flavor = "multi_thread")]
async fn rights_count_when_the_account_is_another_one_and_when_somebody_asks() {
    let world = World::new().await;
    let ns = &world.ns;
    world.plane().service_account(ns, "tenant", &[rule(&["configmaps"])]).await.unwrap();
    world.source("src", 1, &[("a.yaml", &cm("a", "1")), ("b.yaml", &cm("b", "1"))]).await;
    world.kustomization("app", json!({})).await;
    world.ready("app").await;
    let refusal = async |account: &str| {
        let refused = world.not_ready("app", "ReconciliationFailed").await;
        let message = weir_testkit::condition(&refused, "Ready").unwrap().message;
        assert!(message.contains(&format!("system:serviceaccount:{ns}:{account}")), "{message}");
    };
    world.kustomization("app", json!({"serviceAccountName": "nobody"})).await;
    refusal("nobody").await;
    world.kustomization("app", json!({"serviceAccountName": "tenant"})).await;
    world.ready("app").await;
    let bindings = world.api("rbac.authorization.k8s.io/v1", "RoleBinding").await;
    bindings.delete("tenant", &Default::default()).await.unwrap();
    world.requested("app").await;
    refusal("tenant").await;
}

/// KS-SSA-30: an account that may not bind is told that the Role is not found, before anybody looks at the binding.
#[tokio::test(flavor = "multi_thread")]
async fn binding_that_is_left_alone_may_lack_its_role() {
    let world = World::new().await;
    let (ns, rbac) = (&world.ns, "rbac.authorization.k8s.io");
    let bindings = json!({"apiGroups": [rbac], "resources": ["rolebindings"], "verbs": ["get", "list", "create", "patch"]});
    world.plane().service_account(ns, "tenant", &[serde_json::from_value(bindings).unwrap()]).await.unwrap();
    let binding = json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": {"name": "b"},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "gone"}, "subjects": []});
    world.source("src", 1, &[("b.yaml", &binding.to_string())]).await;
    let mut live = binding.clone();
    live["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/reconcile": "disabled"});
    world.plane().apply(ns, live).await.unwrap();
    world.kustomization("app", json!({"serviceAccountName": "tenant"})).await;
    world.ready("app").await;
    let api = world.api(&format!("{rbac}/v1"), "RoleBinding").await;
    api.delete("b", &Default::default()).await.unwrap();
    world.kustomization("other", json!({"serviceAccountName": "tenant"})).await;
    let refused = world.not_ready("other", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&refused, "Ready").unwrap().message;
    assert!(message.starts_with(&format!("RoleBinding/{ns}/b not found: ")), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_account_is_no_way_to_more_rights() {
    let world = World::new().await;
    world.source("src", 1, &[("a.yaml", &cm("a", "1"))]).await;
    world.kustomization("app", json!({"serviceAccountName": "nobody"})).await;
    let refused = world.not_ready("app", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&refused, "Ready").unwrap().message;
    assert!(message.contains(&format!("system:serviceaccount:{}:nobody", world.ns)), "{message}");
    assert!(world.config_map("a").await.is_none());
}

/// Flux lets Secrets through that have their ciphertext in `stringData` only.
#[tokio::test(flavor = "multi_thread")]
async fn ciphertext_does_not_reach_the_cluster() {
    let world = World::new().await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: \"ENC[AES256_GCM,data:x]\"}\nsops: {mac: \"ENC[x]\"}\n";
    world.source("src", 1, &[("s.yaml", secret)]).await;
    world.kustomization("app", json!({})).await;
    let refused = world.not_ready("app", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&refused, "Ready").unwrap().message;
    let subject = format!("Secret/{}/s", world.ns);
    assert_eq!(
        message,
        format!(
            "{subject} is SOPS encrypted, configuring decryption is required for this secret to be reconciled"
        )
    );
    world.kustomization("keyed", json!({"decryption": {"provider": "sops"}})).await;
    world.not_ready("keyed", "BuildFailed").await;
    assert!(world.api("v1", "Secret").await.get_opt("s").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_come_from_config_maps_and_secrets_and_inline_ones_win() {
    let world = World::new().await;
    let ns = &world.ns;
    world.plane().apply_yaml(ns, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars}\ndata: {A: cm, B: cm, C: cm}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: vars}\nstringData: {B: secret, C: secret}\n").await.unwrap();
    world.source("src", 1, &[("a.yaml", &cm("a", "${A}-${B}-${C}-${D:=d}"))]).await;
    let from = json!([{"kind": "ConfigMap", "name": "vars"}, {"kind": "Secret", "name": "vars"}, {"kind": "ConfigMap", "name": "none", "optional": true}]);
    world
        .kustomization("app", json!({"postBuild": {"substitute": {"C": "inline"}, "substituteFrom": from}}))
        .await;
    world.ready("app").await;
    assert_eq!(world.config_map("a").await.unwrap().data["data"]["k"], "cm-secret-inline-d");
    world
        .plane()
        .apply_yaml(
            ns,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars}\ndata: {A: new, B: cm, C: cm}\n",
        )
        .await
        .unwrap();
    world.requested("app").await;
    assert_eq!(world.config_map("a").await.unwrap().data["data"]["k"], "new-secret-inline-d");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_named_and_stops_nothing_else() {
    let world = World::new().await;
    let ns = &world.ns;
    let content = [
        ("syntax/a.yaml", "a: [b\n"),
        ("kind/a.yaml", "apiVersion: nope.example/v1\nkind: Thing\nmetadata: {name: x}\n"),
        ("variable/a.yaml", &*cm("v", "${nope}")),
        ("twice/a.yaml", &format!("{}---\n{}", cm("t", "1"), cm("t", "2"))),
        ("file.yaml", &cm("f", "1")),
        ("ok/a.yaml", &cm("ok", "1")),
    ];
    world.source("src", 1, &content).await;
    for (name, reason, words) in [
        ("syntax", "BuildFailed", "failed to decode Kubernetes YAML from /syntax/a.yaml"),
        ("kind", "ReconciliationFailed", "no matches for kind \"Thing\" in version \"nope.example/v1\""),
        (
            "variable",
            "BuildFailed",
            "post build failed for 'ConfigMap.v1.[noGrp]/v': envsubst error: variable substitution failed: variable not set (strict mode): \"nope\"",
        ),
        (
            "nopath",
            "ArtifactFailed",
            "kustomization path not found: stat ./nopath: no such file or directory",
        ),
        ("file.yaml", "BuildFailed", "kustomization path is not a directory: ./file.yaml"),
        (
            "twice",
            "BuildFailed",
            "accumulating resources from './a.yaml': may not add resource with an already registered id: ConfigMap.v1.[noGrp]/t.[noNs]",
        ),
    ] {
        world
            .kustomization(
                name,
                json!({"path": format!("./{name}"), "postBuild": {"substitute": {"x": "y"}}}),
            )
            .await;
        let failed = world.not_ready(name, reason).await;
        let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
        assert!(message.contains(words), "{name}: {message}");
        // Flux reads the path before it notes what it attempts.
        let is_attempted = failed.data["status"]["lastAttemptedRevision"] == "main@sha1:1";
        assert_eq!(is_attempted, reason != "ArtifactFailed", "{name}");
    }
    world.kustomization("ok", json!({"path": "./ok"})).await;
    world.ready("ok").await;
    let list = world.kustomizations().await.list(&kube::api::ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 7, "in {ns}");
}

/// The watches see with the rights of the service.
#[tokio::test(flavor = "multi_thread")]
async fn security_health_of_foreign_objects_is_asked_with_the_rights_of_the_tenant() {
    let world = World::new().await;
    let ns = &world.ns;
    world.plane().service_account(ns, "tenant", &[]).await.unwrap();
    world.source("src", 1, &[("app/a.yaml", &cm("a", "1")), ("nothing/README.md", "x")]).await;
    world.kustomization("app", json!({"path": "./app"})).await;
    world.ready("app").await;
    let check = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": ns});
    let thief = json!({"path": "./nothing", "serviceAccountName": "tenant", "timeout": "30s", "healthChecks": [check]});
    world.kustomization("thief", thief).await;
    let refused = world.not_ready("thief", "HealthCheckFailed").await;
    let message = weir_testkit::condition(&refused, "Ready").unwrap().message;
    assert!(message.contains("status: 'Unknown': configmaps \"a\" is forbidden"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn security_manifest_that_is_ignored_does_not_stop_the_drift_correction_of_others() {
    let world = World::new().await;
    let ignored =
        cm("a", "2").replace("name: a", "name: a\n  annotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}");
    world.source("src", 1, &[("app/a.yaml", &cm("a", "1")), ("thief/a.yaml", &ignored)]).await;
    world.kustomization("app", json!({"path": "./app"})).await;
    world.ready("app").await;
    world.kustomization("thief", json!({"path": "./thief"})).await;
    world.ready("thief").await;
    let api = world.api("v1", "ConfigMap").await;
    let edit = kube::api::Patch::Merge(json!({"data": {"k": "hand"}}));
    api.patch("a", &kube::api::PatchParams::apply("hand"), &edit).await.unwrap();
    weir_testkit::wait_for(&api, "a", "the edit is reverted", crate::world::PATIENCE, |found| {
        found.is_some_and(|found| found.data["data"]["k"] == "1")
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn security_values_of_secrets_are_in_no_condition_and_no_event() {
    let world = World::new().await;
    let pin = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {pin: 271828}\n";
    let patch = json!({"target": {"kind": "Secret"}, "patch": "stringData: {pin: \"271828\""});
    let generator = "secretGenerator:\n- name: s\n  literals: [\"271828\"]\n";
    world.source("src", 1, &[("pin/s.yaml", pin), ("generator/kustomization.yaml", generator)]).await;
    for (name, fields, reason, words) in [
        ("pin", json!({"path": "./pin"}), "ReconciliationFailed", "stringData.pin is not text"),
        ("generator", json!({"path": "./generator"}), "BuildFailed", "invalid literal source <hidden"),
        (
            "patch",
            json!({"path": "./pin", "patches": [patch]}),
            "BuildFailed",
            "unable to parse SM or JSON patch from [patch: \"<hidden",
        ),
    ] {
        world.kustomization(name, fields).await;
        let failed = world.not_ready(name, reason).await;
        let status = failed.data["status"].to_string();
        let event = world.event(name, words).await;
        assert!(!status.contains("271828") && !event.contains("271828"), "{status}\n{event}");
        assert!(weir_testkit::condition(&failed, "Ready").unwrap().message.contains(words), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn security_variables_from_secrets_are_in_no_condition() {
    let world = World::new().await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: vars}\nstringData: {PIN: \"271828\"}\n";
    world.plane().apply_yaml(&world.ns, secret).await.unwrap();
    let manifest = cm("a", "1").replace("\"1\"", "${PIN}");
    world.source("src", 1, &[("a.yaml", &manifest)]).await;
    let from = json!([{"kind": "Secret", "name": "vars"}]);
    world.kustomization("app", json!({"postBuild": {"substituteFrom": from}})).await;
    let failed = world.not_ready("app", "ReconciliationFailed").await;
    let message = weir_testkit::condition(&failed, "Ready").unwrap().message;
    assert!(message.contains("Value:***") && !message.contains("271828"), "{message}");
}
