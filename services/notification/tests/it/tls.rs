//! Deliveries over real TLS: the Secret's authority is believed and no other one, and clients prove who they are.

use std::net::SocketAddr;
use std::time::Duration;

use http::StatusCode;
use rstest::rstest;
use serde_json::json;
use url::Url;
use weir_http::{ClientCertificate, Profile};
use weir_notification_controller::delivery::{Retry, Sender};
use weir_notification_controller::event::Event;
use weir_notification_controller::provider::{Settings, build};
use weir_testkit::{Identity, Proxied, Proxy, SinkAnswer, TlsFront, WebhookSink};

use crate::world::{DEADLINE, Setup};

/// A host of the Internet, as far as a proxy leads there.
const HOST: &str = "hook.test";

fn target(sink: &WebhookSink) -> SocketAddr {
    Url::parse(&sink.url("/")).unwrap().socket_addrs(|| None).unwrap()[0]
}

fn identity() -> Identity {
    weir_runtime::service::install_crypto();
    Identity::for_names(&[HOST]).unwrap()
}

fn believing(identity: &Identity) -> Profile {
    Profile { ca: Some(identity.ca_pem.clone().into_bytes()), ca_alone: true, ..Profile::default() }
}

fn as_client(profile: Profile, client: &Identity) -> Profile {
    let certificate = ClientCertificate::new(&*client.certificate_pem, &*client.key_pem);
    Profile { certificate: Some(certificate), ..profile }
}

fn through(proxy: &str, profile: Profile) -> Profile {
    Profile { proxy: Some(weir_http::Proxy::from_url(proxy.parse().unwrap())), ..profile }
}

fn event() -> Event {
    let event = json!({
        "involvedObject": {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": "web", "namespace": "apps",
        },
        "severity": "info", "timestamp": "2026-01-02T03:04:05Z", "message": "applied", "reason": "ReconciliationSucceeded",
        "metadata": {"revision": "main@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e736", "change_request": "42"},
    });
    Event::from_slice(event.to_string().as_bytes()).unwrap()
}

/// Delivers the event with a type of provider to an address.
async fn deliver(kind: &str, address: &str, profile: &Profile) -> Result<(), String> {
    let settings = Settings {
        provider_type: kind.to_owned(),
        provider_uid: "0c9c2e41-d2f9-4f9b-9c41-bebc1984d67a".to_owned(),
        address: address.to_owned(),
        channel: "general/topic".to_owned(),
        username: "weir".to_owned(),
        token: "sesame".to_owned(),
        hmac_key: b"sesame".to_vec(),
        commit_status: "kustomization/web".to_owned(),
        ..Settings::default()
    };
    let mut notifier = build(&settings).unwrap();
    let sender = Sender::new(Retry { first: Duration::from_millis(10) });
    let answer = sender.ask(&notifier.questions(), profile, DEADLINE).await;
    notifier.answered(&answer.map_err(|error| error.to_string())?);
    let delivery = notifier.render(&event()).unwrap();
    sender.deliver(delivery, profile, DEADLINE).await.map_err(|error| error.to_string())
}

/// Every type whose address is free; the services of the others have one address each.
#[rstest]
#[case("generic", "/hook")]
#[case("generic-hmac", "/hook")]
#[case("slack", "/services/x")]
#[case("discord", "/api/webhooks/1/x")]
#[case("rocket", "/hooks/x")]
#[case("msteams", "/webhook")]
#[case("googlechat", "/v1/spaces/x")]
#[case("webex", "/v1/messages")]
#[case("lark", "/hook")]
#[case("matrix", "")]
#[case("zulip", "/api/v1/messages")]
#[case("opsgenie", "/v2/alerts")]
#[case("pagerduty", "")]
#[case("incident.io", "/v2/alert_events/http/x")]
#[case("alertmanager", "/api/v2/alerts")]
#[case("grafana", "/api/annotations")]
#[case("datadog", "")]
#[case("otel", "")]
#[case("githubdispatch", "/org/repository")]
#[case("gitea", "/org/repository")]
#[case("gitlab", "/org/repository")]
#[case("github", "/org/repository")]
#[case("bitbucketserver", "/scm/org/repository")]
#[case("githubpullrequestcomment", "/org/repository")]
#[case("giteapullrequestcomment", "/org/repository")]
#[case("gitlabmergerequestcomment", "/org/repository")]
#[tokio::test]
async fn every_type_believes_the_authority_of_its_secret_only(#[case] kind: &str, #[case] path: &str) {
    let (own, other) = (identity(), identity());
    let sink = WebhookSink::start().await.unwrap();
    sink.answer_with(|request| {
        let body = if request.method == "GET" { "[]" } else { "{\"ok\":true}" };
        SinkAnswer { body: body.into(), ..SinkAnswer::default() }
    });
    let front = TlsFront::start(&own, target(&sink)).await.unwrap();
    let address = format!("https://localhost:{}{path}", front.address().port());
    for stranger in [believing(&other), Profile::default()] {
        let refusal = deliver(kind, &address, &stranger).await.unwrap_err();
        assert!(refusal.contains("tls: failed to verify certificate: x509: "), "{refusal}");
        assert!(sink.requests().is_empty(), "{kind} speaks to a stranger");
    }
    deliver(kind, &address, &believing(&own)).await.unwrap();
    assert!(!sink.requests().is_empty());
}

#[tokio::test]
async fn a_server_is_believed_under_its_own_name_only() {
    let (own, sink) = (identity(), WebhookSink::start().await.unwrap());
    let front = TlsFront::start(&own, target(&sink)).await.unwrap();
    let proxy = Proxy::start(&[("other.test:443", front.address())]).await.unwrap();
    let profile = through(&format!("http://{}", proxy.address()), believing(&own));
    let refusal = deliver("generic", "https://other.test/hook", &profile).await.unwrap_err();
    assert!(
        refusal.contains("x509: certificate is valid for localhost, hook.test, not other.test"),
        "{refusal}"
    );
    assert!(sink.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_gets_the_one_of_the_secret() {
    let (own, client, other) = (identity(), identity(), identity());
    let sink = WebhookSink::start().await.unwrap();
    let front = TlsFront::start_for(&own, target(&sink), &client.ca_pem).await.unwrap();
    let address = format!("https://{}/hook", front.address());
    for nobody in [believing(&own), as_client(believing(&own), &other)] {
        let refusal = deliver("generic", &address, &nobody).await.unwrap_err();
        assert!(refusal.starts_with("postMessage failed"), "{refusal}");
        assert!(!refusal.contains("KEY"), "{refusal}");
    }
    assert!(sink.requests().is_empty());
    deliver("generic", &address, &as_client(believing(&own), &client)).await.unwrap();
    assert_eq!(sink.requests().len(), 1);
    let half = ClientCertificate::new(&*client.certificate_pem, "");
    let halves = Profile { certificate: Some(half), ..believing(&own) };
    let refusal = deliver("generic", &address, &halves).await.unwrap_err();
    assert!(refusal.starts_with("failed to get TLS config: "), "{refusal}");
}

#[rstest]
#[case("http", "CONNECT")]
#[case("socks5", "SOCKS5")]
#[tokio::test]
async fn a_proxy_carries_tls_and_sees_nothing_of_it(#[case] scheme: &str, #[case] method: &str) {
    let (own, other, sink) = (identity(), identity(), WebhookSink::start().await.unwrap());
    let front = TlsFront::start(&own, target(&sink)).await.unwrap();
    let proxy = Proxy::start_with_password(&[("hook.test:443", front.address())], "u", "p").await.unwrap();
    let url = format!("{scheme}://u:p@{}", proxy.address());
    let address = format!("https://{HOST}/hook");
    let refusal = deliver("generic", &address, &through(&url, believing(&other))).await.unwrap_err();
    assert!(refusal.contains("tls: failed to verify certificate: x509: "), "{refusal}");
    assert!(sink.requests().is_empty());
    deliver("generic", &address, &through(&url, believing(&own))).await.unwrap();
    let asked = Proxied { method: method.to_owned(), target: format!("{HOST}:443") };
    assert!(proxy.requests().contains(&asked), "{:?}", proxy.requests());
    assert_eq!(sink.requests()[0].path, "/hook");
    assert_eq!(sink.requests()[0].header("proxy-authorization"), "");
}

/// The same with the whole controller: Provider, Secrets, Alert, event.
#[tokio::test]
async fn a_provider_takes_authority_certificate_and_proxy_from_its_secrets() {
    let (own, client, other) = (identity(), identity(), identity());
    let setup = Setup::new().await;
    let plain = TlsFront::start(&own, target(&setup.sink)).await.unwrap();
    let mutual = TlsFront::start_for(&own, target(&setup.sink), &client.ca_pem).await.unwrap();
    let proxy = Proxy::start(&[("hook.test:443", plain.address())]).await.unwrap();
    let pair = json!({"ca.crt": own.ca_pem, "tls.crt": client.certificate_pem, "tls.key": client.key_pem});
    for (name, data) in [
        ("own", json!({"ca.crt": own.ca_pem})),
        ("other", json!({"ca.crt": other.ca_pem})),
        ("pair", pair),
        ("way", json!({"address": format!("http://{}", proxy.address())})),
    ] {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        setup.apply(&secret.to_string()).await;
    }
    let at = |front: &TlsFront, path: &str| format!("https://{}/{path}", front.address());
    let own_secret = json!({"name": "own"});
    for (name, fields) in [
        ("trusted", json!({"address": at(&plain, "trusted"), "certSecretRef": own_secret})),
        ("stranger", json!({"address": at(&plain, "stranger"), "certSecretRef": {"name": "other"}})),
        ("nobody", json!({"address": at(&plain, "nobody")})),
        ("mutual", json!({"address": at(&mutual, "mutual"), "certSecretRef": {"name": "pair"}})),
        (
            "proxied",
            json!({"address": "https://hook.test/proxied", "certSecretRef": own_secret, "proxySecretRef": {"name": "way"}}),
        ),
    ] {
        setup.provider(name, "generic", fields).await;
    }
    let world = setup.start().await;
    assert_eq!(world.post(&world.event("over TLS", "info")).await, StatusCode::ACCEPTED.as_u16());
    for name in ["trusted", "mutual", "proxied"] {
        let path = format!("/{name}");
        world.sink.wait_for(name, DEADLINE, |request| request.path == path).await.unwrap();
    }
    for name in ["stranger", "nobody"] {
        let told = world.failure_of(name).await;
        assert!(told.contains("tls: failed to verify certificate: x509: "), "{told}");
    }
    let strangers = ["/stranger", "/nobody"];
    assert!(world.sink.requests().iter().all(|request| !strangers.contains(&request.path.as_str())));
}
