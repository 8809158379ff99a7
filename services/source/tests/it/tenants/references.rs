//! Each reference of a source to a Secret, a ServiceAccount or another source, by a name that only another namespace has,
//! and by a name that would be a path to it.

use serde_json::{Value, json};
use weir_testkit::{Artifact, GitServer, Registry};

use super::{BUCKET, CHART, HELM, Tenants};
use crate::chart_server;

const GIT: &str = "GitRepository";
const OCI: &str = "OCIRepository";
const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// Name of the objects that only the other namespace has: a Secret, a ServiceAccount and a GitRepository.
const THEIRS: &str = "theirs";

/// Servers that would do with what the other namespace has.
struct Servers {
    git: GitServer,
    registry: Registry,
}

/// Makes a spec that refers to something by this name.
type Spec = Box<dyn Fn(&Servers, &str) -> Value>;

/// A reference: a name for it, the kind that has it, the spec with the name of what it refers to, and the reason of its
/// failure.
type Reference = (&'static str, &'static str, Spec, &'static str);

fn git(more: impl Fn(&str) -> Value + 'static) -> Spec {
    Box::new(move |servers, name| {
        with(json!({"url": servers.git.url("private/app"), "ref": {"branch": "main"}}), more(name))
    })
}

fn oci(more: impl Fn(&str) -> Value + 'static) -> Spec {
    Box::new(move |servers, name| {
        with(json!({"url": servers.registry.url("app"), "insecure": true}), more(name))
    })
}

fn bucket(more: impl Fn(&str) -> Value + 'static) -> Spec {
    Box::new(move |_, name| with(json!({"endpoint": "127.0.0.1:1", "bucketName": "apps"}), more(name)))
}

fn with(mut spec: Value, more: Value) -> Value {
    spec["interval"] = json!("1h");
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

fn references() -> Vec<Reference> {
    let failed = "AuthenticationFailed";
    let named = |field: &'static str| move |name: &str| json!({field: {"name": name}});
    let sts = |field: &'static str| move |name: &str| json!({"sts": {"provider": "ldap", "endpoint": "http://127.0.0.1:1", field: {"name": name}}});
    let login = json!({"name": "login"});
    let verified =
        |provider: &'static str| move |name: &str| json!({"provider": provider, "secretRef": {"name": name}});
    let signed = move |provider: &'static str| {
        let (login, verify) = (login.clone(), verified(provider));
        move |name: &str| json!({"secretRef": login, "verify": verify(name)})
    };
    let rooted = |name: &str| {
        let root = json!({"name": name});
        json!({"secretRef": {"name": "login"}, "verify": {"provider": "cosign", "trustedRootSecretRef": root}})
    };
    vec![
        ("git-secret", GIT, git(named("secretRef")), failed),
        ("git-proxy", GIT, git(named("proxySecretRef")), failed),
        (
            "git-verify",
            GIT,
            git(|name| json!({"secretRef": {"name": "git"}, "verify": {"secretRef": {"name": name}}})),
            "VerificationError",
        ),
        (
            "git-include",
            GIT,
            git(|name| json!({"secretRef": {"name": "git"}, "include": [{"repository": {"name": name}}]})),
            "NotFound",
        ),
        ("oci-secret", OCI, oci(named("secretRef")), failed),
        ("oci-cert", OCI, oci(named("certSecretRef")), failed),
        ("oci-proxy", OCI, oci(named("proxySecretRef")), failed),
        ("oci-account", OCI, oci(|name| json!({"serviceAccountName": name})), failed),
        ("oci-pull", OCI, oci(|name| json!({"serviceAccountName": account(name)})), failed),
        ("oci-cosign", OCI, oci(signed("cosign")), "VerificationError"),
        ("oci-notation", OCI, oci(signed("notation")), "VerificationError"),
        ("oci-root", OCI, oci(rooted), "VerificationError"),
        ("bucket-secret", BUCKET, bucket(named("secretRef")), failed),
        ("bucket-cert", BUCKET, bucket(named("certSecretRef")), failed),
        ("bucket-proxy", BUCKET, bucket(named("proxySecretRef")), failed),
        ("bucket-sts", BUCKET, bucket(sts("secretRef")), failed),
        ("bucket-sts-cert", BUCKET, bucket(sts("certSecretRef")), failed),
        (
            "helm-cert",
            HELM,
            Box::new(|_, name| {
                with(json!({"url": "http://127.0.0.1:1"}), json!({"certSecretRef": {"name": name}}))
            }),
            failed,
        ),
        (
            "chart-verify",
            CHART,
            Box::new(move |_, name| {
                let source = json!({"chart": "app", "version": "1.0.0", "sourceRef": {"kind": HELM, "name": "charts"}});
                with(source, json!({"verify": verified("cosign")(name)}))
            }),
            "VerificationError",
        ),
    ]
}

/// The own ServiceAccount whose pull Secret has this name.
fn account(secret: &str) -> &'static str {
    if secret == THEIRS { "pulls-named" } else { "pulls-path" }
}

/// Makes the objects of the other namespace, which would give access to everything.
async fn other_namespace(tenants: &Tenants, servers: &Servers) {
    let plane = &tenants.world.plane;
    let data = json!({
        "username": "user", "password": "pass", "address": "http://127.0.0.1:1",
        ".dockerconfigjson": servers.registry.docker_config(), "accesskey": "a", "secretkey": "b",
    });
    let object = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": THEIRS}});
    plane.apply(&tenants.other, with_field(object("Secret"), "stringData", data)).await.unwrap();
    let pulls = json!([{"name": THEIRS}]);
    plane
        .apply(&tenants.other, with_field(object("ServiceAccount"), "imagePullSecrets", pulls))
        .await
        .unwrap();
    let spec = json!({"url": servers.git.url("app"), "interval": "1h", "ref": {"branch": "main"}});
    tenants.apply(&tenants.other, GIT, THEIRS, spec).await;
    tenants.says(&tenants.other, GIT, THEIRS, ("True", "Succeeded", "stored artifact")).await;
}

fn with_field(mut object: Value, field: &str, value: Value) -> Value {
    object[field] = value;
    object
}

/// SRC-SCK-6, SRC-TYP-4.
#[tokio::test]
async fn no_reference_reaches_another_namespace() {
    let tenants = Tenants::start().await;
    let (git, registry) =
        (GitServer::start().await.unwrap(), Registry::start_with_basic_auth().await.unwrap());
    for name in ["app", "private/app"] {
        git.repo(name).unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    }
    registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
    let layer = Artifact::of_layer(chart_server::chart("app", "1.0.0", &[]));
    let layer = Artifact { layer_media_type: CHART_LAYER.into(), ..layer };
    registry.push_artifact_with("app", "1.0.0", layer).await.unwrap();
    let servers = Servers { git, registry };
    other_namespace(&tenants, &servers).await;
    let own = tenants.world.namespace.as_str();
    let path = format!("../../{}/secrets/{THEIRS}", tenants.other);
    tenants.world.secret("git", "Opaque", json!({"username": "user", "password": "pass"})).await;
    let login = json!({".dockerconfigjson": servers.registry.docker_config()});
    tenants.world.secret("login", "kubernetes.io/dockerconfigjson", login).await;
    for name in [THEIRS, path.as_str()] {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account(name)},
            "imagePullSecrets": [{"name": name}],
        });
        tenants.world.plane.apply(own, account).await.unwrap();
    }
    let charts = json!({
        "url": servers.registry.url(""), "type": "oci", "insecure": true, "secretRef": {"name": "login"},
    });
    tenants.apply(own, HELM, "charts", charts).await;
    for (name, kind, spec, _) in references() {
        tenants.apply(own, kind, &format!("{name}-named"), spec(&servers, THEIRS)).await;
        tenants.apply(own, kind, &format!("{name}-path"), spec(&servers, &path)).await;
    }
    for (name, kind, _, reason) in references() {
        tenants.says(own, kind, &format!("{name}-named"), ("False", reason, "not found")).await;
        // Where it is looked up in a cache, there is none of this name.
        let why = if name == "git-include" { "not found" } else { "a name is no part of a path" };
        tenants.says(own, kind, &format!("{name}-path"), ("False", reason, why)).await;
    }
}
