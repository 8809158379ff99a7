use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use weir_testkit::{ControlPlane, Error, wait_for, wait_gone};

const DEADLINE: Duration = Duration::from_secs(90);

#[tokio::test]
async fn says_the_version_it_was_built_from() {
    let plane = ControlPlane::shared().await.unwrap();
    let version = plane.client().unwrap().apiserver_version().await.unwrap();
    assert_eq!(version.git_version, "v1.34.4");
}

#[tokio::test]
async fn controllers_work_deployments_and_namespaces() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.unique_namespace("controllers").await.unwrap();
    let yaml = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.com/web:1}]}
---
# An empty document is skipped.
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {on: "yes"}
"#;
    let applied = plane.apply_yaml(&namespace, yaml).await.unwrap();
    assert_eq!(applied.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["web", "settings"]);

    let deployments = plane.api("apps/v1", "Deployment", &namespace).await.unwrap();
    let observed = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["observedGeneration"] == 1)
    };
    wait_for(&deployments, "web", "the Deployment's controller", DEADLINE, observed).await.unwrap();

    let namespaces = plane.api("v1", "Namespace", "").await.unwrap();
    namespaces.delete(&namespace, &Default::default()).await.unwrap();
    wait_gone(&namespaces, &namespace, DEADLINE).await.unwrap();
}

#[tokio::test]
async fn deleting_a_text_removes_its_objects_and_forgives_missing_ones() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.unique_namespace("delete").await.unwrap();
    let yaml = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
    plane.apply_yaml(&namespace, yaml).await.unwrap();
    plane.delete_yaml(&namespace, yaml).await.unwrap();
    plane.delete_yaml(&namespace, yaml).await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(plane.client().unwrap(), &namespace);
    wait_gone(&api, "a", DEADLINE).await.unwrap();
}

#[tokio::test]
async fn a_service_account_may_do_what_its_rules_say_and_no_more() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.unique_namespace("rbac").await.unwrap();
    let rule = PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".into()]),
        verbs: vec!["list".into()],
        ..Default::default()
    };
    plane.service_account(&namespace, "reader", &[rule]).await.unwrap();
    let token = plane.service_account_token(&namespace, "reader").await.unwrap();
    let client = plane.client_for(&token).unwrap();

    let own: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    own.list(&ListParams::default()).await.unwrap();
    let other: Api<ConfigMap> = Api::namespaced(client, "kube-system");
    let error = other.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.is_forbidden()));
}

#[tokio::test]
async fn kubectl_works_with_the_kubeconfig() {
    let plane = ControlPlane::shared().await.unwrap();
    let printed = plane.kubectl(&["get", "serviceaccount", "default", "-o", "name"]).await.unwrap();
    assert_eq!(printed.trim(), "serviceaccount/default");
    let error = plane.kubectl(&["get", "configmap", "nothing-there"]).await.unwrap_err();
    assert!(matches!(error, Error::Command { output, .. } if output.contains("not found")));
}

#[tokio::test]
async fn waiting_in_vain_tells_what_was_there() {
    let plane = ControlPlane::shared().await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(plane.client().unwrap(), "default");
    let error = wait_for(&api, "missing", "a miracle", Duration::from_millis(300), |object| object.is_some())
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("a miracle (missing)") && text.contains("it does not exist"), "{text}");
}

#[tokio::test]
async fn an_audit_log_counts_requests() {
    let plane = ControlPlane::options().audit().start().await.unwrap();
    let before = plane.audit_counts().unwrap();
    let api: Api<ConfigMap> = Api::namespaced(plane.client().unwrap(), "default");
    for _ in 0..3 {
        api.list(&ListParams::default()).await.unwrap();
    }
    let counts = plane.audit_counts().unwrap().since(&before);
    let lists = |resource: &str| counts.total(|key| key.verb == "list" && key.resource == resource);
    assert_eq!(lists("configmaps"), 3, "{counts:?}");
}
