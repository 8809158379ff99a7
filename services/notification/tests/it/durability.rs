//! Killed at the worst moments: what was accepted is delivered, and known again.

use http::StatusCode;
use serde_json::json;

use crate::world::{DEADLINE, Setup};

#[tokio::test]
async fn an_event_accepted_right_before_a_kill_is_delivered_after_the_start() {
    let mut setup = Setup::new().await;
    setup.provider("p", "generic", json!({})).await;
    setup.env("WEIR_KILL_POINT", "after-accept");
    let marker = setup.path("killed");
    setup.env("WEIR_KILL_FILE", &marker.display().to_string());
    let mut world = setup.start().await;

    let event = world.event("hello", "info");
    let posted = world.http.post(world.events_url()).json(&event).send().await;
    assert!(posted.is_err(), "the process dies before it answers");
    assert!(marker.exists());
    world.start_again().await;

    world.delivered("hello").await;
    // The sender got no answer and comes again: the event is the same one.
    assert_eq!(world.post(&event).await, 429);
    assert_eq!(world.post(&world.event("second", "info")).await, 202);
    world.delivered("second").await;
    assert_eq!(world.sink.requests().len(), 2);
}

#[tokio::test]
async fn a_delivery_that_waits_for_its_service_survives_a_kill_and_the_others_are_not_repeated() {
    let setup = Setup::new().await;
    setup.provider("good", "generic", json!({})).await;
    setup.provider("down", "generic", json!({})).await;
    setup.sink.answer_with(|request| weir_testkit::SinkAnswer {
        status: if request.path == "/down" { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK },
        ..Default::default()
    });
    let mut world = setup.start().await;

    assert_eq!(world.post(&world.event("hello", "info")).await, 202);
    world.sink.wait_for("the good one", DEADLINE, |request| request.path == "/good").await.unwrap();
    world.sink.wait_for("a try", DEADLINE, |request| request.path == "/down").await.unwrap();
    // A delivery is recorded at once; a second event gets through only after that record.
    assert_eq!(world.post(&world.event("later", "info")).await, 202);
    world
        .sink
        .wait_for("the later one", DEADLINE, |r| r.path == "/good" && r.json()["message"] == "later")
        .await
        .unwrap();
    world.controller.kill();
    world.sink.forget();
    world.sink.answer(StatusCode::OK);
    world.start_again().await;

    let is_hello = |request: &weir_testkit::SinkRequest| request.json()["message"] == "hello";
    world.sink.wait_for("the delivery", DEADLINE, |r| r.path == "/down" && is_hello(r)).await.unwrap();
    assert!(!world.sink.requests().iter().any(|request| request.path == "/good" && is_hello(request)));
}

#[tokio::test]
async fn a_clean_stop_leaves_undelivered_events_for_the_next_start() {
    let setup = Setup::new().await;
    setup.provider("down", "generic", json!({"timeout": "5m"})).await;
    setup.sink.answer(StatusCode::SERVICE_UNAVAILABLE);
    let mut world = setup.start().await;

    assert_eq!(world.post(&world.event("hello", "info")).await, 202);
    world.sink.wait_for_requests(1, DEADLINE).await.unwrap();
    let status = world.controller.stop(DEADLINE).await.unwrap();
    assert!(status.success(), "{}", world.controller.log_tail());
    world.sink.forget();
    world.sink.answer(StatusCode::OK);
    world.start_again().await;

    world.delivered("hello").await;
}
