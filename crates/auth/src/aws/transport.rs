//! The SDK's requests go out through our clients: they have the object's proxy and share the process's trust store
//! (SRC-PRX-2).

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use reqwest::{Client, Method};
use url::{Host, Url};

use crate::rest;

/// Bytes of an answer of the services that issue credentials.
const MAX_ANSWER: usize = 1 << 20;

/// Beginning of the addresses of version 6 at which Amazon's machines have their services.
const AMAZONS: [u16; 2] = [0xfd00, 0x0ec2];

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
    let url = Url::parse(request.uri()).map_err(|error| ConnectorError::user(error.into()))?;
    let body = request.body().bytes().unwrap_or_default().to_vec();
    let mut outgoing = way(client, &url)?.request(method, url).body(body);
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

/// The client for a request. The services of the machine give out its keys for the Pod's token, in plain text: an object's proxy, which
/// is a tenant's, would read both.
fn way(client: &Client, url: &Url) -> Result<Client, ConnectorError> {
    if url.scheme() == "https" || !is_of_machine(url) {
        return Ok(client.clone());
    }
    rest::machine_client().map_err(|error| ConnectorError::other(error.into(), None))
}

/// Returns true for addresses that lead to this machine only. The SDK lets the Pod's token go in plain text to no others.
fn is_of_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_link_local(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.segments().starts_with(&AMAZONS),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::HeaderMap;
    use axum::routing::get;
    use weir_http::{Clients, Profile};
    use weir_testkit::{Proxy, Server};

    use super::*;

    #[rstest::rstest]
    #[case("http://169.254.170.23/v1/credentials", true)]
    #[case("http://169.254.169.254/latest", true)]
    #[case("http://[fd00:ec2::23]/v1/credentials", true)]
    #[case("http://localhost:1338/", true)]
    #[case("http://127.0.0.1/", true)]
    #[case("http://sts.example.org/", false)]
    #[case("http://10.0.0.1/", false)]
    #[case("http://[fd00::1]/", false)]
    fn addresses_of_the_machine(#[case] url: &str, #[case] expected: bool) {
        assert_eq!(is_of_machine(&url.parse().unwrap()), expected);
    }

    /// SRC-SCK-7: the agent of EKS is asked with the Pod's token, in plain text.
    #[tokio::test]
    async fn keys_of_the_machine_stay_off_the_proxy() {
        let agent = get(async |headers: HeaderMap| headers["authorization"].to_str().unwrap().to_owned());
        let agent = Server::start(Router::new().route("/v1/credentials", agent), None).await.unwrap();
        let proxy = Proxy::start(&[]).await.unwrap();
        let address = format!("http://{}", proxy.address()).parse().unwrap();
        let profile =
            Profile { proxy: Some(weir_http::Proxy { address, credentials: None }), ..Profile::default() };
        let client = Clients::new("test").get(&profile).unwrap();
        let send = async |uri: String| {
            let mut request = HttpRequest::empty();
            request.set_uri(uri).unwrap();
            request.headers_mut().insert("authorization", "token-of-the-pod");
            super::send(&client, request).await
        };
        let answer = send(format!("http://{}/v1/credentials", agent.address())).await.unwrap();
        assert_eq!(answer.body().bytes(), Some(b"token-of-the-pod".as_slice()));
        assert_eq!(proxy.requests(), []);
        // Everything else goes by the proxy, which does not know this host.
        assert!(send("https://sts.eu-west-1.amazonaws.com/".to_owned()).await.is_err());
        assert_eq!(proxy.requests()[0].target, "sts.eu-west-1.amazonaws.com:443");
    }
}
