//! Amazon for tests: moto, and a proxy by which Amazon's host names lead to it and to the world's registry.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use weir_testkit::{BucketProgram, BucketServer, Proxied, Proxy, Registry};

/// Address at which the SDK looks for Amazon's services; the proxy knows the name.
const API: &str = "amazon.example.com";

/// A stand-in of Amazon's services and registries.
#[derive(Debug)]
pub struct Amazon {
    proxy: Proxy,
    _moto: BucketServer,
}

impl Amazon {
    /// Starts it, with `host` as the name of the registry; nothing when this machine has no moto.
    ///
    /// # Errors
    /// When it does not get ready in time.
    pub(crate) async fn start(host: &str, registry: &Registry) -> Result<Option<Self>> {
        let Some(moto) = BucketServer::start(BucketProgram::Moto).await? else { return Ok(None) };
        let address = |text: &str| text.parse::<SocketAddr>().with_context(|| format!("address {text}"));
        let (host, api) = (format!("{host}:80"), format!("{API}:80"));
        let routes =
            [(host.as_str(), address(registry.address())?), (api.as_str(), address(moto.address())?)];
        let proxy = Proxy::start(&routes).await?;
        Ok(Some(Self { proxy, _moto: moto }))
    }

    /// `host:port` of the proxy, on the loopback address.
    pub(crate) fn address(&self) -> String {
        self.proxy.address().to_string()
    }

    /// Returns the environment that lets a process find it, where the process reaches the proxy at `address`.
    pub(crate) fn environment(&self, address: &str) -> Vec<(String, String)> {
        let proxy = format!("http://{address}");
        let api = format!("http://{API}");
        let variables = [
            ("HTTP_PROXY", proxy.as_str()),
            ("HTTPS_PROXY", &proxy),
            ("AWS_ENDPOINT_URL", &api),
            ("AWS_ACCESS_KEY_ID", "AKID"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// Requests to Amazon's services so far, without those to its registries.
    #[must_use]
    pub fn requests(&self) -> Vec<Proxied> {
        let mut requests = self.proxy.requests();
        requests.retain(|request| request.target == format!("{API}:80"));
        requests
    }
}
