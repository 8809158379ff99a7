use anyhow::{Context, Result};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};
use weir_proto::status::v1::status_client::StatusClient as Client;
use weir_proto::status::v1::{ListRequest, ListResponse, WatchRequest, WatchResponse};

/// A client of `weir.status.v1` that shows a bearer token with every call.
#[derive(Debug, Clone)]
pub struct StatusClient {
    client: Client<Channel>,
    token: MetadataValue<Ascii>,
}

impl StatusClient {
    /// Connects to `host:port`.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn connect(address: &str, token: &str) -> Result<Self> {
        let channel =
            Channel::from_shared(format!("http://{address}"))?.connect().await.context("connect")?;
        Ok(Self { client: Client::new(channel), token: format!("Bearer {token}").parse()? })
    }

    /// Lists the objects of a kind in a namespace.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn list(&self, kind: &str, namespace: &str) -> Result<ListResponse, Status> {
        let request =
            ListRequest { kind: kind.into(), namespace: namespace.into(), ..ListRequest::default() };
        Ok(self.client.clone().list(self.with_token(request)).await?.into_inner())
    }

    /// Watches the objects of a kind in a namespace.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn watch(&self, kind: &str, namespace: &str) -> Result<Streaming<WatchResponse>, Status> {
        let request =
            WatchRequest { kind: kind.into(), namespace: namespace.into(), ..WatchRequest::default() };
        Ok(self.client.clone().watch(self.with_token(request)).await?.into_inner())
    }

    fn with_token<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", self.token.clone());
        request
    }
}
