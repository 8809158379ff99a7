//! Delivery to the notification service, with retries, and over HTTP where gRPC leads nowhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lanes::Lanes;
use super::outbox::Waiting;
use super::{Event, Peer};
use crate::grpc::EventsPeer;
use crate::metrics::{Lost, Route, RouteMetrics};

/// Events on their way. The notification service answers once an event is on its disk, and puts those that come together there at once;
/// few enough that few run out of tries when it goes away.
const IN_FLIGHT: usize = 8;

/// One try may take this long (OBS-12).
const TRY_TIMEOUT: Duration = Duration::from_secs(5);

/// Tries of one event; with the pauses below they span about 30 s, a restart of the notification service.
const TRIES: u32 = 6;

/// First pause between two tries, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Time for which gRPC is left alone after it has failed, where HTTP stands in: events go out meanwhile, and a notification
/// service of Weir's that comes back is soon found again.
const GRPC_PAUSE: Duration = Duration::from_secs(30);

/// Failures of one attempt, by what to do next.
enum Failure {
    /// Nobody will ever take this event.
    Refused(String),
    /// This way leads nowhere, however often it is tried.
    NoWay(String),
    Again(String),
}

pub(super) struct Delivery {
    grpc: Option<Grpc>,
    http: Option<Http>,
    /// The last try failed. One event at a time finds out when the way is whole again, so that not several run out of tries.
    is_broken: AtomicBool,
    routes: RouteMetrics,
    lost: Lost,
}

/// Weir's API, which goes first.
struct Grpc {
    peer: EventsPeer,
    /// Until when it is left alone.
    away: Mutex<Option<Instant>>,
}

/// Flux's contract.
struct Http {
    client: reqwest::Client,
    url: reqwest::Url,
}

impl Delivery {
    pub(super) fn new(peer: Peer, routes: RouteMetrics, lost: Lost) -> Result<Self, reqwest::Error> {
        let Peer { grpc, http } = peer;
        let grpc = grpc.map(|channel| Grpc { peer: EventsPeer::new(channel), away: Mutex::default() });
        let client = |url| Ok(Http { client: weir_http::client_builder().build()?, url });
        let http = http.map(client).transpose()?;
        Ok(Self { grpc, http, is_broken: AtomicBool::new(false), routes, lost })
    }

    pub(super) async fn run(self: Arc<Self>, mut events: Waiting, stop: CancellationToken) {
        let mut deliveries = Lanes::new(IN_FLIGHT);
        while let Some(event) = events.next(&stop).await {
            let uid = event.involved_object.uid.clone();
            deliveries.room_for(&uid).await;
            if self.is_broken.load(Ordering::Relaxed) {
                deliveries.all_ended().await;
            }
            let (this, stop) = (self.clone(), stop.clone());
            deliveries.start(uid, async move { this.deliver(&event, &stop).await });
        }
        deliveries.all_ended().await;
    }

    #[expect(clippy::disallowed_methods, reason = "the outbox waits, no run does")]
    async fn deliver(&self, event: &Event, stop: &CancellationToken) {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=TRIES {
            let attempted = self.attempt(event).await;
            self.is_broken.store(matches!(attempted, Err(Failure::Again(_))), Ordering::Relaxed);
            let error = match attempted {
                Ok(route) => return self.routes.took(route),
                Err(Failure::Refused(error) | Failure::NoWay(error)) => {
                    return self.undelivered(event, &error);
                }
                Err(Failure::Again(error)) => error,
            };
            if attempt == TRIES || stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return self.undelivered(event, &error);
            }
            pause *= 2;
        }
    }

    /// Tries gRPC, and HTTP where gRPC leads nowhere at the moment: the peer may be Flux's notification-controller.
    async fn attempt(&self, event: &Event) -> Result<Route, Failure> {
        if let Some(grpc) = &self.grpc
            && !grpc.is_away()
        {
            let error = match in_time(publish(grpc.peer.clone(), event)).await {
                Ok(()) => {
                    grpc.leave_alone_until(None);
                    return Ok(Route::Grpc);
                }
                Err(refused @ Failure::Refused(_)) => return Err(refused),
                Err(error) if self.http.is_none() => return Err(error),
                Err(Failure::NoWay(error) | Failure::Again(error)) => error,
            };
            tracing::debug!(error, "event is not taken over gRPC, falling back to HTTP");
            grpc.leave_alone_until(Some(Instant::now() + GRPC_PAUSE));
        }
        let Some(http) = &self.http else { return Err(Failure::NoWay("no notification service".to_owned())) };
        let posted = in_time(post(&http.client, &http.url, event)).await;
        if let (Err(_), Some(grpc)) = (&posted, &self.grpc) {
            // Neither way is better than the other: the next try begins with gRPC again.
            grpc.leave_alone_until(None);
        }
        posted.map(|()| Route::Http)
    }

    fn undelivered(&self, event: &Event, error: &str) {
        self.lost.count();
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
}

impl Grpc {
    fn is_away(&self) -> bool {
        self.away.lock().is_some_and(|until| Instant::now() < until)
    }

    fn leave_alone_until(&self, until: Option<Instant>) {
        *self.away.lock() = until;
    }
}

async fn in_time(tried: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let tried = tokio::time::timeout(TRY_TIMEOUT, tried).await;
    tried.unwrap_or_else(|_| Err(Failure::Again("timed out".to_owned())))
}

async fn publish(mut peer: EventsPeer, event: &Event) -> Result<(), Failure> {
    peer.publish(event).await.map_err(|status| {
        let message = status.message().to_owned();
        match status.code() {
            tonic::Code::InvalidArgument => Failure::Refused(message),
            tonic::Code::PermissionDenied | tonic::Code::Unimplemented => Failure::NoWay(message),
            _ => Failure::Again(message),
        }
    })
}

async fn post(client: &reqwest::Client, url: &reqwest::Url, event: &Event) -> Result<(), Failure> {
    let request = client.post(url.clone()).json(event);
    let response = request.send().await.map_err(|error| Failure::Again(error.without_url().to_string()))?;
    match response.status() {
        status if status.is_success() => Ok(()),
        // The notification service has sent this event already.
        http::StatusCode::TOO_MANY_REQUESTS => Ok(()),
        status if status.is_server_error() => Err(Failure::Again(status.to_string())),
        status => Err(Failure::NoWay(status.to_string())),
    }
}

#[cfg(test)]
mod tests;
