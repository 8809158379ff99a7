//! Admission webhooks before changes of the ConfigMaps that have the label `guarded`.

use axum::Router;
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use weir_testkit::{Identity, Server};

use crate::world::{World, cm};

const API: &str = "admissionregistration.k8s.io/v1";

/// Kind of the webhooks that refuse.
pub(crate) const VALIDATING: &str = "ValidatingWebhookConfiguration";
/// Kind of the webhooks that change.
pub(crate) const MUTATING: &str = "MutatingWebhookConfiguration";

/// Puts a webhook before these operations in the test's namespace. It gets the request of a review and gives the response.
pub(crate) async fn install<F>(
    world: &World,
    kind: &str,
    operations: &[&str],
    answer: impl Fn(Value) -> F + Clone + Send + Sync + 'static,
) -> Server
where
    F: Future<Output = Value> + Send + 'static,
{
    let identity = Identity::for_names(&["127.0.0.1"]).unwrap();
    let review = move |review: String| {
        let answer = answer.clone();
        async move {
            let review: Value = serde_json::from_str(&review).unwrap();
            let mut response = answer(review["request"].clone()).await;
            response["uid"] = review["request"]["uid"].clone();
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
                .to_string()
        }
    };
    let server = Server::start(Router::new().route("/", post(review)), Some(&identity)).await.unwrap();
    let webhook = json!({
        "name": "guard.example.com", "sideEffects": "None", "timeoutSeconds": 5, "failurePolicy": "Fail",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": format!("https://{}/", server.address()), "caBundle": STANDARD.encode(&identity.ca_pem)},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.ns}},
        "objectSelector": {"matchLabels": {"guarded": "yes"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": operations}]});
    let object =
        json!({"apiVersion": API, "kind": kind, "metadata": {"name": world.ns}, "webhooks": [webhook]});
    world.plane().apply("", object).await.unwrap();
    server
}

pub(crate) async fn remove(world: &World, kind: &str) {
    world.api(API, kind).await.delete(&world.ns, &DeleteParams::default()).await.unwrap();
}

/// A ConfigMap that the webhooks are asked about.
pub(crate) fn guarded(value: &str) -> String {
    cm("guarded", value).replace("name: guarded", "name: guarded\n  labels: {guarded: \"yes\"}")
}
