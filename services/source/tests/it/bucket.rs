//! `Bucket` from object to artifact on every kind of server, and what stops it.

mod hostile;
pub mod stand_in;
mod tokens;

use serde_json::{Value, json};
use weir_testkit::{AZURITE_KEY, BucketProgram, BucketServer, Identity, Proxy, touch_requested_at};

use self::stand_in::StandIn;
use crate::world::{Setup, World, files, paths};

const BUCKET: &str = "Bucket";

fn revision(status: &Value) -> String {
    status["artifact"]["revision"].as_str().unwrap().to_owned()
}

/// B8: SRC-BKT-1 to SRC-BKT-5, deviation 5.
#[tokio::test]
async fn a_bucket_becomes_an_artifact_and_follows() {
    let Some(server) = BucketServer::start(BucketProgram::Moto).await.unwrap() else { return };
    let world = World::start().await;
    server.create("apps").await.unwrap();
    let stored =
        [(".sourceignore", "*.txt"), ("a.yaml", "a: 1\n"), ("n.txt", "n"), ("b/", ""), ("b/pic.png", "p")];
    for (key, text) in stored {
        server.put("apps", key, text).await.unwrap();
    }
    world.secret("keys", "Opaque", json!({"accesskey": "AKID", "secretkey": "secret"})).await;
    let keys = json!({"name": "keys"});
    world.bucket("all", server.address(), "apps", json!({"secretRef": keys})).await;
    let some = json!({"secretRef": keys, "prefix": "b", "ignore": "x"});
    world.bucket("some", server.address(), "apps", some).await;
    let status = world.ready(BUCKET, "all").await;
    // Nothing is excluded by default; the ignore file is obeyed and not archived (DEV 5).
    assert_eq!(paths(&status).await, ["a.yaml", "b/pic.png"]);
    assert!(status["url"].as_str().unwrap().ends_with("/all/latest.tar.gz"));
    let message = format!("stored artifact: revision '{}'", revision(&status));
    assert_eq!(status["conditions"][0]["message"], message);
    assert!(status["artifact"]["path"].as_str().unwrap().contains(&revision(&status)["sha256:".len()..]));
    let some = world.ready(BUCKET, "some").await;
    assert_eq!(paths(&some).await, ["b/pic.png"]);
    assert_eq!(some["observedIgnore"], "x");

    server.put("apps", "a.yaml", "a: 2\n").await.unwrap();
    server.delete("apps", "b/pic.png").await.unwrap();
    let before = revision(&status);
    touch_requested_at(&world.api(BUCKET).await, "all").await.unwrap();
    let status = world
        .until(BUCKET, "all", "a new revision", |object| {
            object.data["status"]["artifact"]["revision"].as_str().is_some_and(|new| new != before)
        })
        .await;
    let found = files(&status).await;
    assert_eq!(found.keys().map(ToString::to_string).collect::<Vec<_>>(), ["a.yaml"]);
    assert_eq!(found.values().next().unwrap().bytes, "a: 2\n");
}

/// C3: SRC-BKT-11, SRC-BKT-12, deviation 6.
#[tokio::test]
async fn the_other_clouds() {
    let google = BucketServer::start(BucketProgram::FakeGcs).await.unwrap();
    let azure = BucketServer::start(BucketProgram::Azurite).await.unwrap();
    let emulator = google.as_ref().map(|server| server.address().to_owned()).unwrap_or_default();
    let environment = vec![("STORAGE_EMULATOR_HOST", emulator)];
    let world = World::start_as(Setup { environment, ..Setup::default() }).await;
    if let Some(server) = google {
        server.create("apps").await.unwrap();
        server.put("apps", "dir/a b.yaml", "a").await.unwrap();
        world.bucket("google", "storage.googleapis.com", "apps", json!({"provider": "gcp"})).await;
        assert_eq!(paths(&world.ready(BUCKET, "google").await).await, ["dir/a b.yaml"]);
        world.bucket("nothing", "storage.googleapis.com", "none", json!({"provider": "gcp"})).await;
        assert_eq!(world.failure(BUCKET, "nothing").await.1, "bucket 'none' not found");
    }
    if let Some(server) = azure {
        server.create("apps").await.unwrap();
        server.put("apps", "dir/a b.yaml", "a").await.unwrap();
        world.secret("key", "Opaque", json!({"accountKey": AZURITE_KEY})).await;
        world.secret("wrong", "Opaque", json!({"accountKey": "aHVudGVyMg=="})).await;
        world.secret("nothing", "Opaque", json!({"other": "x"})).await;
        let with = |secret: &str| json!({"provider": "azure", "secretRef": {"name": secret}});
        for secret in ["key", "wrong", "nothing"] {
            world.bucket(&format!("azure-{secret}"), &server.endpoint(), "apps", with(secret)).await;
        }
        let status = world.ready(BUCKET, "azure-key").await;
        assert_eq!(paths(&status).await, ["dir/a b.yaml"]);
        // Unchanged is unchanged (DEV 6).
        touch_requested_at(&world.api(BUCKET).await, "azure-key").await.unwrap();
        let again = world
            .until(BUCKET, "azure-key", "handled", |object| {
                object.data["status"]["lastHandledReconcileAt"].is_string()
            })
            .await;
        assert_eq!(again["artifact"], status["artifact"]);
        let (reason, message) = world.failure(BUCKET, "azure-wrong").await;
        assert_eq!(reason, "BucketOperationFailed");
        assert!(message.starts_with("failed to confirm existence of 'apps' bucket: "), "{message}");
        let (reason, message) = world.failure(BUCKET, "azure-nothing").await;
        assert_eq!(reason, "AuthenticationFailed");
        assert!(message.starts_with("invalid 'nothing' secret data: requires a 'clientId' or "), "{message}");
    }
}

/// SRC-BKT-11: who has no identity may read what is public.
#[tokio::test]
async fn a_public_container() {
    let (world, server) = (World::start().await, StandIn::start(None).await);
    let azure = json!({"provider": "azure"});
    world.bucket("public", &format!("http://{}", server.address), "public", azure.clone()).await;
    world.bucket("private", &format!("http://{}", server.address), "private", azure).await;
    assert_eq!(paths(&world.ready(BUCKET, "public").await).await, ["a.yaml"]);
    let (reason, message) = world.failure(BUCKET, "private").await;
    assert_eq!(reason, "BucketOperationFailed", "{message}");
    assert!(world.controller.log().contains("asked for anonymously"));
}

/// B8: SRC-BKT-6, SRC-BKT-7.
#[tokio::test]
async fn keys_of_secrets() {
    let (world, server) = (World::start().await, StandIn::start(Some("AKID")).await);
    server.put("a.yaml", "a");
    world.secret("ok", "Opaque", json!({"accesskey": "AKID", "secretkey": "hunter2"})).await;
    world.secret("bad", "Opaque", json!({"accesskey": "NOPE", "secretkey": "hunter2"})).await;
    world.secret("half", "Opaque", json!({"accesskey": "AKID"})).await;
    let with = |field: &str, name: &str| json!({field: {"name": name}});
    let refs = [("ok", "secretRef"), ("bad", "secretRef"), ("half", "secretRef"), ("missing", "secretRef")];
    for (name, field) in refs.into_iter().chain([("cert", "certSecretRef"), ("proxy", "proxySecretRef")]) {
        world.bucket(name, &server.endpoint(), "apps", with(field, name)).await;
    }
    for provider in ["aws", "gcp", "azure"] {
        let fields = json!({"provider": provider, "certSecretRef": {"name": "cert"}});
        world.bucket(provider, &server.endpoint(), "apps", fields).await;
    }
    world.bucket("none", &server.endpoint(), "apps", json!({})).await;
    world.bucket("short", &server.endpoint(), "ap", json!({})).await;
    world.bucket("refused", "127.0.0.1:1", "apps", json!({})).await;
    world.bucket("scheme", &format!("http://{}", server.endpoint()), "apps", json!({})).await;
    world
        .bucket("gate", &server.endpoint(), "apps", json!({"provider": "aws", "serviceAccountName": "x"}))
        .await;
    assert_eq!(paths(&world.ready(BUCKET, "ok").await).await, ["a.yaml"]);
    let namespace = &world.namespace;
    let no_certificates = format!("failed to get TLS config: secret '{namespace}/cert' not found");
    for (name, reason, message) in [
        ("bad", "BucketOperationFailed", "failed to confirm existence of 'apps' bucket: InvalidAccessKeyId"),
        ("none", "BucketOperationFailed", "failed to confirm existence of 'apps' bucket: Access Denied."),
        (
            "half",
            "AuthenticationFailed",
            "invalid 'half' secret data: required fields 'accesskey' and 'secretkey'",
        ),
        (
            "missing",
            "AuthenticationFailed",
            &format!("failed to get secret '{namespace}/missing': secrets \"missing\" not found"),
        ),
        ("cert", "AuthenticationFailed", no_certificates.as_str()),
        ("aws", "AuthenticationFailed", &no_certificates),
        ("gcp", "AuthenticationFailed", &no_certificates),
        ("azure", "AuthenticationFailed", &no_certificates),
        (
            "proxy",
            "AuthenticationFailed",
            &format!("failed to get proxy URL: secret '{namespace}/proxy' not found"),
        ),
        ("scheme", "AuthenticationFailed", "Endpoint url cannot have fully qualified paths."),
        (
            "short",
            "BucketOperationFailed",
            "failed to confirm existence of 'ap' bucket: Bucket name cannot be shorter than 3 characters",
        ),
        (
            "refused",
            "BucketOperationFailed",
            "failed to confirm existence of 'apps' bucket: Get \"http://127.0.0.1:1/apps/?location=\": \
             dial tcp 127.0.0.1:1: connect: connection refused",
        ),
        (
            "gate",
            "FeatureGateDisabled",
            "to use spec.serviceAccountName for provider authentication please enable the \
             ObjectLevelWorkloadIdentity feature gate in the controller",
        ),
    ] {
        let failure = world.failure(BUCKET, name).await;
        assert_eq!(failure, (reason.to_owned(), message.to_owned()), "{name}");
    }
}

#[tokio::test]
async fn through_a_proxy_to_a_private_authority() {
    const HOST: &str = "minio.example.com";
    let (world, identity) = (World::start().await, Identity::for_names(&[HOST]).unwrap());
    let server = StandIn::start_with(None, Some(&identity)).await;
    server.put("a.yaml", "a");
    let routes = [("minio.example.com:443", server.address)];
    let proxy = Proxy::start_with_password(&routes, "user", "hunter2").await.unwrap();
    let address = format!("http://{}", proxy.address());
    let with = |password: &str| json!({"address": address, "username": "user", "password": password});
    world.secret("proxy", "Opaque", with("hunter2")).await;
    world.secret("wrong", "Opaque", with("hunter3")).await;
    world.secret("ca", "Opaque", json!({"ca.crt": identity.ca_pem})).await;
    let spec = |proxy: &str| json!({"insecure": false, "proxySecretRef": {"name": proxy}});
    let trusting = |proxy: &str| {
        let mut spec = spec(proxy);
        spec["certSecretRef"] = json!({"name": "ca"});
        spec
    };
    world.bucket("good", HOST, "apps", trusting("proxy")).await;
    world.bucket("stranger", HOST, "apps", trusting("wrong")).await;
    world.bucket("unknown", HOST, "apps", spec("proxy")).await;
    assert_eq!(paths(&world.ready(BUCKET, "good").await).await, ["a.yaml"]);
    let (_, message) = world.failure(BUCKET, "unknown").await;
    assert!(message.contains("certificate signed by unknown authority"), "{message}");
    let (_, message) = world.failure(BUCKET, "stranger").await;
    assert!(
        message.starts_with("failed to confirm existence of 'apps' bucket: ") && !message.contains("hunter")
    );
}

/// C3: SRC-BKT-10.
#[tokio::test]
async fn a_user_of_a_directory() {
    let (world, server) = (World::start().await, StandIn::start(Some("LDAP-user")).await);
    server.put("a.yaml", "a");
    world.secret("user", "Opaque", json!({"username": "user", "password": "hunter2"})).await;
    world.secret("wrong", "Opaque", json!({"username": "user", "password": "hunter3"})).await;
    world.secret("half", "Opaque", json!({"username": "user"})).await;
    let endpoint = format!("http://{}/sts", server.address);
    for secret in ["user", "wrong", "half", "gone"] {
        let sts = json!({"provider": "ldap", "endpoint": endpoint, "secretRef": {"name": secret}});
        world.bucket(secret, &server.endpoint(), "apps", json!({"sts": sts})).await;
    }
    assert_eq!(paths(&world.ready(BUCKET, "user").await).await, ["a.yaml"]);
    let (reason, message) = world.failure(BUCKET, "wrong").await;
    let expected = "failed to confirm existence of 'apps' bucket: no user user with password <redacted>";
    assert_eq!((reason.as_str(), message.as_str()), ("BucketOperationFailed", expected));
    let expected = "invalid 'half' secret data for 'ldap' STS provider: required fields username, password";
    assert_eq!(world.failure(BUCKET, "half").await.1, expected);
    assert!(world.failure(BUCKET, "gone").await.1.starts_with("failed to get STS secret '"));
}

/// B8: SRC-BKT-2.
#[tokio::test]
async fn ten_thousand_objects_are_listed_and_only_the_first_time_downloaded() {
    let (world, server) = (World::start().await, StandIn::start(None).await);
    for index in 0..10_000 {
        server.put(&format!("dir-{}/{index}.yaml", index % 100), &format!("index: {index}\n"));
    }
    world.bucket("many", &server.endpoint(), "apps", json!({})).await;
    let status = world.ready(BUCKET, "many").await;
    assert_eq!(files(&status).await.len(), 10_000);
    let before = server.requests();
    // Region, bucket, ignore file, ten pages, and the objects.
    assert_eq!(before, 3 + 10 + 10_000);
    let token = touch_requested_at(&world.api(BUCKET).await, "many").await.unwrap();
    let again = world
        .until(BUCKET, "many", "handled", |object| object.data["status"]["lastHandledReconcileAt"] == token)
        .await;
    assert_eq!(again["artifact"], status["artifact"]);
    assert_eq!(server.requests() - before, 3 + 10, "an unchanged bucket is only listed");
}
