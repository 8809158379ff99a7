//! Replicas, the address of the service, log lines, and the bounds on work for strangers.

use http::StatusCode;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::{Value, json};
use weir_testkit::{Identity, SinkAnswer, eventually, free_port, repo_path, wait_for};

use crate::webhooks::{TOKEN, call, first_call, path_of, receiver, repository};
use crate::world::{DEADLINE, Setup, World};

/// Controllers that send events.
const PRODUCERS: [&str; 4] = [
    "source-controller",
    "kustomize-controller",
    "image-reflector-controller",
    "image-automation-controller",
];

/// Waits until the log of the service has a line with all of these parts.
async fn logged(world: &World, parts: &[&str]) {
    let what = format!("a log line with {parts:?}");
    let has = |log: &str| log.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    let found = eventually(&what, DEADLINE, || async {
        let log = world.controller.log();
        has(&log).then_some(())
    });
    found.await.unwrap();
}

/// NTF-1, NTF-116: every replica serves, and knows duplicates by itself. One holds the Lease, and its reconcilers run.
#[tokio::test]
async fn every_replica_serves_and_one_reconciles() {
    let (mut first, mut second) = (Setup::new().await, Setup::new().await);
    let namespace = first.namespace.clone();
    for setup in [&mut first, &mut second] {
        setup.flag("--enable-leader-election");
        setup.env("RUNTIME_NAMESPACE", &namespace);
    }
    first.provider("p", "generic", json!({})).await;
    first.apply(TOKEN).await;
    first.apply(&receiver("hooks", "generic", json!({"resources": []}))).await;
    let first = first.start().await;
    let leases: Api<Lease> = Api::namespaced(first.plane.client().unwrap(), &namespace);
    let has_holder = |lease: Option<&Lease>| {
        lease.and_then(|lease| lease.spec.as_ref()).is_some_and(|spec| spec.holder_identity.is_some())
    };
    wait_for(&leases, "notification-controller-leader-election", "a holder", DEADLINE, has_holder)
        .await
        .unwrap();
    let path = path_of(&first, "hooks").await;
    let finished = "Reconciliation finished, next run in 10m0s";
    logged(&first, &[finished]).await;

    let second = second.start().await;
    let event = first.event("hello", "info");
    for expected in [202, 429] {
        assert_eq!([first.post(&event).await, second.post(&event).await], [expected; 2]);
    }
    assert_eq!(first.sink.wait_for_requests(2, DEADLINE).await.unwrap().len(), 2);
    for world in [&first, &second] {
        assert_eq!(first_call(world, &path, "", &[]).await, 200);
    }
    let log = second.controller.log();
    assert!(!log.contains(finished), "{log}");
}

/// NTF-8: the controllers send events to the Service of this one, by its whole name with the dot at its end.
#[test]
fn producers_know_the_address_of_the_service() {
    let flag = "--events-addr=http://notification-controller.$(RUNTIME_NAMESPACE).svc.cluster.local./";
    for producer in PRODUCERS {
        let path = repo_path(&format!("deploy/kustomize/base/{producer}/deployment.yaml"));
        let manifest = std::fs::read_to_string(path).unwrap();
        assert!(manifest.lines().any(|line| line.trim() == format!("- {flag}")), "{producer}");
    }
}

/// NTF-23: the log tells events that somebody wants from those that nobody does.
#[tokio::test]
async fn the_log_tells_wanted_events_from_others() {
    let setup = Setup::new().await;
    setup.provider("p", "generic", json!({})).await;
    let world = setup.start().await;
    assert_eq!(world.post(&world.event("hello", "info")).await, 202);
    let mut unwanted = world.event("hello", "info");
    unwanted["involvedObject"]["kind"] = "Bucket".into();
    assert_eq!(world.post(&unwanted).await, 202);
    let object = |kind: &str| format!("{kind}/{}/web", world.namespace);
    logged(&world, &["dispatching event", &object("Kustomization")]).await;
    let unwanted = "discarding event, no alerts found for the involved object";
    logged(&world, &[unwanted, &object("Bucket")]).await;
}

/// Guards 5 and 6: one line of an event, however many Alerts get nothing of it.
#[tokio::test]
async fn the_log_names_the_alerts_that_an_event_lacks_something_for() {
    let setup = Setup::new().await;
    for (name, kind) in [("a", "github"), ("b", "gitlab"), ("c", "githubpullrequestcomment")] {
        setup.provider(name, kind, json!({})).await;
    }
    let world = setup.start().await;
    assert_eq!(world.post(&world.event("hello", "info")).await, 202);
    let [a, b, c] = ["a", "b", "c"].map(|alert| format!("{}/{alert}", world.namespace));
    let lacking = |text: &str| format!("event dropped for {text} metadata key");
    let commit = lacking("commit status providers due to missing commit");
    logged(&world, &[&commit, &format!("\"alerts\":[{a:?},{b:?}]")]).await;
    let request = lacking("change request providers due to missing change request");
    logged(&world, &[&request, &format!("\"alerts\":[{c:?}]")]).await;
    let log = world.controller.log();
    assert_eq!((log.matches(&commit).count(), log.matches(&request).count()), (1, 1), "{log}");
}

/// Notification spec 5.1 and 5.2, NTF-48.
#[tokio::test]
async fn security_the_log_tells_deprecated_settings_without_their_values() {
    let setup = Setup::new().await;
    let closed = free_port().unwrap();
    let proxy = format!("http://user:hunter2@127.0.0.1:{closed}");
    let ca = Identity::for_names(&["hook.test"]).unwrap().ca_pem;
    for (name, entries) in [("old", json!({"proxy": proxy})), ("tls", json!({"caFile": ca}))] {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": entries});
        setup.apply(&secret.to_string()).await;
    }
    setup.provider("field", "generic", json!({"proxy": proxy})).await;
    setup.provider("key", "generic", json!({"secretRef": {"name": "old"}})).await;
    setup.provider("tls", "generic", json!({"certSecretRef": {"name": "tls"}})).await;
    let world = setup.start().await;
    assert_eq!(world.post(&world.event("hello", "info")).await, 202);
    let place = |name: &str| format!("{}/{name}", world.namespace);
    logged(&world, &["the deprecated field spec.proxy", &place("field")]).await;
    logged(&world, &["the deprecated key proxy", &place("old")]).await;
    logged(&world, &["using legacy keys in secret data", &place("tls"), "caFile"]).await;
    let log = world.controller.log();
    assert!(!log.contains("hunter2"), "{log}");
}

/// NTF-112.
#[tokio::test]
async fn the_log_names_objects_that_are_marked_and_that_are_not() {
    let setup = Setup::new().await;
    setup.apply(&repository("one", "a")).await;
    setup.apply(TOKEN).await;
    let resources =
        json!([{"kind": "GitRepository", "name": "one"}, {"kind": "GitRepository", "name": "gone"}]);
    setup.apply(&receiver("hooks", "generic", json!({"resources": resources}))).await;
    let world = setup.start().await;
    let path = path_of(&world, "hooks").await;
    assert_eq!(first_call(&world, &path, "", &[]).await, 500);
    let namespace = &world.namespace;
    logged(&world, &[&format!("resource 'GitRepository/one.{namespace}' annotated")]).await;
    let gone = format!("GitRepository/gone.{namespace}");
    logged(&world, &["unable to request reconciliation", &gone, "not found"]).await;
}

/// NTF-35, but for `Migration`, which stands in `events`.
#[tokio::test]
async fn each_fault_of_an_alert_is_a_warning_on_it() {
    let setup = Setup::new().await;
    setup.sink.answer_with(|request| SinkAnswer {
        status: if request.path == "/refused" { StatusCode::BAD_REQUEST } else { StatusCode::OK },
        body: "no".into(),
        ..SinkAnswer::default()
    });
    setup.alert("absent", json!({})).await;
    setup.provider("refused", "generic", json!({})).await;
    setup.provider("p", "generic", json!({})).await;
    let to_p = json!({"name": "p"});
    setup.alert("regex", json!({"providerRef": to_p, "inclusionList": ["("]})).await;
    let labelled = json!([{"kind": "Kustomization", "name": "*", "matchLabels": {"team": "a"}}]);
    setup.alert("labels", json!({"providerRef": to_p, "eventSources": labelled})).await;
    setup.alert("conflict", json!({"providerRef": to_p, "eventMetadata": {"revision": "mine"}})).await;
    let world = setup.start().await;
    assert_eq!(world.post(&world.event("hello", "info")).await, 202);

    let object = format!("Kustomization/{}/web", world.namespace);
    let dispatch = format!(
        "failed to dispatch notification for {object}: failed to read provider: \
         Provider.notification.toolkit.fluxcd.io \"absent\" not found"
    );
    let send = format!(
        "failed to send notification for {object}: postMessage failed: request failed: \
         request failed with status code 400: no"
    );
    let conflict = "metadata key conflicts detected (please refer to the Alert API docs and Flux RFC 0008 \
                    for more information)";
    for (alert, reason, message) in [
        ("absent", "NotificationDispatchFailed", dispatch),
        ("refused", "NotificationDispatchFailed", send),
        ("regex", "InvalidConfig", "failed to compile inclusion regex: (".to_owned()),
        ("labels", "SourceFetchFailed", format!("error getting source object {object}")),
        ("conflict", "MetadataAppendFailed", conflict.to_owned()),
    ] {
        assert_eq!(world.event_of(alert, reason).await, message);
        let event = world.event_object(alert, reason).await;
        assert_eq!((&event["type"], &event["involvedObject"]["kind"]), (&"Warning".into(), &"Alert".into()));
        assert_eq!(event["reportingComponent"], "notification-controller");
    }
}

/// NTF-133: whoever knows no path costs the API server nothing, and an identity provider that fails is left alone for a while.
#[tokio::test]
async fn security_calls_of_strangers_cost_others_nothing() {
    let mut setup = Setup::new().await;
    setup.sink.answer(StatusCode::INTERNAL_SERVER_ERROR);
    let issuer = setup.sink.url("");
    let validations = json!([{"expression": "claims.sub == 'ci'", "message": "only ci"}]);
    let spec = json!({
        "type": "generic-oidc",
        "resources": [],
        "oidcProviders": [{"issuerURL": issuer, "validations": validations}],
    });
    let version = "notification.toolkit.fluxcd.io/v1";
    let object =
        json!({"apiVersion": version, "kind": "Receiver", "metadata": {"name": "hooks"}, "spec": spec});
    setup.apply(&object.to_string()).await;
    let proxy = setup.proxied().await;
    let world = setup.start().await;
    let path = path_of(&world, "hooks").await;
    assert_eq!(first_call(&world, &path, "{}", &[]).await, 400);

    let claims = base64_of(&json!({"iss": issuer, "sub": "ci"}));
    let token = format!("Bearer {}.{claims}.AAAA", base64_of(&json!({"alg": "RS256", "kid": "k"})));
    for _ in 0..20 {
        assert_eq!(call(&world, "/hook/unknown", "{}", &[]).await, 404);
        assert_eq!(call(&world, &path, "{}", &[("authorization", &token)]).await, 400);
    }
    assert_eq!(world.sink.requests().len(), 1, "the provider is asked once");
    let of_calls = |line: &String| line.contains(&world.namespace) && line.contains("/secrets/");
    let requests: Vec<_> = proxy.requests().into_iter().filter(of_calls).collect();
    assert!(requests.is_empty(), "{requests:?}");
}

fn base64_of(value: &Value) -> String {
    use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}
