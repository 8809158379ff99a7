use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use weir_auth::{Caller, LoginOptions, Logins};
use weir_http::Profile;
use weir_testkit::{ControlPlane, Proxied};

pub(crate) const NAMESPACE: &str = "default";

/// A stand-in of a cloud, and the way to it.
pub(crate) struct Cloud {
    cloud: weir_testkit::Cloud,
    pub(crate) profile: Profile,
}

impl Cloud {
    /// Answers requests to any of the hosts; `answers` is given `METHOD host path authorization body`.
    pub(crate) async fn start(
        hosts: &[&str],
        answers: impl Fn(&str) -> (StatusCode, Value) + Send + Sync + 'static,
    ) -> Self {
        let cloud = weir_testkit::Cloud::start(hosts, answers).await.unwrap();
        let address = format!("http://{}", cloud.proxy()).parse().unwrap();
        let profile = Profile {
            ca: Some(cloud.ca_pem().into()),
            proxy: Some(weir_http::Proxy { address, credentials: None }),
            ..Profile::default()
        };
        Self { cloud, profile }
    }

    pub(crate) fn ca_pem(&self) -> &str {
        self.cloud.ca_pem()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.cloud.requests()
    }

    pub(crate) fn proxied(&self) -> Vec<Proxied> {
        self.cloud.proxied()
    }

    /// Logins that trust the cloud's servers.
    pub(crate) async fn logins(&self, workload_identity: bool, default_account: &str) -> Logins {
        logins(workload_identity, default_account).await.trusting(self.cloud.ca_pem())
    }

    /// Logins that keep so many.
    pub(crate) async fn logins_keeping(&self, cache_size: u64) -> Logins {
        with(false, "", cache_size).await.trusting(self.cloud.ca_pem())
    }

    pub(crate) fn caller<'a>(&'a self, account: Option<&'a str>) -> Caller<'a> {
        Caller {
            kind: "OCIRepository",
            namespace: NAMESPACE,
            name: "app",
            account,
            http: &self.profile,
            timeout: Duration::from_secs(20),
        }
    }
}

pub(crate) async fn plane() -> &'static ControlPlane {
    ControlPlane::shared().await.unwrap()
}

/// Logins that trust the servers of nobody but the real clouds.
pub(crate) async fn logins(workload_identity: bool, default_account: &str) -> Logins {
    with(workload_identity, default_account, 100).await
}

async fn with(workload_identity: bool, default_account: &str, cache_size: u64) -> Logins {
    let options = LoginOptions {
        workload_identity,
        default_account: default_account.to_owned(),
        cache_size,
        cache_duration: Duration::from_secs(3600),
    };
    Logins::new(plane().await.client().unwrap(), options).unwrap()
}

/// A ServiceAccount with annotations.
pub(crate) async fn account(name: &str, annotations: Value) {
    let object = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name, "annotations": annotations},
    });
    plane().await.apply(NAMESPACE, object).await.unwrap();
}

/// The claims of the Kubernetes token that stands behind `marker` in a request.
pub(crate) fn claims(request: &str, marker: &str) -> Value {
    use base64::Engine;
    let (_, rest) = request.split_once(marker).unwrap_or_else(|| panic!("no {marker} in {request}"));
    let token = rest.split(['&', '"', ' ']).next().unwrap();
    let part = token.split('.').nth(1).unwrap_or_else(|| panic!("no token in {request}"));
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}
