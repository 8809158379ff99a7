//! The SDK's requests go out through our clients: they have the object's proxy and authorities, and share the process's
//! trust store (SRC-PRX-2).

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use reqwest::{Client, Method};

/// Bytes of an answer of the services that issue credentials.
const MAX_ANSWER: usize = 1 << 20;

/// A client of ours as the SDK's.
#[derive(Debug, Clone)]
pub(super) struct Transport(pub(super) Client);

impl HttpClient for Transport {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        // The metadata service of an instance has both: it must be given up soon where there is none.
        let limit = settings.connect_timeout().zip(settings.read_timeout());
        let limit = limit.map(|(connect, read)| connect + read);
        SharedHttpConnector::new(Connector { client: self.0.clone(), limit })
    }
}

#[derive(Debug)]
struct Connector {
    client: Client,
    limit: Option<Duration>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (client, limit) = (self.client.clone(), self.limit);
        HttpConnectorFuture::new(async move {
            match limit {
                None => send(&client, request).await,
                Some(limit) => tokio::time::timeout(limit, send(&client, request))
                    .await
                    .map_err(|elapsed| ConnectorError::timeout(elapsed.into()))?,
            }
        })
    }
}

async fn send(client: &Client, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
    let method = Method::from_bytes(request.method().as_bytes());
    let method = method.map_err(|error| ConnectorError::user(error.into()))?;
    let body = request.body().bytes().unwrap_or_default().to_vec();
    let mut outgoing = client.request(method, request.uri()).body(body);
    for (name, value) in request.headers() {
        outgoing = outgoing.header(name, value);
    }
    let response = outgoing.send().await.map_err(|error| ConnectorError::io(error.into()))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = weir_http::read_capped(response, MAX_ANSWER).await;
    let body = body.map_err(|error| ConnectorError::io(error.into()))?;
    let status = status.as_u16().try_into().map_err(|error| ConnectorError::other(Box::new(error), None))?;
    let mut answer = HttpResponse::new(status, SdkBody::from(body));
    for (name, value) in &headers {
        // Those that are no text mean nothing to the SDK.
        if let Ok(value) = value.to_str() {
            answer.headers_mut().append(name.as_str().to_owned(), value.to_owned());
        }
    }
    Ok(answer)
}
