//! Buckets of Azure by whose token reads them: that of an application in a Secret, of an identity of the machine, or of the Pod. One
//! server is the authority, the machine and the container; an object's proxy leads to it under the name of a storage account.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use parking_lot::Mutex;
use rstest::rstest;
use serde_json::json;
use weir_testkit::{Folder, Identity, Proxy, Server, repo_path};

use super::BUCKET;
use crate::world::{Setup, World, paths};

/// Bodies of the requests for tokens.
type Asked = Arc<Mutex<Vec<String>>>;
type Fields = HashMap<String, String>;

const RESOURCE: &str = "https://storage.azure.com/";
const ACCOUNT: &str = "weir.blob.core.windows.net";

/// The stand-in; it ends with its handle.
struct StandIn {
    /// Its address without the proxy.
    base: String,
    asked: Asked,
    proxy: Proxy,
    /// The file with the authority of its certificate.
    authority: String,
    plain: Server,
    _servers: (Server, Folder),
}

impl StandIn {
    async fn start() -> Self {
        let asked = Asked::default();
        let routes = Router::new()
            .route("/{tenant}/oauth2/v2.0/token", post(authority))
            .route("/metadata/identity/oauth2/token", get(machine))
            .route("/apps", get(container))
            .route("/apps/{*name}", get(blob))
            .with_state(asked.clone());
        // Tokens are not sent without TLS, and no certificates of the object count.
        let (identity, folder) =
            (Identity::for_names(&[ACCOUNT]).unwrap(), Folder::new("authority").unwrap());
        let authority = folder.write("authority.pem", &identity.ca_pem).unwrap().display().to_string();
        let server = Server::start(routes, Some(&identity)).await.unwrap();
        let plain = Router::new().route("/msi", get(pod)).with_state(asked.clone());
        let plain = Server::start(plain, None).await.unwrap();
        let local = format!("localhost:{}", server.address().port());
        let account = format!("{ACCOUNT}:443");
        let routes = [account.as_str(), &local].map(|host| (host, server.address()));
        let proxy = Proxy::start(&routes).await.unwrap();
        let base = format!("https://{local}");
        Self { base, asked, proxy, authority, plain, _servers: (server, folder) }
    }

    /// A service whose environment has more variables.
    async fn world(&self, more: Vec<(&'static str, String)>) -> World {
        let mut environment = vec![
            ("AZURE_POD_IDENTITY_AUTHORITY_HOST", self.base.clone()),
            ("SSL_CERT_FILE", self.authority.clone()),
        ];
        environment.extend(more);
        let world = World::start_as(Setup { environment, ..Setup::default() }).await;
        let address = format!("http://{}", self.proxy.address());
        world.secret("proxy", "Opaque", json!({"address": address})).await;
        world
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().clone();
        asked.sort();
        asked
    }
}

async fn authority(
    State(asked): State<Asked>,
    Path(tenant): Path<String>,
    Form(form): Form<Fields>,
) -> String {
    let proof = form.get("client_secret").map_or("certificate", String::as_str);
    asked.lock().push(format!("{tenant} {proof}"));
    json!({"access_token": format!("of-{proof}"), "expires_in": 3600}).to_string()
}

async fn machine(State(asked): State<Asked>, headers: HeaderMap, Query(query): Query<Fields>) -> String {
    assert_eq!((&headers["metadata"], query["resource"].as_str()), (&"true".parse().unwrap(), RESOURCE));
    asked.lock().push(format!("machine {}", query["client_id"]));
    json!({"access_token": "of-machine", "expires_in": "3600"}).to_string()
}

/// The service of a machine that has an identity for the Pod.
async fn pod(State(asked): State<Asked>, headers: HeaderMap) -> String {
    asked.lock().push(format!("pod {}", headers["x-identity-header"].to_str().unwrap()));
    json!({"access_token": "of-pod", "expires_on": "4102444800", "token_type": "Bearer", "resource": RESOURCE})
        .to_string()
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
    let azure = StandIn::start().await;
    let base = &azure.base;
    let world = azure.world(Vec::new()).await;
    let application = |secret: &str| json!({"tenantId": "t", "clientId": "c", "clientSecret": secret, "authorityHost": base});
    world.secret("application", "Opaque", application("one")).await;
    world.secret("machine", "Opaque", json!({"clientId": "m"})).await;
    let with = |secret: &str| json!({"provider": "azure", "secretRef": {"name": secret}});
    let mut proxied = with("machine");
    proxied["proxySecretRef"] = json!({"name": "proxy"});
    // The application is the Secret's own, and may go where the object says.
    world.bucket("application", base, "apps", with("application")).await;
    world.bucket("machine", &format!("https://{ACCOUNT}"), "apps", proxied).await;
    assert_eq!(paths(&world.ready(BUCKET, "application").await).await, ["a.yaml"]);
    world.ready(BUCKET, "machine").await;
    assert_eq!(azure.asked(), ["machine m", "t one"]);
    for name in ["application", "machine"] {
        world.reconciled(BUCKET, name).await;
    }
    assert_eq!(azure.asked(), ["machine m", "t one"]);
    world.secret("application", "Opaque", application("two")).await;
    let status = world.reconciled(BUCKET, "application").await;
    assert_eq!(status["conditions"][0]["status"], "True", "{status}");
    assert_eq!(azure.asked(), ["machine m", "t one", "t two"]);
    // A Secret that names an identity of the machine holds nothing of its own.
    world.bucket("astray", base, "apps", with("machine")).await;
    refused(&world, "astray").await;
}

/// A machine's service speaks plain HTTP: no proxy of the environment reads the token on its way.
#[tokio::test]
async fn a_machine_is_asked_without_a_proxy() {
    let azure = StandIn::start().await;
    let proxy = format!("http://{}", azure.proxy.address());
    let world = azure.world(vec![("HTTPS_PROXY", proxy), ("NO_PROXY", "127.0.0.1".to_owned())]).await;
    world.secret("machine", "Opaque", json!({"clientId": "m"})).await;
    let fields = json!({"provider": "azure", "secretRef": {"name": "machine"}});
    world.bucket("machine", &format!("https://{ACCOUNT}"), "apps", fields).await;
    world.ready(BUCKET, "machine").await;
    let targets: Vec<String> = azure.proxy.requests().into_iter().map(|request| request.target).collect();
    assert!(targets.iter().all(|target| target.starts_with(ACCOUNT)), "{targets:?}");
}

async fn refused(world: &World, name: &str) {
    let (reason, message) = world.failure(BUCKET, name).await;
    assert_eq!(reason, "AuthenticationFailed");
    let expected =
        "the token of this identity is only sent to Azure's storage, and 'localhost' is none of its hosts: ";
    assert!(message.starts_with(expected), "{message}");
}

fn certificate(azure: &StandIn) -> Vec<(&'static str, String)> {
    let file = repo_path("crates/auth/tests/data/openssl3.p12").display().to_string();
    vec![
        ("AZURE_TENANT_ID", "t".to_owned()),
        ("AZURE_CLIENT_ID", "c".to_owned()),
        ("AZURE_CLIENT_CERTIFICATE_PATH", file),
        ("AZURE_CLIENT_CERTIFICATE_PASSWORD", "hunter2".to_owned()),
        ("AZURE_AUTHORITY_HOST", azure.base.clone()),
    ]
}

fn managed(azure: &StandIn) -> Vec<(&'static str, String)> {
    let endpoint = format!("http://{}/msi", azure.plain.address());
    vec![("IDENTITY_ENDPOINT", endpoint), ("IDENTITY_HEADER", "proof".to_owned())]
}

/// SRC-SCK-7: the Pod's token is good for more than the object's bucket. Nobody but Azure gets it, and a machine's service, which
/// speaks plain HTTP, is not asked through the object's proxy.
#[rstest]
#[case(certificate, "t certificate")]
#[case(managed, "pod proof")]
#[tokio::test]
async fn the_pods_token_stays_with_azure(
    #[case] environment: fn(&StandIn) -> Vec<(&'static str, String)>,
    #[case] asked: &str,
) {
    let azure = StandIn::start().await;
    let world = azure.world(environment(&azure)).await;
    let fields = json!({"provider": "azure", "proxySecretRef": {"name": "proxy"}});
    world.bucket("home", &format!("https://{ACCOUNT}"), "apps", fields.clone()).await;
    assert_eq!(paths(&world.ready(BUCKET, "home").await).await, ["a.yaml"]);
    world.bucket("astray", &azure.base, "apps", fields).await;
    refused(&world, "astray").await;
    assert_eq!(azure.asked(), [asked]);
    let plain: Vec<_> =
        azure.proxy.requests().into_iter().filter(|request| request.method != "CONNECT").collect();
    assert_eq!(plain, []);
}
