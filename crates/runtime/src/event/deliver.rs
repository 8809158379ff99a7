//! Delivery to the notification service, in order, with retries.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Event, Peer};
use crate::grpc::EventsPeer;

/// One try may take this long (OBS-12).
const TRY_TIMEOUT: Duration = Duration::from_secs(5);

/// Tries of one event; with the pauses below they span about 30 s, a restart of the notification service.
const TRIES: u32 = 6;

/// First pause between two tries, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Whether a failed try is worth another.
enum Failure {
    Final(String),
    Again(String),
}

pub(super) struct Delivery {
    route: Route,
}

enum Route {
    Http { client: reqwest::Client, url: reqwest::Url },
    Grpc(EventsPeer),
}

impl Delivery {
    pub(super) fn new(peer: Peer) -> Self {
        let route = match peer {
            Peer::Http(url) => {
                Route::Http { client: weir_http::client_builder().build().unwrap_or_default(), url }
            }
            Peer::Grpc(channel) => Route::Grpc(EventsPeer::new(channel)),
        };
        Self { route }
    }

    pub(super) async fn run(mut self, mut events: mpsc::Receiver<Event>, stop: CancellationToken) {
        loop {
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                () = stop.cancelled(), if events.is_empty() => None,
            };
            let Some(event) = event else { return };
            self.deliver(&event, &stop).await;
        }
    }

    async fn deliver(&mut self, event: &Event, stop: &CancellationToken) {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=TRIES {
            let tried = tokio::time::timeout(TRY_TIMEOUT, self.attempt(event)).await;
            let error = match tried.unwrap_or_else(|_| Err(Failure::Again("timed out".to_owned()))) {
                Ok(()) => return,
                Err(Failure::Final(error)) => return undelivered(event, &error),
                Err(Failure::Again(error)) => error,
            };
            if attempt == TRIES || stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return undelivered(event, &error);
            }
            pause *= 2;
        }
    }

    async fn attempt(&mut self, event: &Event) -> Result<(), Failure> {
        match &mut self.route {
            Route::Http { client, url } => post(client, url, event).await,
            Route::Grpc(peer) => peer.publish(event).await.map_err(|status| match status.code() {
                tonic::Code::InvalidArgument | tonic::Code::PermissionDenied | tonic::Code::Unimplemented => {
                    Failure::Final(status.message().to_owned())
                }
                _ => Failure::Again(status.message().to_owned()),
            }),
        }
    }
}

async fn post(client: &reqwest::Client, url: &reqwest::Url, event: &Event) -> Result<(), Failure> {
    let component = &event.reporting_controller;
    let request = client.post(url.clone()).header("Gotk-Component", component).json(event);
    let response = request.send().await.map_err(|error| Failure::Again(error.without_url().to_string()))?;
    match response.status() {
        status if status.is_success() => Ok(()),
        // The notification service has told this event already.
        http::StatusCode::TOO_MANY_REQUESTS => Ok(()),
        status if status.is_server_error() => Err(Failure::Again(status.to_string())),
        status => Err(Failure::Final(status.to_string())),
    }
}

fn undelivered(event: &Event, error: &str) {
    let involved = &event.involved_object;
    let (namespace, name) = (&involved.namespace, &involved.name);
    tracing::warn!(
        controllerKind = involved.kind,
        namespace,
        name,
        reason = event.reason,
        error,
        "event not delivered to the notification service"
    );
}
