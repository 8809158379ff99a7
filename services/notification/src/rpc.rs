//! gRPC: publishing and watching (`weir.notification.v1.Events`). Protobuf types end here.

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use futures::stream::unfold;
use jiff::Timestamp;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use weir_proto::notification::v1::events_server::Events;
use weir_proto::notification::v1::{
    self as proto, PublishRequest, PublishResponse, WatchDeliveriesRequest, WatchDeliveriesResponse,
    WatchEventsRequest, WatchEventsResponse,
};
use weir_runtime::grpc::{Access, Authorizer};

use crate::dispatch::{Delivered, Dispatcher};
use crate::event::{Event, ObjectReference};
use crate::intake::{Intake, Receipt};

/// The service behind the protocol.
pub struct Rpc {
    /// Takes events.
    pub intake: Arc<Intake>,
    /// Makes deliveries.
    pub dispatcher: Dispatcher,
    /// Checks callers.
    pub authorizer: Authorizer,
    /// Streams end when the service stops.
    pub stop: CancellationToken,
}

type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Events for Rpc {
    type WatchEventsStream = Streamed<WatchEventsResponse>;
    type WatchDeliveriesStream = Streamed<WatchDeliveriesResponse>;

    async fn publish(&self, request: Request<PublishRequest>) -> Result<Response<PublishResponse>, Status> {
        let message =
            request.get_ref().event.clone().ok_or_else(|| Status::invalid_argument("event is missing"))?;
        let event = event_of(message)?;
        self.authorizer.allow(&request, access("create", &event.involved_object.namespace)).await?;
        let size = event.to_bytes().len();
        if size > crate::http_server::MAX_BODY {
            return Err(Status::invalid_argument("the event is larger than 3 MiB"));
        }
        match self.intake.receive(event, size).await {
            Ok(Receipt::Accepted(_)) => Ok(Response::new(PublishResponse { duplicate: false })),
            Ok(Receipt::Duplicate(_)) => Ok(Response::new(PublishResponse { duplicate: true })),
            Ok(Receipt::Full) => Err(Status::unavailable("too many events wait for delivery")),
            Err(error) => {
                tracing::error!(%error, "event cannot be stored");
                Err(Status::unavailable("event cannot be stored"))
            }
        }
    }

    async fn watch_events(
        &self,
        request: Request<WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        let namespace = request.get_ref().namespace.clone();
        let rights = self.authorizer.allow_stream(&request, access("watch", &namespace)).await?;
        let events = follow(self.intake.watch(), self.stop.clone(), move |event: Arc<Event>| {
            let is_wanted = namespace.is_empty() || event.involved_object.namespace == namespace;
            is_wanted.then(|| WatchEventsResponse { event: Some(message_of(&event)) })
        });
        Ok(Response::new(Box::pin(rights.guard(events))))
    }

    async fn watch_deliveries(
        &self,
        request: Request<WatchDeliveriesRequest>,
    ) -> Result<Response<Self::WatchDeliveriesStream>, Status> {
        let namespace = request.get_ref().namespace.clone();
        let rights = self.authorizer.allow_stream(&request, access("watch", &namespace)).await?;
        let deliveries = follow(self.dispatcher.watch(), self.stop.clone(), move |delivered: Delivered| {
            let is_wanted = namespace.is_empty() || delivered.alert.namespace == namespace;
            is_wanted.then(|| WatchDeliveriesResponse {
                namespace: delivered.alert.namespace,
                alert: delivered.alert.name,
                provider: delivered.provider,
                event: Some(message_of(&delivered.event)),
                error: delivered.error,
            })
        });
        Ok(Response::new(Box::pin(rights.guard(deliveries))))
    }
}

fn access(verb: &'static str, namespace: &str) -> Access {
    Access {
        verb,
        group: String::new(),
        resource: "events".to_owned(),
        namespace: namespace.to_owned(),
        name: String::new(),
    }
}

/// Turns a broadcast into a stream. A watcher that is too slow gets an error, since it has missed something.
fn follow<T, M>(
    from: Receiver<T>,
    stop: CancellationToken,
    pick: impl Fn(T) -> Option<M> + Send + 'static,
) -> Streamed<M>
where
    T: Clone + Send + 'static,
    M: Send + 'static,
{
    Box::pin(unfold(Some((from, stop, pick)), |state| async move {
        let (mut from, stop, pick) = state?;
        loop {
            match stop.run_until_cancelled(from.recv()).await? {
                Ok(item) => {
                    if let Some(message) = pick(item) {
                        return Some((Ok(message), Some((from, stop, pick))));
                    }
                }
                Err(RecvError::Lagged(missed)) => {
                    let status =
                        Status::data_loss(format!("watcher too slow: {missed} messages were missed"));
                    return Some((Err(status), None));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }))
}

fn event_of(message: proto::Event) -> Result<Event, Status> {
    let severity = match message.severity() {
        proto::Severity::Info => "info",
        proto::Severity::Error => "error",
        proto::Severity::Trace => "trace",
        proto::Severity::Unspecified => {
            return Err(Status::invalid_argument("severity is missing or unknown"));
        }
    };
    let timestamp = match message.timestamp {
        None => None,
        Some(time) => {
            let bad = |_| Status::invalid_argument("timestamp is out of range");
            Some(Timestamp::new(time.seconds, time.nanos).map_err(bad)?)
        }
    };
    let object = message.involved_object.unwrap_or_default();
    Ok(Event {
        involved_object: ObjectReference {
            kind: object.kind,
            namespace: object.namespace,
            name: object.name,
            uid: object.uid,
            api_version: object.api_version,
            resource_version: object.resource_version,
            field_path: String::new(),
        },
        severity: severity.to_owned(),
        timestamp,
        message: message.message,
        reason: message.reason,
        metadata: message.metadata.into_iter().collect(),
        reporting_controller: message.reporting_controller,
        reporting_instance: message.reporting_instance,
    })
}

fn message_of(event: &Event) -> proto::Event {
    let severity = match event.severity.as_str() {
        "info" => proto::Severity::Info,
        "error" => proto::Severity::Error,
        "trace" => proto::Severity::Trace,
        _ => proto::Severity::Unspecified,
    };
    let object = &event.involved_object;
    proto::Event {
        involved_object: Some(proto::ObjectRef {
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uid: object.uid.clone(),
            resource_version: object.resource_version.clone(),
        }),
        severity: severity.into(),
        timestamp: event
            .timestamp
            .map(|time| weir_proto::Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() }),
        message: event.message.clone(),
        reason: event.reason.clone(),
        metadata: event.metadata.clone().into_iter().collect(),
        reporting_controller: event.reporting_controller.clone(),
        reporting_instance: event.reporting_instance.clone(),
    }
}
