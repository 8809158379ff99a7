//! Events from the endpoint to providers.

use std::time::Duration;

use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::json;
use weir_testkit::{Fault, WebhookSink, wait_for};

use crate::world::{DEADLINE, Setup};

#[tokio::test]
async fn an_event_reaches_its_providers_and_a_repetition_does_not() {
    let setup = Setup::new().await;
    setup.apply("{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {token: key}}").await;
    setup.provider("hmac", "generic-hmac", json!({"secretRef": {"name": "key"}})).await;
    setup.provider("slack", "slack", json!({"channel": "general"})).await;
    let world = setup.start().await;

    assert_eq!(world.post(&world.event("hello", "info")).await, 202);
    assert_eq!(world.post(&world.event("hello", "error")).await, 429);
    assert_eq!(world.post(&json!({"severity": 1})).await, 400);

    let requests = world.sink.wait_for_requests(2, DEADLINE).await.unwrap();
    let generic = requests.iter().find(|request| request.path == "/hmac").unwrap();
    assert_eq!(
        generic.json()["metadata"],
        json!({"revision": "main@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e736"})
    );
    assert!(generic.header("x-signature").starts_with("sha256="));
    let slack = requests.iter().find(|request| request.path == "/slack").unwrap();
    assert_eq!(slack.json()["attachments"][0]["text"], "hello");
    assert_eq!(slack.json()["channel"], "general");
}

#[tokio::test]
async fn a_provider_that_cannot_work_shows_on_its_alert_without_its_secrets() {
    let setup = Setup::new().await;
    let secret =
        "{apiVersion: v1, kind: Secret, metadata: {name: addr}, stringData: {address: 'no-url-sesame9'}}";
    setup.apply(secret).await;
    setup.provider("missing", "generic", json!({"secretRef": {"name": "nope"}})).await;
    setup.provider("masked", "slack", json!({"secretRef": {"name": "addr"}})).await;
    let world = setup.start().await;

    assert_eq!(world.post(&world.event("hello", "info")).await, 202);

    let object = format!("Kustomization/{}/web", world.namespace);
    assert_eq!(
        world.failure_of("missing").await,
        format!(
            "failed to dispatch notification for {object}: failed to initialize notifier for provider 'missing': \
             failed to get secret '{}/nope': secrets \"nope\" not found",
            world.namespace
        )
    );
    let masked = world.failure_of("masked").await;
    assert!(masked.contains("invalid Slack hook URL *****") && !masked.contains("sesame9"), "{masked}");
}

/// NTF-37, NTF-21: a provider that fails does not stop the others. An event counts as repeated even if no Alert wanted it.
#[tokio::test]
async fn one_provider_that_fails_does_not_hold_up_another() {
    let setup = Setup::new().await;
    setup.provider("missing", "generic", json!({"secretRef": {"name": "nope"}})).await;
    setup.provider("good", "generic", json!({})).await;
    let world = setup.start().await;
    assert_eq!(world.post(&world.event("hello", "info")).await, 202);
    world.failure_of("missing").await;
    world.sink.wait_for("the good one", DEADLINE, |request| request.path == "/good").await.unwrap();
    assert_eq!(world.post(&world.event("hello", "info")).await, 429);

    let mut unwanted = world.event("nobody wants it", "info");
    unwanted["involvedObject"]["kind"] = "Bucket".into();
    unwanted["involvedObject"]["apiVersion"] = "source.toolkit.fluxcd.io/v1".into();
    assert_eq!(world.post(&unwanted).await, 202);
    assert_eq!(world.post(&unwanted).await, 429);
    // No answer waits for deliveries: while one of a later event arrives, a wrong one had its time.
    assert_eq!(world.post(&world.event("goodbye", "info")).await, 202);
    world
        .sink
        .wait_for("another event", DEADLINE, |request| request.text().contains("goodbye"))
        .await
        .unwrap();
    assert_eq!(world.sink.requests().len(), 2);
}

/// NTF-47: the environment's proxies are for all hosts but this machine's own, as in Go.
#[tokio::test]
async fn proxies_of_the_environment_are_not_for_this_machine() {
    let proxy = WebhookSink::start().await.unwrap();
    let mut setup = Setup::new().await;
    setup.env("HTTP_PROXY", &proxy.url(""));
    let by_name = setup.sink.url("/name").replace("127.0.0.1", "localhost");
    setup.provider("far", "generic", json!({"address": "http://chat.example.com/far"})).await;
    setup.provider("name", "generic", json!({"address": by_name})).await;
    setup.provider("number", "generic", json!({})).await;
    let world = setup.start().await;
    assert_eq!(world.post(&world.event("hello", "info")).await, 202);
    proxy.wait_for("the far one", DEADLINE, |request| request.path == "/far").await.unwrap();
    for path in ["/name", "/number"] {
        world.sink.wait_for("the near one", DEADLINE, |request| request.path == path).await.unwrap();
    }
    assert_eq!(proxy.requests().len(), 1);
}

#[tokio::test]
async fn large_bodies_are_refused_and_the_limit_is_exact() {
    let world = Setup::new().await.start().await;
    let post = |size: usize| {
        let mut body = world.event("padded", "info").to_string().into_bytes();
        body.resize(size, b' ');
        let request = world.http.post(world.events_url()).body(body);
        async move { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!(post(3 * 1024 * 1024).await, 202);
    assert_eq!(post(3 * 1024 * 1024 + 1).await, 413);
}

#[tokio::test]
async fn security_alerts_do_not_see_other_namespaces_when_told_so() {
    let mut setup = Setup::new().await;
    setup.flag("--no-cross-namespace-refs=true");
    setup.provider("far", "generic", json!({})).await;
    let sources = json!([{"kind": "Kustomization", "name": "*", "namespace": "elsewhere"}]);
    setup.alert("far", json!({"eventSources": sources})).await;
    let world = setup.start().await;

    let mut event = world.event("hello", "info");
    event["involvedObject"]["namespace"] = "elsewhere".into();
    assert_eq!(world.post(&event).await, 202);

    let failure = world.failure_of("far").await;
    assert!(failure.contains("cross-namespace references have been blocked"), "{failure}");
    assert!(world.sink.requests().is_empty());
}

/// Makes an Alert for the Kustomizations of team a, and Kustomizations of teams.
async fn of_team_a(setup: &Setup, kustomizations: &[(&str, &str)]) {
    setup.provider("labelled", "generic", json!({})).await;
    let sources = json!([{"kind": "Kustomization", "name": "*", "matchLabels": {"team": "a"}}]);
    setup.alert("labelled", json!({"eventSources": sources})).await;
    for (name, team) in kustomizations {
        let spec =
            json!({"interval": "1h", "prune": false, "sourceRef": {"kind": "GitRepository", "name": "x"}});
        let metadata = json!({"name": name, "labels": {"team": team}});
        let version = "kustomize.toolkit.fluxcd.io/v1";
        let object =
            json!({"apiVersion": version, "kind": "Kustomization", "metadata": metadata, "spec": spec});
        setup.apply(&object.to_string()).await;
    }
}

#[tokio::test]
async fn labels_of_the_involved_object_are_asked_for() {
    let setup = Setup::new().await;
    of_team_a(&setup, &[("web", "a"), ("api", "b")]).await;
    let mut world = setup.start().await;

    for name in ["gone", "api", "web"] {
        let mut event = world.event(name, "info");
        event["involvedObject"]["name"] = name.into();
        assert_eq!(world.post(&event).await, 202);
    }

    world.delivered("web").await;
    let missing = format!("error getting source object Kustomization/{}/gone", world.namespace);
    assert_eq!(world.failure_of("labelled").await, missing);
    // A stop waits for deliveries: nothing else comes after it.
    assert!(world.controller.stop(DEADLINE).await.unwrap().success(), "{}", world.controller.log_tail());
    assert_eq!(world.sink.requests().len(), 1);
}

/// The sender gives up while labels are read; its event is on its way all the same, and a retry is a duplicate as soon as the event is
/// kept.
#[tokio::test]
async fn an_event_outlives_its_sender() {
    let mut setup = Setup::new().await;
    of_team_a(&setup, &[("web", "a")]).await;
    let proxy = setup.proxied().await;
    let world = setup.start().await;

    proxy.set_for("/kustomizations/web", 1, Fault::Delay(Duration::from_secs(5)));
    for attempt in ["the sender gives up", "its retry is not told that it is a duplicate"] {
        let request = world.http.post(world.events_url()).json(&world.event("hello", "info"));
        let posted = request.timeout(Duration::from_millis(500)).send().await;
        assert!(posted.is_err_and(|error| error.is_timeout()), "{attempt}");
    }
    assert_eq!(world.post(&world.event("hello", "info")).await, 429);
    world.delivered("hello").await;
}

/// Flux of old gave Alerts a finalizer.
#[tokio::test]
async fn an_alert_of_an_earlier_version_is_freed_of_its_finalizer() {
    let setup = Setup::new().await;
    let sources = json!([{"kind": "Kustomization", "name": "*"}]);
    let metadata = json!({"name": "old", "finalizers": ["finalizers.fluxcd.io", "example.com/kept"]});
    let version = "notification.toolkit.fluxcd.io/v1beta3";
    let spec = json!({"providerRef": {"name": "x"}, "eventSources": sources});
    setup
        .apply(
            &json!({"apiVersion": version, "kind": "Alert", "metadata": metadata, "spec": spec}).to_string(),
        )
        .await;
    let world = setup.start().await;

    let expected = "removed finalizer from Alert to migrate to static Alert";
    assert_eq!(world.event_of("old", "Migration").await, expected);
    let api = world.plane.api(version, "Alert", &world.namespace).await.unwrap();
    // The event is told before the write.
    let is_freed =
        |alert: Option<&DynamicObject>| alert.is_some_and(|alert| alert.finalizers() == ["example.com/kept"]);
    wait_for(&api, "old", "only the other finalizer", DEADLINE, is_freed).await.unwrap();
    let kept = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("old", &Default::default(), &kept).await.unwrap();
}

/// DEP-K8S-4: Alerts and Providers have no status in which one that does not fit its API type could say so.
#[tokio::test]
async fn nothing_is_written_to_an_alert_or_a_provider_without_a_spec() {
    let mut setup = Setup::new().await;
    let version = "notification.toolkit.fluxcd.io/v1beta3";
    for kind in ["Alert", "Provider"] {
        setup
            .apply(&json!({"apiVersion": version, "kind": kind, "metadata": {"name": "bare"}}).to_string())
            .await;
    }
    let proxy = setup.proxied().await;
    let world = setup.start().await;
    // One that comes later marks the time: it is freed of its finalizer.
    let old = json!({
        "apiVersion": version, "kind": "Alert",
        "metadata": {"name": "old", "finalizers": ["finalizers.fluxcd.io"]},
        "spec": {"providerRef": {"name": "x"}, "eventSources": [{"kind": "Kustomization", "name": "*"}]},
    });
    world.plane.apply_yaml(&world.namespace, &old.to_string()).await.unwrap();
    let place = format!("/namespaces/{}/alerts/old", world.namespace);
    proxy.wait_for(&format!("PATCH /apis/{version}{place}"), 1, DEADLINE).await.unwrap();
    let requests = proxy.requests();
    let written = requests.iter().filter(|line| line.contains(&world.namespace) && line.contains("/bare"));
    assert_eq!(written.collect::<Vec<_>>(), Vec::<&String>::new());
}
