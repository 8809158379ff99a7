//! Users of a kubeconfig who log in by `auth-provider: oidc` (CLI-G02).

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use weir_testkit::{Folder, Identity, Server};

use crate::weir::Weir;

/// Requests to the issuer and the tokens that the API server was shown.
type Seen = Arc<Mutex<Vec<String>>>;

fn token(end: u64) -> String {
    let claims = URL_SAFE_NO_PAD.encode(json!({ "exp": end }).to_string());
    format!("e30.{claims}.signature-of-{end}")
}

/// An issuer whose tokens are good for long.
async fn issuer(identity: &Identity, seen: &Seen) -> Server {
    let metadata = async |headers: HeaderMap| {
        let host = headers["host"].to_str().unwrap().to_owned();
        Json(json!({ "token_endpoint": format!("https://{host}/token") }))
    };
    let issue = async |State(seen): State<Seen>, body: String| -> Json<Value> {
        seen.lock().push(body);
        Json(json!({ "id_token": token(4_070_908_800) }))
    };
    let app = Router::new().route("/.well-known/openid-configuration", get(metadata));
    let app = app.route("/token", post(issue)).with_state(Arc::clone(seen));
    Server::start(app, Some(identity)).await.unwrap()
}

async fn api_server(identity: &Identity, seen: &Seen) -> Server {
    let look = async |State(seen): State<Seen>, headers: HeaderMap| {
        seen.lock().push(headers["authorization"].to_str().unwrap().to_owned());
        Json(json!({ "apiVersion": "v1", "kind": "List", "metadata": {}, "items": [] }))
    };
    let app = Router::new().fallback(look).with_state(Arc::clone(seen));
    Server::start(app, Some(identity)).await.unwrap()
}

/// A client without a secret, as of a program that people have, has none in its kubeconfig; and the first token need not be there.
#[tokio::test]
async fn an_expired_token_is_refreshed() {
    let identity = Identity::for_names(&["localhost"]).unwrap();
    let seen = Seen::default();
    let (issuer, server) = (issuer(&identity, &seen).await, api_server(&identity, &seen).await);
    let folder = Folder::new("oidc").unwrap();
    let authorities = folder.write("authorities.pem", &identity.ca_pem).unwrap();
    for (old, secret) in [(Some(token(0)), Some("s")), (None, None)] {
        let mut config = json!({
            "idp-issuer-url": format!("https://localhost:{}", issuer.address().port()),
            "client-id": "weir", "refresh-token": "of-a-person",
        });
        for (key, value) in [("id-token", old), ("client-secret", secret.map(str::to_owned))] {
            if let Some(value) = value {
                config[key] = value.into();
            }
        }
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": {
                "server": format!("https://localhost:{}", server.address().port()),
                "certificate-authority": authorities,
            } }],
            "users": [{ "name": "u", "user": { "auth-provider": { "name": "oidc", "config": config } } }],
        });
        let path = folder.write("kubeconfig", kubeconfig.to_string()).unwrap();
        let weir = Weir::default().with_kubeconfig(&path);
        let weir = weir.with_env("SSL_CERT_FILE", authorities.to_str().unwrap());
        let shown = weir.transcript(&["get sources git"]).await;
        let seen = std::mem::take(&mut *seen.lock());
        let [asked, shown_token, ..] = seen.as_slice() else { panic!("{seen:?}: {shown}") };
        assert!(asked.contains("refresh_token=of-a-person"), "{asked}");
        assert_eq!(*shown_token, format!("Bearer {}", token(4_070_908_800)));
    }
}
