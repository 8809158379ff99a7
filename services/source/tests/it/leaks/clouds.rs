//! GitHub and Google's token server behind a proxy, and objects that log in there: what they send is as secret as what they
//! are given.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header;
use parking_lot::Mutex;
use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use serde_json::json;
use weir_testkit::{Folder, Identity, Proxy, Server};

use super::planted;
use crate::world::World;

const HOSTS: [&str; 2] = ["api.github.com", "sts.googleapis.com"];
const POOL: &str = "projects/1/locations/global/workloadIdentityPools/pool/providers/test";
/// Most of a request of a test.
const MAX_BODY: usize = 1 << 20;

/// `Authorization` and body of each request.
type Requests = Arc<Mutex<Vec<(String, String)>>>;

pub struct Clouds {
    proxy: Proxy,
    ca: String,
    app_key: String,
    requests: Requests,
    folder: Folder,
    _server: Server,
}

impl Clouds {
    pub async fn start() -> Self {
        let identity = Identity::for_names(&HOSTS).unwrap();
        let requests = Requests::default();
        let app = Router::new().fallback(answer).with_state(requests.clone());
        let server = Server::start(app, Some(&identity)).await.unwrap();
        let places = HOSTS.map(|host| format!("{host}:443"));
        let routes = [(places[0].as_str(), server.address()), (places[1].as_str(), server.address())];
        let proxy = Proxy::start(&routes).await.unwrap();
        let app_key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap().serialize_pem();
        let folder = Folder::new("clouds").unwrap();
        folder.write("authority.pem", &identity.ca_pem).unwrap();
        Self { proxy, ca: identity.ca_pem, app_key, requests, folder, _server: server }
    }

    /// The file with the authority of the clouds' servers, which the system has to trust.
    pub fn authority(&self) -> String {
        self.folder.join("authority.pem").display().to_string()
    }

    /// A GitHub App and a ServiceAccount whose logins succeed; the servers behind them are not there.
    pub async fn plant(&self, world: &World) {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "tenant", "annotations": {"gcp.auth.fluxcd.io/workload-identity-provider": POOL}},
        });
        world.plane.apply(&world.namespace, account).await.unwrap();
        let address = format!("http://{}", self.proxy.address());
        world.secret("clouds", "Opaque", json!({"address": address})).await;
        let app = json!({
            "githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": self.app_key, "ca.crt": self.ca,
        });
        world.secret("app-key", "Opaque", app).await;
        let spec = json!({
            "provider": "github", "secretRef": {"name": "app-key"}, "proxySecretRef": {"name": "clouds"},
        });
        world.git("app-key", "https://github.com/org/app", spec).await;
        let spec = json!({
            "provider": "gcp", "serviceAccountName": "tenant", "insecure": false,
            "proxySecretRef": {"name": "clouds"},
        });
        world.oci("token", "oci://europe-west1-docker.pkg.dev/project/app", spec).await;
    }

    /// Returns the secrets that the logins produced: a line of the app's key, the statement that it signed, the
    /// account's token.
    pub fn secrets(&self) -> Vec<String> {
        let line = self.app_key.lines().nth(10).unwrap().to_owned();
        let requests = self.requests.lock();
        let statement = requests.iter().find_map(|(sent, _)| sent.strip_prefix("Bearer ").map(str::to_owned));
        let token = requests.iter().find_map(|(_, body)| {
            body.split('&').find_map(|field| field.strip_prefix("subject_token=").map(str::to_owned))
        });
        vec![line, statement.expect("GitHub was asked"), token.expect("Google was asked")]
    }
}

async fn answer(State(requests): State<Requests>, request: Request) -> String {
    let sent = request.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    let body = axum::body::to_bytes(request.into_body(), MAX_BODY).await.unwrap();
    requests.lock().push((sent.unwrap_or_default(), String::from_utf8(body.to_vec()).unwrap()));
    json!({
        "token": planted("installation-token"), "expires_at": "2099-01-01T00:00:00Z",
        "access_token": planted("access-token"), "expires_in": 3600, "token_type": "Bearer",
    })
    .to_string()
}
