//! Users of a kubeconfig who log in by `auth-provider: oidc` (CLI-G02).

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use weir_testkit::{Folder, Identity, Process, Server, eventually};

use crate::run::addresses;
use crate::weir::{DEADLINE, Weir};

/// Requests to the issuer and the tokens that the API server was shown.
type Seen = Arc<Mutex<Vec<String>>>;

fn token(end: u64) -> String {
    let claims = URL_SAFE_NO_PAD.encode(json!({ "exp": end }).to_string());
    format!("e30.{claims}.signature-of-{end}")
}

/// The URL of a server, under the name that its certificate has.
fn url(server: &Server) -> String {
    format!("https://localhost:{}", server.address().port())
}

/// Writes a kubeconfig with a server and the login of a user.
fn kubeconfig(folder: &Folder, server: &str, authority: &Identity, login: &Value) -> PathBuf {
    let cluster =
        json!({ "server": server, "certificate-authority-data": STANDARD.encode(&authority.ca_pem) });
    let content = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": cluster }],
        "users": [{ "name": "u", "user": { "auth-provider": { "name": "oidc", "config": login } } }],
    });
    folder.write("kubeconfig", content.to_string()).unwrap()
}

/// The part of an issuer that names the address of its tokens.
fn with_metadata<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let metadata = async |headers: HeaderMap| {
        let host = headers["host"].to_str().unwrap().to_owned();
        Json(json!({ "token_endpoint": format!("https://{host}/token") }))
    };
    Router::new().route("/.well-known/openid-configuration", get(metadata))
}

/// An issuer whose tokens are good for long.
async fn issuer(identity: &Identity, seen: &Seen) -> Server {
    let issue = async |State(seen): State<Seen>, body: String| -> Json<Value> {
        seen.lock().push(body);
        Json(json!({ "id_token": token(4_070_908_800), "refresh_token": "second" }))
    };
    let app = with_metadata().route("/token", post(issue)).with_state(Arc::clone(seen));
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
    let of_issuer = folder.write("issuer.pem", &other.ca_pem).unwrap();
    let data = STANDARD.encode(&other.ca_pem);
    let ca = [
        ("idp-certificate-authority", of_issuer.to_str().unwrap()),
        ("idp-certificate-authority-data", &data),
    ];
    let cases = [(Some(token(0)), Some("s"), ca[0]), (None, None, ca[1])];
    for (old, secret, (authority_key, of_issuer)) in cases {
        let mut config = json!({
            "idp-issuer-url": format!("{}/", url(&issuer)),
            "client-id": "weir", "refresh-token": "first", authority_key: of_issuer,
        });
        for (key, value) in [("id-token", old), ("client-secret", secret.map(str::to_owned))] {
            if let Some(value) = value {
                config[key] = value.into();
            }
        }
        let path = kubeconfig(&folder, &url(&server), &own, &config);
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
    let app = with_metadata().route("/token", post(issue)).with_state(Arc::clone(refreshed));
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
    let of_issuer = folder.write("issuer.pem", &other.ca_pem).unwrap();
    let config = json!({
        "idp-issuer-url": url(&issuer), "client-id": "weir", "refresh-token": "r0", "idp-certificate-authority": of_issuer,
    });
    let path = kubeconfig(&folder, &url(&server), &own, &config);
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
    let config = json!({ "idp-issuer-url": url(&issuer), "client-id": "weir",
        "idp-certificate-authority-data": STANDARD.encode(&identity.ca_pem), "refresh-token": "hush-hush" });
    let path = kubeconfig(&folder, "https://127.0.0.1:9", &identity, &config);
    let shown = Weir::default().with_kubeconfig(&path).transcript(&["get sources git"]).await;
    assert!(shown.contains("the user of the kubeconfig logs in at 'https://localhost:"), "{shown}");
    assert!(shown.contains("400 Bad Request") && !shown.contains("hush"), "{shown}");
}

/// `weir run` lasts longer than any token.
#[tokio::test]
async fn the_services_of_run_log_in_as_their_user() {
    let (own, other) =
        (Identity::for_names(&["localhost"]).unwrap(), Identity::for_names(&["localhost"]).unwrap());
    let (of_issuer, of_server) = (Seen::default(), Seen::default());
    let (issuer, server) = (issuer(&other, &of_issuer).await, api_server(&own, &of_server).await);
    let folder = Folder::new("oidc-run").unwrap();
    let config = json!({
        "idp-issuer-url": url(&issuer), "client-id": "weir", "refresh-token": "first",
        "idp-certificate-authority-data": STANDARD.encode(&other.ca_pem),
    });
    let path = kubeconfig(&folder, &url(&server), &own, &config);
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("run").env_clear().env("KUBECONFIG", &path).env("XDG_DATA_HOME", folder.path());
    command.args(addresses().iter().map(|(name, address)| format!("--{name}-addr={address}")));
    let process = Process::start("weir run", &mut command, &folder.join("run.log")).unwrap();
    let asked = async || (of_server.lock().len() > 1).then_some(());
    assert!(eventually("requests", DEADLINE, asked).await.is_ok(), "{}", process.log_tail());
    let bearer = format!("Bearer {}", token(4_070_908_800));
    let seen = of_server.lock().clone();
    assert!(seen.iter().all(|token| *token == bearer), "{seen:?}");
    assert_eq!(of_issuer.lock().len(), 1);
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept.contains("refresh-token: second\n"), "{kept}");
}
