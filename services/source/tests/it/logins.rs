//! Providers of logins: what is refused before anyone is asked, and certificates and proxies on the way to a registry.

use serde_json::json;
use weir_testkit::{Identity, Registry, TlsFront};

use crate::bucket::stand_in::StandIn;
use crate::chart_server::ChartServer;
use crate::world::World;

const OCI: &str = "OCIRepository";
const GIT: &str = "GitRepository";
const HELM: &str = "HelmRepository";

#[tokio::test]
async fn refused_without_asking() {
    let world = World::start().await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "tenant"}});
    world.plane.apply(&world.namespace, account).await.unwrap();
    world.secret("app", "Opaque", json!({"githubAppID": "1", "githubAppPrivateKey": "hunter2"})).await;
    let ecr = "oci://123456789012.dkr.ecr.eu-west-1.amazonaws.com/app";
    world.oci("gate", ecr, json!({"provider": "aws", "serviceAccountName": "tenant"})).await;
    world.oci("host", "oci://127.0.0.1:1/app", json!({"provider": "gcp"})).await;
    let evil = "oci://x.azurecr.io.evil.example/app";
    world.oci("suffix", evil, json!({"provider": "azure"})).await;
    let url = "https://127.0.0.1:1/app";
    world.git("noapp", url, json!({"provider": "github"})).await;
    world.git("half", url, json!({"provider": "github", "secretRef": {"name": "app"}})).await;
    world.git("unexpected", url, json!({"secretRef": {"name": "app"}})).await;
    for (kind, name, reason, part) in [
        (OCI, "gate", "FeatureGateDisabled", "please enable the ObjectLevelWorkloadIdentity feature gate"),
        (
            OCI,
            "host",
            "OCIArtifactPullFailed",
            "failed to determine artifact digest: invalid GCP registry: '127.0.0.1:1'",
        ),
        (
            OCI,
            "suffix",
            "OCIArtifactPullFailed",
            "failed to determine artifact digest: invalid Azure registry: ",
        ),
        (GIT, "noapp", "InvalidProviderConfiguration", "secretRef with github app data must be specified"),
        (GIT, "half", "AuthenticationFailed", "must contain exactly one of 'githubAppInstallationOwner'"),
        (
            GIT,
            "unexpected",
            "InvalidProviderConfiguration",
            "has github app data but provider is not set to github",
        ),
    ] {
        let (found, message) = world.failure(kind, name).await;
        assert_eq!(found, reason, "{name}: {message}");
        assert!(message.contains(part), "{name}: {message}");
    }
    world.logs_without("hunter2");
}

/// SRC-SCK-8, B7: whose certificates are believed, and that only an `OCIRepository` can do without.
#[tokio::test]
async fn authorities_of_the_object() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
    let (own, other) = (Identity::for_names(&[]).unwrap(), Identity::for_names(&[]).unwrap());
    let tls = TlsFront::start(&own, registry.address().parse().unwrap()).await.unwrap();
    let url = format!("oci://localhost:{}/app", tls.address().port());
    world.secret("right", "Opaque", json!({"ca.crt": own.ca_pem})).await;
    world.secret("wrong", "Opaque", json!({"ca.crt": other.ca_pem})).await;
    world.secret("none", "Opaque", json!({"ca.crt": "no PEM"})).await;
    for name in ["right", "wrong", "none"] {
        world.oci(name, &url, json!({"insecure": false, "certSecretRef": {"name": name}})).await;
    }
    let (client, stranger) = (&other, Identity::for_names(&[]).unwrap());
    let target = registry.address().parse().unwrap();
    let mutual = TlsFront::start_for(&own, target, &client.ca_pem).await.unwrap();
    let mutual_url = format!("oci://localhost:{}/app", mutual.address().port());
    for (name, identity) in [("client", client), ("stranger", &stranger)] {
        let data =
            json!({"ca.crt": own.ca_pem, "tls.crt": identity.certificate_pem, "tls.key": identity.key_pem});
        world.secret(name, "kubernetes.io/tls", data).await;
        world.oci(name, &mutual_url, json!({"insecure": false, "certSecretRef": {"name": name}})).await;
    }
    world.oci("unknown", &url, json!({"insecure": false})).await;
    world.oci("insecure", &url, json!({})).await;
    world.oci("insecure-wrong", &url, json!({"certSecretRef": {"name": "wrong"}})).await;
    let charts = json!({"url": url.trim_end_matches("/app"), "type": "oci", "insecure": true});
    world.apply(HELM, "insecure", charts).await;
    let source = json!({"kind": HELM, "name": "insecure"});
    let chart = json!({"chart": "app", "version": "1.0.0", "interval": "1h", "sourceRef": source});
    world.apply("HelmChart", "insecure", chart).await;
    world.ready(OCI, "right").await;
    world.ready(OCI, "insecure").await;
    world.ready(OCI, "client").await;
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    for (name, reason, part) in [
        ("wrong", "OCIArtifactPullFailed", unknown),
        ("unknown", "OCIArtifactPullFailed", unknown),
        ("insecure-wrong", "OCIArtifactPullFailed", unknown),
        ("stranger", "OCIArtifactPullFailed", "remote error: tls: "),
        ("none", "AuthenticationFailed", "failed to parse CA certificate"),
    ] {
        // A server that hangs up before the request is sent is told by a try that sees why.
        let (found, message) = world.failure_of(OCI, name, part).await;
        assert_eq!(found, reason, "{name}: {message}");
    }
    // For charts, `insecure` is plain HTTP and nothing else, as in Flux: a certificate that nobody vouches for is not believed.
    let (_, message) = world.failure("HelmChart", "insecure").await;
    let asked = format!("Get \"http://localhost:{}/v2/app/manifests/1.0.0\": ", tls.address().port());
    assert!(message.contains(&asked), "{message}");
}

/// B7 for chart repositories and S3.
#[tokio::test]
async fn client_certificates() {
    let (world, charts, bucket) =
        (World::start().await, ChartServer::start().await, StandIn::start(None).await);
    charts.publish("/charts", &["1.0.0"]);
    bucket.put("a.yaml", "a");
    let [own, client, stranger] = [(); 3].map(|()| Identity::for_names(&[]).unwrap());
    let helm = TlsFront::start_for(&own, charts.address(), &client.ca_pem).await.unwrap();
    let s3 = TlsFront::start_for(&own, bucket.address, &client.ca_pem).await.unwrap();
    for (name, identity) in [("client", Some(&client)), ("stranger", Some(&stranger)), ("nobody", None)] {
        let mut data = json!({"ca.crt": own.ca_pem});
        if let Some(identity) = identity {
            data["tls.crt"] = json!(identity.certificate_pem);
            data["tls.key"] = json!(identity.key_pem);
        }
        world.secret(name, "Opaque", data).await;
        let reference = json!({"name": name});
        let url = format!("https://localhost:{}/charts", helm.address().port());
        world.apply(HELM, name, json!({"url": url, "interval": "1h", "certSecretRef": reference})).await;
        let spec = json!({"insecure": false, "certSecretRef": reference});
        world.bucket(name, &format!("localhost:{}", s3.address().port()), "apps", spec).await;
    }
    let source = json!({"kind": HELM, "name": "client"});
    world.apply("HelmChart", "app", json!({"chart": "app", "interval": "1h", "sourceRef": source})).await;
    world.ready(HELM, "client").await;
    world.ready("HelmChart", "app").await;
    world.ready("Bucket", "client").await;
    for name in ["stranger", "nobody"] {
        for (kind, reason) in [(HELM, "Failed"), ("Bucket", "BucketOperationFailed")] {
            let (found, message) = world.failure_of(kind, name, "remote error: tls: ").await;
            assert_eq!(found, reason, "{kind} {name}: {message}");
        }
    }
}
