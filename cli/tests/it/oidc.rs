//! Users of a kubeconfig who log in by `auth-provider: oidc` (CLI-G02).

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
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
        Json(json!({ "id_token": token(4_070_908_800), "refresh_token": "second" }))
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

/// A client without a secret, as of a program that people have, has none in its kubeconfig; and the first token need not be there. The
/// tokens stay in the kubeconfig, so that the next command asks for none.
#[tokio::test]
async fn an_expired_token_is_refreshed_once() {
    let (own, other) =
        (Identity::for_names(&["localhost"]).unwrap(), Identity::for_names(&["localhost"]).unwrap());
    let seen = Seen::default();
    let (issuer, server) = (issuer(&other, &seen).await, api_server(&own, &seen).await);
    let folder = Folder::new("oidc").unwrap();
    let authority = folder.write("authority.pem", &own.ca_pem).unwrap();
    let of_issuer = folder.write("issuer.pem", &other.ca_pem).unwrap();
    let data = STANDARD.encode(&other.ca_pem);
    let ca = [
        ("idp-certificate-authority", of_issuer.to_str().unwrap()),
        ("idp-certificate-authority-data", &data),
    ];
    let cases = [(Some(token(0)), Some("s"), ca[0]), (None, None, ca[1])];
    for (old, secret, (authority_key, of_issuer)) in cases {
        let mut config = json!({
            "idp-issuer-url": format!("https://localhost:{}/", issuer.address().port()),
            "client-id": "weir", "refresh-token": "first", authority_key: of_issuer,
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
                "certificate-authority": authority,
            } }],
            "users": [{ "name": "u", "user": { "auth-provider": { "name": "oidc", "config": config } } }],
        });
        let path = folder.write("kubeconfig", kubeconfig.to_string()).unwrap();
        let weir = Weir::default().with_kubeconfig(&path);
        let shown = weir.transcript(&["get sources git", "get sources git"]).await;
        let seen = std::mem::take(&mut *seen.lock());
        let [asked, tokens @ ..] = seen.as_slice() else { panic!("{seen:?}: {shown}") };
        assert!(asked.contains("refresh_token=first"), "{asked}");
        let bearer = format!("Bearer {}", token(4_070_908_800));
        assert!(tokens.len() > 1 && tokens.iter().all(|token| *token == bearer), "{seen:?}: {shown}");
        let kept = std::fs::read_to_string(&path).unwrap();
        assert!(kept.contains("refresh-token: second\n") && !kept.contains("first"), "{kept}");
    }
}

/// An issuer whose tokens are over at once, and which takes each refresh token once.
async fn hasty_issuer(identity: &Identity, refreshed: &Arc<Mutex<usize>>) -> Server {
    let metadata = async |headers: HeaderMap| {
        let host = headers["host"].to_str().unwrap().to_owned();
        Json(json!({ "token_endpoint": format!("https://{host}/token") }))
    };
    let issue = async |State(refreshed): State<Arc<Mutex<usize>>>,
                       body: String|
           -> Result<Json<Value>, (StatusCode, String)> {
        let mut refreshed = refreshed.lock();
        if !body.contains(&format!("refresh_token=r{refreshed}&"))
            && !body.ends_with(&format!("=r{refreshed}"))
        {
            return Err((StatusCode::BAD_REQUEST, body));
        }
        *refreshed += 1;
        let number = *refreshed;
        Ok(Json(json!({ "id_token": token(number as u64), "refresh_token": format!("r{number}") })))
    };
    let app = Router::new().route("/.well-known/openid-configuration", get(metadata));
    let app = app.route("/token", post(issue)).with_state(Arc::clone(refreshed));
    Server::start(app, Some(identity)).await.unwrap()
}

/// As for commands that run for long, such as `watch`: each request has a token that has not ended, and the last one is kept.
#[tokio::test]
async fn a_token_that_ends_while_a_command_runs_is_renewed() {
    let (own, other) =
        (Identity::for_names(&["localhost"]).unwrap(), Identity::for_names(&["localhost"]).unwrap());
    let (seen, refreshed) = (Seen::default(), Arc::default());
    let (issuer, server) = (hasty_issuer(&other, &refreshed).await, api_server(&own, &seen).await);
    let folder = Folder::new("oidc-hasty").unwrap();
    let authority = folder.write("authority.pem", &own.ca_pem).unwrap();
    let of_issuer = folder.write("issuer.pem", &other.ca_pem).unwrap();
    let config = json!({
        "idp-issuer-url": format!("https://localhost:{}", issuer.address().port()),
        "client-id": "weir", "refresh-token": "r0", "idp-certificate-authority": of_issuer,
    });
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": {
            "server": format!("https://localhost:{}", server.address().port()),
            "certificate-authority": authority,
        } }],
        "users": [{ "name": "u", "user": { "auth-provider": { "name": "oidc", "config": config } } }],
    });
    let path = folder.write("kubeconfig", kubeconfig.to_string()).unwrap();
    let shown = Weir::default().with_kubeconfig(&path).transcript(&["get sources all"]).await;
    let (seen, refreshed) = (seen.lock().clone(), *refreshed.lock());
    assert!(seen.len() > 2, "{seen:?}: {shown}");
    // One token was for the first look at the login, before any request.
    let expected: Vec<_> = (2..=refreshed as u64).map(|end| format!("Bearer {}", token(end))).collect();
    let sorted = |mut tokens: Vec<String>| {
        tokens.sort();
        tokens
    };
    assert_eq!(sorted(seen), sorted(expected), "{shown}");
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept.contains(&format!("refresh-token: r{refreshed}\n")), "{kept}");
}

/// An issuer that has seen the token before says so; the answer repeats it, the command does not.
#[tokio::test]
async fn a_refusal_of_the_issuer_is_told() {
    let identity = Identity::for_names(&["localhost"]).unwrap();
    let app = Router::new().fallback(async |body: String| (StatusCode::BAD_REQUEST, format!("used: {body}")));
    let issuer = Server::start(app, Some(&identity)).await.unwrap();
    let folder = Folder::new("oidc-refused").unwrap();
    let config = json!({ "idp-issuer-url": format!("https://localhost:{}", issuer.address().port()), "client-id": "weir",
        "idp-certificate-authority-data": STANDARD.encode(&identity.ca_pem), "refresh-token": "hush-hush" });
    let kubeconfig = json!({ "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": "https://127.0.0.1:9" } }],
        "users": [{ "name": "u", "user": { "auth-provider": { "name": "oidc", "config": config } } }] });
    let path = folder.write("kubeconfig", kubeconfig.to_string()).unwrap();
    let shown = Weir::default().with_kubeconfig(&path).transcript(&["get sources git"]).await;
    assert!(shown.contains("the user of the kubeconfig logs in at 'https://localhost:"), "{shown}");
    assert!(shown.contains("400 Bad Request") && !shown.contains("hush"), "{shown}");
}
