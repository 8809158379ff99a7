//! Ways to registries: certificates, proxies, pull Secrets and clouds of an ImageRepository (IR-19 to IR-25).

use std::net::SocketAddr;

use serde_json::{Value, json};
use weir_testkit::{Identity, Proxy, Registry, TlsFront};

use crate::world::World;

impl World {
    async fn secret(&self, name: &str, kind: &str, data: Value) {
        let metadata = json!({"name": name});
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "stringData": data,
        });
        self.plane.apply(&self.namespace, secret).await.unwrap();
    }
}

fn place(registry: &Registry) -> SocketAddr {
    registry.address().parse().unwrap()
}

/// IR-22: the certificates are those of the Secret, by the keys of today and by those of before.
#[tokio::test]
async fn a_registry_is_believed_by_the_authority_of_the_secret_and_told_who_asks() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    registry.push_image("tls/app", "1.0.0").await.unwrap();
    let (own, client) = (Identity::for_names(&[]).unwrap(), Identity::for_names(&[]).unwrap());
    let open = TlsFront::start(&own, place(&registry)).await.unwrap();
    let closed = TlsFront::start_for(&own, place(&registry), &client.ca_pem).await.unwrap();
    let (authority, certificate, key) = (&own.ca_pem, &client.certificate_pem, &client.key_pem);
    let secrets = [
        ("ca", json!({"ca.crt": authority})),
        ("ca-of-before", json!({"caFile": authority})),
        ("pair", json!({"ca.crt": authority, "tls.crt": certificate, "tls.key": key})),
        ("pair-of-before", json!({"caFile": authority, "certFile": certificate, "keyFile": key})),
    ];
    for (name, data) in secrets {
        world.secret(name, "Opaque", data).await;
    }
    let found = "found 1 tags";
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let rows = [
        ("open", &open, None, unknown),
        ("ca", &open, Some("ca"), found),
        ("ca-of-before", &open, Some("ca-of-before"), found),
        ("ca-alone", &closed, Some("ca"), "scan failed: "),
        ("pair", &closed, Some("pair"), found),
        ("pair-of-before", &closed, Some("pair-of-before"), found),
    ];
    for (name, front, secret, expected) in rows {
        let mut more = json!({"insecure": false});
        if let Some(name) = secret {
            more["certSecretRef"] = json!({"name": name});
        }
        world.repository(name, &format!("{}/tls/app", front.address()), more).await;
        world.until("ImageRepository", name, expected).await;
    }
}

/// IR-23: the proxy's user and password come from the Secret; without them nobody gets through.
#[tokio::test]
async fn a_registry_is_reached_through_the_proxy_of_the_secret() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    registry.push_image("far/app", "1.0.0").await.unwrap();
    let routes = [("registry.test:80", place(&registry))];
    let proxy = Proxy::start_with_password(&routes, "me", "s3cret").await.unwrap();
    let address = format!("http://{}", proxy.address());
    let known = json!({"address": address, "username": "me", "password": "s3cret"});
    for (name, data, expected) in
        [("known", known, "found 1 tags"), ("stranger", json!({"address": address}), "scan failed: ")]
    {
        world.secret(name, "Opaque", data).await;
        let more = json!({"proxySecretRef": {"name": name}});
        world.repository(name, "registry.test/far/app", more).await;
        world.until("ImageRepository", name, expected).await;
    }
}

/// The words of settings that lead to no registry; IR-19 for the first ones.
#[tokio::test]
async fn settings_that_are_of_no_use_are_told() {
    let world = World::start().await;
    world.secret("half", "Opaque", json!({"tls.crt": "x"})).await;
    world.secret("other", "Opaque", json!({"foo": "bar"})).await;
    world.secret("ftp", "Opaque", json!({"address": "ftp://proxy"})).await;
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller"},
        "imagePullSecrets": [{"name": "none"}],
    });
    world.plane.apply(&world.namespace, account).await.unwrap();
    let place = |name: &str| format!("'{}/{name}'", world.namespace);
    let named = |field: &str, name: &str| json!({field: {"name": name}});
    let account = |name: &str| json!({"serviceAccountName": name});
    let rows = [
        (named("secretRef", "none"), "secrets \"none\" not found".to_owned()),
        (account("nobody"), format!("serviceaccount {} not found", place("nobody"))),
        (
            account("puller"),
            format!(
                "failed to get image pull secret for serviceaccount {}: secret {} not found",
                place("puller"),
                place("none")
            ),
        ),
        (
            named("certSecretRef", "half"),
            format!("secret {} contains 'tls.crt' but missing 'tls.key'", place("half")),
        ),
        (
            named("certSecretRef", "other"),
            format!("secret {} must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'", place("other")),
        ),
        (named("proxySecretRef", "other"), format!("secret {}: key 'address' not found", place("other"))),
        (named("proxySecretRef", "ftp"), "proxy URL must use one of the supported schemes".to_owned()),
    ];
    for (at, (more, expected)) in rows.into_iter().enumerate() {
        let name = format!("row-{at}");
        world.repository(&name, "registry.test/app", more).await;
        let status = world.until("ImageRepository", &name, &expected).await;
        let ready =
            status["conditions"].as_array().unwrap().iter().find(|each| each["type"] == "Ready").unwrap();
        assert_eq!(ready["reason"], "AuthenticationFailed", "{expected}");
        assert!(
            ready["message"].as_str().unwrap().starts_with("failed to configure authentication options: ")
        );
    }
}

/// IR-21, IR-25: no cloud is asked for the sake of a host that only looks like its registry, nor as an account that may
/// not be used.
#[tokio::test]
async fn security_clouds_are_asked_for_their_own_registries_only() {
    let world = World::start().await;
    let alike = "1.dkr.ecr.eu-west-1.amazonaws.com.evil.test";
    for (provider, image, expected) in [
        ("aws", alike, format!("invalid AWS registry: '{alike}'. must match")),
        (
            "azure",
            "azurecr.io.evil.test",
            "invalid Azure registry: 'azurecr.io.evil.test'. must match".to_owned(),
        ),
        ("gcp", "gcr.io.evil.test", "invalid GCP registry: 'gcr.io.evil.test'. must match".to_owned()),
    ] {
        world.repository(provider, &format!("{image}/app"), json!({"provider": provider})).await;
        world.until("ImageRepository", provider, &expected).await;
    }
    let more = json!({"provider": "aws", "serviceAccountName": "puller"});
    world.repository("account", &format!("{alike}/app"), more).await;
    world
        .until("ImageRepository", "account", "please enable the ObjectLevelWorkloadIdentity feature gate")
        .await;
}
