//! Buckets of Azure by what their Secrets hold: an application's secret, or the name of an identity of the machine. One
//! server is the authority, the machine and the container.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use parking_lot::Mutex;
use serde_json::json;
use weir_testkit::{Folder, Identity, Server};

use super::BUCKET;
use crate::world::{Setup, World, paths};

/// Bodies of the requests for tokens.
type Asked = Arc<Mutex<Vec<String>>>;
type Fields = HashMap<String, String>;

const RESOURCE: &str = "https://storage.azure.com/";

async fn authority(
    State(asked): State<Asked>,
    Path(tenant): Path<String>,
    Form(form): Form<Fields>,
) -> String {
    asked.lock().push(format!("{tenant} {}", form["client_secret"]));
    json!({"access_token": format!("of-{}", form["client_secret"]), "expires_in": 3600}).to_string()
}

async fn machine(State(asked): State<Asked>, headers: HeaderMap, Query(query): Query<Fields>) -> String {
    assert_eq!((&headers["metadata"], query["resource"].as_str()), (&"true".parse().unwrap(), RESOURCE));
    asked.lock().push(format!("machine {}", query["client_id"]));
    json!({"access_token": "of-machine", "expires_in": "3600"}).to_string()
}

/// Anyone with a token may read it.
async fn container(headers: HeaderMap) -> Response {
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if !token.is_some_and(|token| token.starts_with("Bearer of-")) {
        return StatusCode::FORBIDDEN.into_response();
    }
    "<EnumerationResults><Blobs><Blob><Name>a.yaml</Name><Properties><Etag>0x1</Etag><Content-Length>1</Content-Length>\
     </Properties></Blob></Blobs><NextMarker/></EnumerationResults>"
        .into_response()
}

async fn blob(Path(name): Path<String>) -> Response {
    match name.as_str() {
        "a.yaml" => ([(header::ETAG, "\"0x1\"")], "a").into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// SRC-BKT-11, SRC-CLD-7: two runs ask for one token, a changed Secret asks anew.
#[tokio::test]
async fn tokens_are_asked_for_once() {
    let asked = Asked::default();
    let routes = Router::new()
        .route("/{tenant}/oauth2/v2.0/token", post(authority))
        .route("/metadata/identity/oauth2/token", get(machine))
        .route("/apps", get(container))
        .route("/apps/{*name}", get(blob))
        .with_state(asked.clone());
    // Tokens are not sent without TLS, and no certificates of the object count.
    let (identity, folder) = (Identity::for_names(&[]).unwrap(), Folder::new("authority").unwrap());
    let authority = folder.write("authority.pem", &identity.ca_pem).unwrap();
    let server = Server::start(routes, Some(&identity)).await.unwrap();
    let base = format!("https://localhost:{}", server.address().port());
    let environment = vec![
        ("AZURE_POD_IDENTITY_AUTHORITY_HOST", base.clone()),
        ("SSL_CERT_FILE", authority.display().to_string()),
    ];
    let world = World::start_as(Setup { environment, ..Setup::default() }).await;
    let application = |secret: &str| json!({"tenantId": "t", "clientId": "c", "clientSecret": secret, "authorityHost": base});
    world.secret("application", "Opaque", application("one")).await;
    world.secret("machine", "Opaque", json!({"clientId": "m"})).await;
    let with = |secret: &str| json!({"provider": "azure", "secretRef": {"name": secret}});
    world.bucket("application", &base, "apps", with("application")).await;
    world.bucket("machine", &base, "apps", with("machine")).await;
    assert_eq!(paths(&world.ready(BUCKET, "application").await).await, ["a.yaml"]);
    world.ready(BUCKET, "machine").await;
    let sorted = || {
        let mut asked = asked.lock().clone();
        asked.sort();
        asked
    };
    assert_eq!(sorted(), ["machine m", "t one"]);
    for name in ["application", "machine"] {
        world.reconciled(BUCKET, name).await;
    }
    assert_eq!(sorted(), ["machine m", "t one"]);
    world.secret("application", "Opaque", application("two")).await;
    let status = world.reconciled(BUCKET, "application").await;
    assert_eq!(status["conditions"][0]["status"], "True", "{status}");
    assert_eq!(sorted(), ["machine m", "t one", "t two"]);
}
