//! Rights of the services' accounts, with the RBAC of `deploy/kustomize` on a real API server.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use weir_e2e::{Installation, NAMESPACE, SERVICES};
use weir_testkit::{ControlPlane, eventually};

/// Admission policies are in force a moment after they are made.
const DEADLINE: Duration = Duration::from_secs(60);

/// The API groups of Flux's rules 0 to 5, each for all resources.
const GROUPS: [&str; 6] = [
    "source.toolkit.fluxcd.io",
    "kustomize.toolkit.fluxcd.io",
    "helm.toolkit.fluxcd.io",
    "notification.toolkit.fluxcd.io",
    "image.toolkit.fluxcd.io",
    "source.extensions.fluxcd.io",
];

async fn client_of(plane: &ControlPlane, service: &str) -> Result<Client> {
    let token = plane.service_account_token(NAMESPACE, service).await?;
    Ok(plane.client_for(&token)?)
}

/// Makes a token of the ServiceAccount `default` of another namespace; returns the API server's code when it refuses.
async fn make_token(client: &Client, audiences: &[&str]) -> Result<(), u16> {
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let audiences = audiences.iter().map(|audience| (*audience).to_owned()).collect();
    let spec = TokenRequestSpec { audiences, ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    match api.create_token_request("default", &PostParams::default(), &request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(error) => panic!("{error}"),
    }
}

/// The kustomize service is left out: it applies anything, tokens among it, by way of cluster-reconciler.
fn unprivileged() -> impl Iterator<Item = &'static str> {
    SERVICES.into_iter().filter(|service| *service != "kustomize-controller")
}

#[tokio::test]
async fn services_make_no_tokens_unless_objects_have_identities() -> Result<()> {
    let plane = ControlPlane::start().await?;
    Installation::with_components(&[])?.apply(&plane).await?;
    for service in unprivileged() {
        let client = client_of(&plane, service).await?;
        assert_eq!(make_token(&client, &[]).await, Err(403), "{service}");
        assert_eq!(make_token(&client, &["sts.amazonaws.com"]).await, Err(403), "{service}");
    }

    Installation::with_components(&["workload-identity"])?.apply(&plane).await?;
    let source = client_of(&plane, "source-controller").await?;
    let is_refused = async || (make_token(&source, &[]).await == Err(422)).then_some(());
    eventually("the policy to be in force", DEADLINE, is_refused).await?;
    for service in unprivileged() {
        let client = client_of(&plane, service).await?;
        for cloud in [
            "sts.amazonaws.com",
            "api://AzureADTokenExchange",
            "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p",
            "project.svc.id.goog",
        ] {
            assert_eq!(make_token(&client, &[cloud]).await, Ok(()), "{service} {cloud}");
        }
        let api_server = "https://kubernetes.default.svc";
        for audiences in [&[][..], &[api_server], &["sts.amazonaws.com", api_server], &["weir"]] {
            assert_eq!(make_token(&client, audiences).await, Err(422), "{service} {audiences:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn services_read_and_write_nothing_of_the_control_plane() -> Result<()> {
    let plane = ControlPlane::start().await?;
    Installation::with_components(&["workload-identity", "source-standby"])?.apply(&plane).await?;
    for service in unprivileged() {
        let account = format!("--as=system:serviceaccount:{NAMESPACE}:{service}");
        for (verb, resource, namespace) in [
            ("update", "leases.coordination.k8s.io", "kube-system"),
            ("create", "configmaps", "default"),
            ("delete", "configmaps", NAMESPACE),
            ("create", "serviceaccounts", NAMESPACE),
            ("patch", "secrets", NAMESPACE),
            ("create", "pods", NAMESPACE),
            ("patch", "pods", "default"),
            ("delete", "gitrepositories.source.toolkit.fluxcd.io", "default"),
            ("create", "kustomizations.kustomize.toolkit.fluxcd.io", "default"),
            ("impersonate", "serviceaccounts", "default"),
        ] {
            let asked = ["auth", "can-i", verb, resource, "-n", namespace, &account];
            let answer = plane.kubectl(&asked).await;
            assert!(answer.is_err(), "{service} may {verb} {resource} in {namespace}: {answer:?}");
        }
    }
    Ok(())
}

struct Replica {
    pods: Api<Pod>,
}

impl Replica {
    /// The source service in a Pod, with the token that kubelet gives to this Pod.
    async fn start(plane: &ControlPlane, pod: &str) -> Result<Self> {
        let container = json!([{"name": "manager", "image": "weir/source-controller:v0.1.0"}]);
        let spec = json!({"containers": container, "serviceAccountName": "source-controller"});
        let metadata = json!({"name": pod, "labels": {"app": "source-controller"}});
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        let made = plane.apply(NAMESPACE, object).await?;
        let bound = BoundObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            name: Some(pod.into()),
            uid: made.metadata.uid,
        };
        let spec = TokenRequestSpec { bound_object_ref: Some(bound), ..TokenRequestSpec::default() };
        let token = plane.projected_token(NAMESPACE, "source-controller", spec).await?;
        Ok(Self { pods: Api::namespaced(plane.client_for(&token)?, NAMESPACE) })
    }

    /// Patches a Pod; returns the API server's code and reason when it refuses.
    async fn patch(&self, pod: &str, patch: Value) -> Result<(), (u16, String)> {
        match self.pods.patch_metadata(pod, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_replica_changes_only_the_role_of_its_own_pod() -> Result<()> {
    let plane = ControlPlane::start().await?;
    Installation::with_components(&["source-standby"])?.apply(&plane).await?;
    let (own, other) = ("source-controller-1", "source-controller-2");
    let replica = Replica::start(&plane, own).await?;
    let _other = Replica::start(&plane, other).await?;
    let role = |role: &str| json!({"metadata": {"labels": {"source.toolkit.fluxcd.io/role": role}}});

    let is_refused = async || replica.patch(other, role("leader")).await.err().map(|(code, _)| code);
    assert_eq!(eventually("the policy to be in force", DEADLINE, is_refused).await?, 422);
    for value in ["standby", "leader"] {
        assert_eq!(replica.patch(own, role(value)).await, Ok(()));
    }
    for (what, patch) in [
        ("another label", json!({"metadata": {"labels": {"app": "notification-controller"}}})),
        ("a label less", json!({"metadata": {"labels": {"app": null}}})),
        ("an annotation", json!({"metadata": {"annotations": {"a": "b"}}})),
        ("a finalizer", json!({"metadata": {"finalizers": ["a.b/c"]}})),
        ("the end", json!({"spec": {"activeDeadlineSeconds": 1}})),
    ] {
        let refused = replica.patch(own, patch).await;
        assert!(
            matches!(&refused, Err((422, reason)) if reason.contains("a replica changes")),
            "{what}: {refused:?}"
        );
    }

    // A token that no Pod holds, as `kubectl create token` makes it, changes none.
    let unbound = Replica { pods: Api::namespaced(client_of(&plane, "source-controller").await?, NAMESPACE) };
    assert!(matches!(unbound.patch(own, role("leader")).await, Err((422, _))));
    Ok(())
}

/// Flux's documents and users patch rules by their place, so that each is where Flux has it.
#[test]
fn the_rules_of_crd_controller_have_the_places_of_flux() -> Result<()> {
    let installation = Installation::with_components(&[])?;
    let rules = installation.object("ClusterRole", "crd-controller")?["rules"]
        .as_array()
        .context("no rules")?
        .clone();
    let mut places: Vec<(String, Value)> =
        GROUPS.iter().map(|group| ((*group).to_owned(), json!("*"))).collect();
    for resource in ["secrets", "events", "configmaps", "configmaps/status"] {
        places.push((String::new(), json!(resource)));
    }
    places.push(("coordination.k8s.io".into(), json!("leases")));
    places.push((String::new(), json!("serviceaccounts/token")));
    for (rule, (group, resource)) in rules.iter().zip(&places) {
        assert_eq!(rule["apiGroups"], json!([group]), "{rule}");
        assert_eq!(rule["resources"], json!([resource]), "{rule}");
    }
    assert_eq!(rules[12]["nonResourceURLs"], json!(["/livez/ping"]));
    Ok(())
}

/// Patches as they are found in documents and repositories of Flux users: they build, and they have their effect.
#[test]
fn patches_by_index_keep_applying() -> Result<()> {
    let target = "target: {kind: ClusterRole, name: crd-controller}";
    let patched = |operations: &str| -> Result<Value> {
        let installation = Installation::patched(&[], &format!("[{{{target}, patch: '{operations}'}}]"))?;
        Ok(installation.object("ClusterRole", "crd-controller")?["rules"].clone())
    };
    let added = patched(
        r#"[{"op": "add", "path": "/rules/-", "value": {"apiGroups": ["example.com"], "resources": ["*"], "verbs": ["*"]}}]"#,
    )?;
    assert_eq!(added[15]["apiGroups"], json!(["example.com"]));
    let removed = patched(r#"[{"op": "remove", "path": "/rules/11"}]"#)?;
    assert!(!removed.to_string().contains("serviceaccounts/token"), "{removed}");
    let narrowed = patched(
        r#"[{"op": "replace", "path": "/rules/6/resources", "value": ["namespaces", "configmaps", "serviceaccounts"]}]"#,
    )?;
    assert!(!narrowed.to_string().contains("secrets"), "{narrowed}");
    let test = patched(
        r#"[{"op": "test", "path": "/rules/5/apiGroups/0", "value": "source.extensions.fluxcd.io"}]"#,
    )?;
    assert_eq!(test[5]["resources"], json!(["*"]));
    Ok(())
}
