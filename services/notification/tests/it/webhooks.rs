//! Webhooks from the call to the annotation.

use std::time::Duration;

use serde_json::json;
use weir_testkit::{Fault, condition, eventually, wait_condition, wait_ready};

use crate::world::{DEADLINE, Setup, World};

const SIGNED: &str = "sha256=b9b3b9d8b6a0fb6a6a4a0c0d";

pub fn repository(name: &str, team: &str) -> String {
    let spec = json!({"url": "https://example.com/x", "interval": "1h", "suspend": true});
    let metadata = json!({"name": name, "labels": {"team": team}});
    let version = "source.toolkit.fluxcd.io/v1";
    json!({"apiVersion": version, "kind": "GitRepository", "metadata": metadata, "spec": spec}).to_string()
}

pub fn receiver(name: &str, kind: &str, spec: serde_json::Value) -> String {
    let mut full = json!({"type": kind, "secretRef": {"name": "token"}});
    full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let version = "notification.toolkit.fluxcd.io/v1";
    json!({"apiVersion": version, "kind": "Receiver", "metadata": {"name": name}, "spec": full}).to_string()
}

pub const TOKEN: &str =
    "{apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {token: test-token}}";

pub async fn path_of(world: &World, name: &str) -> String {
    let api =
        world.plane.api("notification.toolkit.fluxcd.io/v1", "Receiver", &world.namespace).await.unwrap();
    let ready = wait_ready(&api, name, DEADLINE).await.unwrap();
    ready.data["status"]["webhookPath"].as_str().unwrap().to_owned()
}

pub async fn call(world: &World, path: &str, body: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = world.http.post(world.webhook_url(path)).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.to_owned()).send().await.unwrap().status().as_u16()
}

/// Calls a path that the service has just written into a status: its own watch may show it a moment after the test has seen it.
pub async fn first_call(world: &World, path: &str, body: &str, headers: &[(&str, &str)]) -> u16 {
    let answer = eventually("the service to know its path", DEADLINE, || async {
        let answer = call(world, path, body, headers).await;
        (answer != 404).then_some(answer)
    });
    answer.await.unwrap()
}

async fn marked(world: &World) -> Vec<String> {
    marked_in(world, &world.namespace).await
}

async fn marked_in(world: &World, namespace: &str) -> Vec<String> {
    let api = world.plane.api("source.toolkit.fluxcd.io/v1", "GitRepository", namespace).await.unwrap();
    let objects = api.list(&Default::default()).await.unwrap().items;
    let is_marked = |o: &kube::api::DynamicObject| {
        o.metadata.annotations.as_ref().is_some_and(|a| a.contains_key("reconcile.fluxcd.io/requestedAt"))
    };
    objects.into_iter().filter(is_marked).filter_map(|object| object.metadata.name).collect()
}

#[rstest::rstest]
#[case::labelled(json!({"team": "a"}))]
#[case::all(json!({}))]
#[tokio::test]
async fn a_signed_call_marks_what_the_filters_admit(#[case] labels: serde_json::Value) {
    let setup = Setup::new().await;
    for (name, team) in [("one", "a"), ("two", "a"), ("three", "b")] {
        setup.apply(&repository(name, team)).await;
    }
    setup.apply(TOKEN).await;
    let resources = json!([{"kind": "GitRepository", "name": "*", "matchLabels": labels}]);
    let filter = "req.action == 'push' && res.metadata.name == req.name";
    setup
        .apply(&receiver("hooks", "github", json!({"resources": resources, "resourceFilter": filter})))
        .await;
    let world = setup.start().await;

    let path = path_of(&world, "hooks").await;
    let body = r#"{"action":"push","name":"two"}"#;
    let signature = signature(body);
    assert_eq!(first_call(&world, &path, body, &[("x-hub-signature-256", SIGNED)]).await, 400);
    assert!(marked(&world).await.is_empty());
    assert_eq!(call(&world, &path, body, &[("x-hub-signature-256", &signature)]).await, 200);
    assert_eq!(marked(&world).await, ["two"]);
    assert_eq!(call(&world, "/hook/unknown", body, &[]).await, 404);
    assert_eq!(call(&world, &format!("{path}?a=b"), body, &[]).await, 404);
}

fn signature(body: &str) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"test-token").unwrap();
    mac.update(body.as_bytes());
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn a_receiver_waits_for_its_secret_and_follows_it() {
    let setup = Setup::new().await;
    setup.apply(&receiver("hooks", "generic", json!({"resources": []}))).await;
    let world = setup.start().await;
    let api =
        world.plane.api("notification.toolkit.fluxcd.io/v1", "Receiver", &world.namespace).await.unwrap();

    let failing =
        wait_condition(&api, "hooks", "Ready", "False", Some("TokenNotFound"), DEADLINE).await.unwrap();
    let message = condition(&failing, "Ready").unwrap().message;
    let expected = format!(
        "unable to read token from secret '{}/token' error: secrets \"token\" not found",
        world.namespace
    );
    assert_eq!(message, expected);

    let labelled = |token: &str| {
        let metadata = json!({"name": "token", "labels": {"reconcile.fluxcd.io/watch": "Enabled"}});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": token}})
            .to_string()
    };
    world.plane.apply_yaml(&world.namespace, &labelled("one")).await.unwrap();
    let first = path_of(&world, "hooks").await;
    assert_eq!(first_call(&world, &first, "", &[]).await, 200);

    world.plane.apply_yaml(&world.namespace, &labelled("two")).await.unwrap();
    let second = eventually("another path", DEADLINE, || async {
        let path = path_of(&world, "hooks").await;
        (path != first).then_some(path)
    });
    let second = second.await.unwrap();
    assert_eq!(call(&world, &first, "", &[]).await, 404);
    assert_eq!(first_call(&world, &second, "", &[]).await, 200);
}

#[tokio::test]
async fn one_missing_object_does_not_stop_the_others_and_old_versions_are_served() {
    let setup = Setup::new().await;
    setup.apply(&repository("one", "a")).await;
    setup.apply(&repository("two", "a")).await;
    setup.apply(TOKEN).await;
    let old = "source.toolkit.fluxcd.io/v1alpha1";
    let resources = json!([
        {"kind": "GitRepository", "name": "gone"},
        {"kind": "GitRepository", "name": "one"},
        {"kind": "GitRepository", "name": "two", "apiVersion": old},
    ]);
    setup.apply(&receiver("hooks", "generic", json!({"resources": resources}))).await;
    let world = setup.start().await;

    let path = path_of(&world, "hooks").await;
    assert_eq!(first_call(&world, &path, "", &[]).await, 500);
    assert_eq!(marked(&world).await, ["one", "two"]);
}

/// NTF-105, NTF-130: objects of other namespaces are marked only where that is allowed; the Receiver's own are in any case.
#[rstest::rstest]
#[case::allowed(false, 200)]
#[case::blocked(true, 500)]
#[tokio::test]
async fn security_receivers_mark_nothing_in_other_namespaces_when_told_so(
    #[case] is_blocked: bool,
    #[case] expected: u16,
) {
    let mut setup = Setup::new().await;
    setup.flag(&format!("--no-cross-namespace-refs={is_blocked}"));
    let plane = weir_testkit::ControlPlane::shared().await.unwrap();
    let elsewhere = plane.unique_namespace("elsewhere").await.unwrap();
    for (name, team) in [("named", "a"), ("labelled", "b")] {
        plane.apply_yaml(&elsewhere, &repository(name, team)).await.unwrap();
    }
    setup.apply(&repository("own", "a")).await;
    setup.apply(TOKEN).await;
    let resources = json!([
        {"kind": "GitRepository", "name": "named", "namespace": elsewhere},
        {"kind": "GitRepository", "name": "*", "matchLabels": {"team": "b"}, "namespace": elsewhere},
        {"kind": "GitRepository", "name": "own"},
    ]);
    setup.apply(&receiver("hooks", "generic", json!({"resources": resources}))).await;
    let world = setup.start().await;
    let path = path_of(&world, "hooks").await;
    assert_eq!(first_call(&world, &path, "", &[]).await, expected);
    assert_eq!(marked(&world).await, ["own"]);
    let foreign: &[&str] = if is_blocked { &[] } else { &["labelled", "named"] };
    assert_eq!(marked_in(&world, &elsewhere).await, foreign);
}

/// NTF-111.
#[tokio::test]
async fn each_call_marks_anew_with_the_time_of_the_call() {
    let setup = Setup::new().await;
    setup.apply(&repository("one", "a")).await;
    setup.apply(TOKEN).await;
    let resources = json!([{"kind": "GitRepository", "name": "one"}]);
    setup.apply(&receiver("hooks", "generic", json!({"resources": resources}))).await;
    let world = setup.start().await;
    let path = path_of(&world, "hooks").await;
    let api =
        world.plane.api("source.toolkit.fluxcd.io/v1", "GitRepository", &world.namespace).await.unwrap();
    let mut before = jiff::Timestamp::now();
    for _ in 0..2 {
        assert_eq!(first_call(&world, &path, "", &[]).await, 200);
        let one = api.get("one").await.unwrap();
        let time = one.metadata.annotations.unwrap()["reconcile.fluxcd.io/requestedAt"].clone();
        let time: jiff::Timestamp = time.parse().unwrap();
        assert!(time > before, "{time}");
        before = time;
        let managers = one.metadata.managed_fields.unwrap_or_default();
        assert!(managers.iter().any(|entry| entry.manager.as_deref() == Some("notification-controller")));
    }
}

#[tokio::test]
async fn a_token_of_an_identity_provider_opens_a_receiver_without_a_secret() {
    use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, jwk::Jwk};
    let setup = Setup::new().await;
    let issuer = setup.sink.url("");
    let pair = rcgen::KeyPair::generate().unwrap();
    let key = EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap();
    let keys = json!({"keys": [Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap()]}).to_string();
    let jwks = format!("{issuer}/keys");
    let algorithms = ["ES256"];
    let discovery =
        json!({"issuer": issuer, "jwks_uri": jwks, "id_token_signing_alg_values_supported": algorithms})
            .to_string();
    setup.sink.answer_with(move |request| weir_testkit::SinkAnswer {
        body: if request.path == "/keys" { keys.clone().into() } else { discovery.clone().into() },
        ..Default::default()
    });
    setup.apply(&repository("one", "a")).await;
    let validations = json!([{"expression": "claims.sub == 'ci'", "message": "only ci"}]);
    let spec = json!({
        "type": "generic-oidc",
        "resources": [{"kind": "GitRepository", "name": "one"}],
        "resourceFilter": "claims.repo == res.metadata.name",
        "oidcProviders": [{"issuerURL": issuer, "validations": validations}],
    });
    let version = "notification.toolkit.fluxcd.io/v1";
    let metadata = json!({"name": "hooks"});
    setup
        .apply(
            &json!({"apiVersion": version, "kind": "Receiver", "metadata": metadata, "spec": spec})
                .to_string(),
        )
        .await;
    let world = setup.start().await;
    let path = path_of(&world, "hooks").await;

    let token = |subject: &str, audience: &str| {
        let expiry = jiff::Timestamp::now().as_second() + 60;
        let claims = json!({"iss": issuer, "aud": audience, "exp": expiry, "sub": subject, "repo": "one"});
        format!("Bearer {}", encode(&Header::new(Algorithm::ES256), &claims, &key).unwrap())
    };
    let own = "notification-controller";
    for refused in ["", "Basic eDp5", &token("someone", own), &token("ci", "other")] {
        assert_eq!(first_call(&world, &path, "{}", &[("authorization", refused)]).await, 400, "{refused}");
    }
    assert!(marked(&world).await.is_empty());
    assert_eq!(call(&world, &path, "{}", &[("authorization", &token("ci", own))]).await, 200);
    assert_eq!(marked(&world).await, ["one"]);
    assert_eq!(world.sink.requests().len(), 2, "discovery and keys are read once");
}

/// A status may be forged: the path in it is believed only of the Receiver whose token makes it.
#[tokio::test]
async fn regression_14_a_forged_webhook_path_takes_over_nobody() {
    let setup = Setup::new().await;
    for (name, team) in [("mine", "a"), ("theirs", "b")] {
        setup.apply(&repository(name, team)).await;
    }
    setup.apply(TOKEN).await;
    let other = "{apiVersion: v1, kind: Secret, metadata: {name: other}, stringData: {token: known-to-them}}";
    setup.apply(other).await;
    let marking = |name: &str| json!([{"kind": "GitRepository", "name": name}]);
    setup.apply(&receiver("victim", "generic", json!({"resources": marking("mine")}))).await;
    let forger = json!({"resources": marking("theirs"), "secretRef": {"name": "other"}});
    setup.apply(&receiver("forger", "generic", forger.clone())).await;
    setup.apply(&receiver("another", "generic", forger)).await;
    let world = setup.start().await;
    let path = path_of(&world, "victim").await;
    let own = path_of(&world, "forger").await;
    path_of(&world, "another").await;

    let api =
        world.plane.api("notification.toolkit.fluxcd.io/v1", "Receiver", &world.namespace).await.unwrap();
    for name in ["forger", "another"] {
        let forged = kube::api::Patch::Merge(json!({"status": {"webhookPath": path}}));
        api.patch_status(name, &Default::default(), &forged).await.unwrap();
    }
    // The service has seen the forgeries once the forger's own path is gone from its status.
    eventually("the forgery to be seen", DEADLINE, || async {
        (call(&world, &own, "", &[]).await == 404).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(call(&world, &path, "", &[]).await, 200);
    assert_eq!(marked(&world).await, ["mine"]);
    // Nor do they get the calls when the victim is gone.
    api.delete("victim", &Default::default()).await.unwrap();
    eventually("the path to be nobody's", DEADLINE, || async {
        (call(&world, &path, "", &[]).await == 404).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(marked(&world).await, ["mine"]);
}

/// GitHub hangs up after 10 s.
#[tokio::test]
async fn a_call_is_done_though_its_caller_hangs_up() {
    let mut setup = Setup::new().await;
    setup.apply(TOKEN).await;
    for name in ["one", "two"] {
        setup.apply(&repository(name, "a")).await;
    }
    let resources =
        json!([{"kind": "GitRepository", "name": "one"}, {"kind": "GitRepository", "name": "two"}]);
    setup.apply(&receiver("hooks", "generic", json!({"resources": resources}))).await;
    let proxy = setup.proxied().await;
    let world = setup.start().await;
    let path = path_of(&world, "hooks").await;

    proxy.set_for("/gitrepositories/", 2, Fault::Delay(Duration::from_secs(2)));
    // Until its own watch has seen the path, the service answers 404, and on a slow machine a caller may be gone before its call is read.
    let hung_up = eventually("the caller of a call that goes on to hang up", DEADLINE, || async {
        let request = world.http.post(world.webhook_url(&path)).timeout(Duration::from_millis(500));
        request.send().await.err().filter(reqwest::Error::is_timeout)?;
        proxy.wait_for("/gitrepositories/", 1, Duration::from_secs(10)).await.ok()
    });
    hung_up.await.unwrap();
    let both = eventually("the objects to be marked", DEADLINE, || async {
        (marked(&world).await == ["one", "two"]).then_some(())
    });
    both.await.unwrap();
}

/// As in Flux, a visit to a ready Receiver ends with an event, also when it is suspended or deleted.
#[tokio::test]
async fn a_suspended_receiver_that_is_ready_says_so() {
    let setup = Setup::new().await;
    setup.apply(TOKEN).await;
    let world = setup.start().await;
    let version = "notification.toolkit.fluxcd.io/v1";
    let spec = json!({"interval": "7m", "suspend": true});
    world
        .plane
        .apply_yaml(&world.namespace, &receiver("hooks", "generic", json!({"resources": []})))
        .await
        .unwrap();
    path_of(&world, "hooks").await;
    let api = world.plane.api(version, "Receiver", &world.namespace).await.unwrap();
    api.patch("hooks", &Default::default(), &kube::api::Patch::Merge(json!({"spec": spec}))).await.unwrap();
    let expected = "Reconciliation finished, next run in 7m0s";
    eventually("the event of the suspended Receiver", DEADLINE, || async {
        let events = world.plane.api("v1", "Event", &world.namespace).await.unwrap();
        let events = events.list(&Default::default()).await.unwrap().items;
        events.iter().any(|event| event.data["message"] == expected).then_some(())
    })
    .await
    .unwrap();
}
