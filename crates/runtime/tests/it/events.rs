use axum::http::StatusCode;
use weir_runtime::args::EventsArgs;
use weir_testkit::{WebhookSink, wait_ready};

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
    sink.answer(StatusCode::SERVICE_UNAVAILABLE);
    let world = world(&sink).await;
    world.receiver("a", "").await;
    wait_ready(&world.receivers().await, "a", DEADLINE).await.unwrap();
    sink.wait_for_requests(1, DEADLINE).await.unwrap();
    sink.answer(StatusCode::ACCEPTED);
    sink.wait_for_requests(2, DEADLINE).await.unwrap();
    world.stop().await;
    assert_eq!(sink.requests().len(), 2, "delivered means told once");
}
