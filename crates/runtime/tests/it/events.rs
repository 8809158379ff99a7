use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use weir_runtime::args::EventsArgs;
use weir_testkit::{SinkAnswer, WebhookSink, eventually, wait_ready};

use crate::world::{DEADLINE, MarkReady, World, flags};

async fn world(sink: &WebhookSink) -> World {
    let events = EventsArgs { events_addr: sink.url("/"), ..EventsArgs::default() };
    World::start(flags(&[]), events, MarkReady::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_posted_in_flux_form() {
    let sink = WebhookSink::start().await.unwrap();
    let world = world(&sink).await;
    world.receiver("a", "").await;
    let request = sink.wait_for("the event", DEADLINE, |request| request.method == "POST").await.unwrap();
    let event: serde_json::Value = request.json();
    assert_eq!(event["involvedObject"]["kind"], "Receiver");
    assert_eq!(event["involvedObject"]["apiVersion"], "notification.toolkit.fluxcd.io/v1");
    assert_eq!((&event["severity"], &event["reason"]), (&"info".into(), &"Succeeded".into()));
    assert_eq!(event["reportingController"], "test-controller");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_service_that_is_away_holds_nothing_up_and_gets_the_event_later() {
    let sink = WebhookSink::start().await.unwrap();
    let is_first = AtomicBool::new(true);
    sink.answer_with(move |_| {
        let is_away = is_first.swap(false, Ordering::SeqCst);
        let status = if is_away { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::ACCEPTED };
        SinkAnswer { status, ..SinkAnswer::default() }
    });
    let world = world(&sink).await;
    world.receiver("a", "").await;
    wait_ready(&world.receivers().await, "a", DEADLINE).await.unwrap();
    sink.wait_for_requests(2, DEADLINE).await.unwrap();
    world.stop().await;
    assert_eq!(sink.requests().len(), 2, "delivered means told once");
}

/// The sink answers gRPC with an HTTP error, as Flux's notification-controller does; nobody at all is at the other address.
#[tokio::test(flavor = "multi_thread")]
async fn events_go_over_http_where_grpc_leads_nowhere_and_are_counted_so() {
    let sink = WebhookSink::start().await.unwrap();
    let deaf = sink.url("/").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let nobody = format!("127.0.0.1:{}", weir_testkit::free_port().unwrap());
    for events_grpc_addr in [deaf, nobody] {
        sink.forget();
        let events = EventsArgs { events_addr: sink.url("/events"), events_grpc_addr };
        let world = World::start(flags(&[]), events, MarkReady::default()).await;
        world.receiver("a", "").await;
        let posted = |request: &weir_testkit::SinkRequest| request.path == "/events";
        sink.wait_for("the event", DEADLINE, posted).await.unwrap();
        let counted = || async {
            let text = world.env.metrics.encode().unwrap();
            text.contains(r#"weir_route_total{payload="event",route="http"} 1"#).then_some(text)
        };
        let text = eventually("the event to be counted", DEADLINE, counted).await.unwrap();
        assert!(text.contains(r#"weir_route_total{payload="event",route="grpc"} 0"#), "{text}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_nobody_takes_is_counted() {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer(StatusCode::NOT_FOUND);
    let world = world(&sink).await;
    let text = world.env.metrics.encode().unwrap();
    assert!(text.contains(r#"weir_events_lost_total{destination="notification"} 0"#), "{text}");
    world.receiver("a", "").await;
    let counted = || async {
        let text = world.env.metrics.encode().unwrap();
        text.contains(r#"weir_events_lost_total{destination="notification"} 1"#).then_some(text)
    };
    let text = eventually("the event to be counted", DEADLINE, counted).await.unwrap();
    assert!(text.contains(r#"weir_events_lost_total{destination="kubernetes"} 0"#), "{text}");
    world.stop().await;
}

/// NTF-9, SRC-EVT-3: an event that is refused as a repetition is not sent again, and is not lost.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_a_repetition_is_not_sent_again() {
    let sink = WebhookSink::start().await.unwrap();
    sink.answer(StatusCode::TOO_MANY_REQUESTS);
    let world = world(&sink).await;
    world.receiver("a", "").await;
    sink.wait_for_requests(1, DEADLINE).await.unwrap();
    sink.answer(StatusCode::ACCEPTED);
    world.receiver("b", "").await;
    let of_b = |request: &weir_testkit::SinkRequest| request.json()["involvedObject"]["name"] == "b";
    sink.wait_for("the event of another object", DEADLINE, of_b).await.unwrap();
    let text = world.env.metrics.encode().unwrap();
    world.stop().await;
    assert_eq!(sink.requests().len(), 2);
    assert!(text.contains(r#"weir_events_lost_total{destination="notification"} 0"#), "{text}");
}

/// NTF-8: without an address, events are for Kubernetes alone.
#[tokio::test(flavor = "multi_thread")]
async fn without_an_address_events_go_to_kubernetes_only() {
    let world = World::start(flags(&[]), EventsArgs::default(), MarkReady::default()).await;
    world.receiver("a", "").await;
    let api = world.plane.api("v1", "Event", &world.namespace).await.unwrap();
    eventually("the Kubernetes event", DEADLINE, || async {
        let events = api.list(&Default::default()).await.ok()?.items;
        events.iter().any(|event| event.data["message"] == "all good").then_some(())
    })
    .await
    .unwrap();
    let metrics = world.env.metrics.clone();
    world.stop().await;
    let text = metrics.encode().unwrap();
    // An event that is sent to nobody would be lost.
    assert!(text.contains(r#"weir_events_lost_total{destination="kubernetes"} 0"#), "{text}");
    let to_notification =
        ["weir_events_lost_total{destination=\"notification\"}", "weir_route_total{payload=\"event\""];
    for line in text.lines().filter(|line| to_notification.iter().any(|series| line.starts_with(series))) {
        assert!(line.ends_with(" 0"), "{line}");
    }
}

/// A namespace that is being deleted takes no Events, which is no loss that anybody should be called for.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_in_a_namespace_that_is_being_deleted_is_not_counted_as_lost() {
    let reconciler = MarkReady::default();
    let (held, runs) = (reconciler.held.clone(), reconciler.runs.clone());
    let world = World::start(flags(&[]), EventsArgs::default(), reconciler).await;
    let keeper =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: keeper, finalizers: [example.com/keep]}\n";
    world.plane.apply_yaml(&world.namespace, keeper).await.unwrap();
    world.receiver("held", "").await;
    let begun = || async { (runs.load(Ordering::SeqCst) == 1).then_some(()) };
    eventually("the run to begin", DEADLINE, begun).await.unwrap();
    world.plane.kubectl(&["delete", "namespace", &world.namespace, "--wait=false"]).await.unwrap();
    held.add_permits(1);
    let refused = || async { world.env.metrics.encode().unwrap().contains(r#"code="403""#).then_some(()) };
    eventually("the event to be refused", DEADLINE, refused).await.unwrap();
    let metrics = world.env.metrics.clone();
    world.stop().await;
    let text = metrics.encode().unwrap();
    assert!(text.contains(r#"weir_events_lost_total{destination="kubernetes"} 0"#), "{text}");
}
