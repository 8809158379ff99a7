use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::*;
use crate::event::outbox::Entry;
use crate::event::{InvolvedObject, Severity};
use crate::metrics::{Destination, Metrics, Payload};

/// A notification service that has not answered within this time never will.
const DEADLINE: Duration = Duration::from_secs(60);

fn event(object: &str) -> Event {
    Event {
        involved_object: InvolvedObject { uid: object.to_owned(), ..InvolvedObject::default() },
        severity: Severity::Info,
        timestamp: jiff::Timestamp::UNIX_EPOCH,
        message: String::new(),
        reason: "Done".to_owned(),
        metadata: [].into(),
        reporting_controller: String::new(),
        reporting_instance: String::new(),
    }
}

fn put(entry: &Entry, object: &str) {
    let event = event(object);
    entry.take(&event, serde_json::to_vec(&event).unwrap().into());
}

/// A delivery to a notification service, which is there as long as the set, with the way in for events.
async fn delivery_to(service: Router) -> (JoinSet<std::io::Result<()>>, Arc<Delivery>, Entry, Waiting) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async { axum::serve(listener, service).await });
    let metrics = Metrics::default();
    let lost = metrics.lost_events(Destination::Notification);
    let (entry, waiting) = Entry::new(lost.clone());
    let peer = Peer { grpc: None, http: Some(url) };
    let delivery = Delivery::new(peer, metrics.routes(Payload::Event), lost).unwrap();
    (serving, Arc::new(delivery), entry, waiting)
}

/// Answers requests two by two: who delivers one after the other gets no answer in time.
async fn in_pairs(State(pair): State<Arc<Barrier>>) -> StatusCode {
    pair.wait().await;
    StatusCode::ACCEPTED
}

#[tokio::test]
async fn events_of_different_objects_do_not_wait_for_each_other() {
    let service = Router::new().route("/", post(in_pairs)).with_state(Arc::new(Barrier::new(2)));
    let (_serving, delivery, entry, waiting) = delivery_to(service).await;
    for object in ["a", "b"] {
        put(&entry, object);
    }
    drop(entry);
    let ended = delivery.clone().run(waiting, CancellationToken::new());
    tokio::time::timeout(DEADLINE, ended).await.unwrap();
    assert!(!delivery.is_broken.load(Ordering::Relaxed), "no try ended without an answer");
}

type Objects = Arc<Mutex<Vec<String>>>;

/// Refuses the first event, and writes down whose events come.
async fn at_the_second_try(State(seen): State<Objects>, Json(event): Json<Event>) -> StatusCode {
    let mut seen = seen.lock();
    seen.push(event.involved_object.uid);
    if seen.len() == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::ACCEPTED }
}

#[tokio::test]
async fn one_event_finds_out_when_the_way_is_whole_again() {
    let seen = Objects::default();
    let service = Router::new().route("/", post(at_the_second_try)).with_state(seen.clone());
    let (_serving, delivery, entry, waiting) = delivery_to(service).await;
    put(&entry, "a");
    let others = async {
        while !delivery.is_broken.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        for object in ["b", "c"] {
            put(&entry, object);
        }
        drop(entry);
    };
    let all = async { tokio::join!(delivery.clone().run(waiting, CancellationToken::new()), others) };
    tokio::time::timeout(DEADLINE, all).await.unwrap();
    let mut seen = seen.lock().clone();
    assert_eq!(seen.drain(..2).collect::<Vec<_>>(), ["a", "a"], "then {seen:?}");
    seen.sort();
    assert_eq!(seen, ["b", "c"]);
}
