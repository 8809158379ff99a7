//! An S3 server of this process, for what real ones do not do on demand: check a key, count requests, list what no file
//! system has, say no, cut off. One bucket, `apps`.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Form, Path, Query, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use parking_lot::Mutex;
use weir_testkit::{Identity, Server};

const PAGE: usize = 1000;

/// The server; it ends with its handle.
pub struct StandIn {
    pub address: SocketAddr,
    store: Store,
    _server: Server,
}

#[derive(Clone)]
struct Store {
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    requests: Arc<AtomicUsize>,
    /// The access key that is let in; none lets everyone in.
    key: Option<&'static str>,
}

impl StandIn {
    pub async fn start(key: Option<&'static str>) -> Self {
        Self::start_with(key, None).await
    }

    /// Starts with a certificate.
    pub async fn start_with(key: Option<&'static str>, identity: Option<&Identity>) -> Self {
        let store = Store { objects: Arc::default(), requests: Arc::default(), key };
        let routes = Router::new()
            .route("/sts", post(sts))
            .route("/apps/", get(bucket))
            .route("/apps/{*key}", get(object))
            .route("/public", get(container))
            .route("/public/{*key}", get(|| async { ([(header::ETAG, "\"0x1\"")], "public") }))
            .fallback(get(|| async { refuse(StatusCode::NOT_FOUND, "NoSuchBucket") }))
            .with_state(store.clone());
        let server = Server::start(routes, identity).await.unwrap();
        Self { address: server.address(), store, _server: server }
    }

    pub fn put(&self, key: &str, content: &str) {
        self.put_bytes(key, content.as_bytes());
    }

    pub fn put_bytes(&self, key: &str, content: &[u8]) {
        self.store.objects.lock().insert(key.to_owned(), content.to_owned());
    }

    /// Returns the value for `spec.endpoint`.
    pub fn endpoint(&self) -> String {
        self.address.to_string()
    }

    pub fn requests(&self) -> usize {
        self.store.requests.load(Ordering::SeqCst)
    }
}

impl Store {
    /// Counts the request and refuses a wrong key.
    fn admit(&self, request: &Request) -> Option<Response> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let named = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        match (self.key, named) {
            (None, _) => None,
            (Some(_), None) => Some(refuse(StatusCode::FORBIDDEN, "AccessDenied")),
            (Some(key), Some(named)) if named.contains(&format!("Credential={key}/")) => None,
            (Some(_), Some(_)) => Some(refuse(StatusCode::FORBIDDEN, "InvalidAccessKeyId")),
        }
    }
}

fn refuse(status: StatusCode, code: &str) -> Response {
    (status, format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>")).into_response()
}

fn etag(content: &[u8]) -> String {
    let start = String::from_utf8_lossy(content);
    let start: String = start.chars().take(20).filter(char::is_ascii_alphanumeric).collect();
    format!("{:x}-{start}", content.len())
}

async fn bucket(
    State(store): State<Store>,
    Query(query): Query<HashMap<String, String>>,
    request: Request,
) -> Response {
    if let Some(no) = store.admit(&request) {
        return no;
    }
    if request.method() == Method::HEAD {
        return StatusCode::OK.into_response();
    }
    if query.contains_key("location") {
        return "<LocationConstraint/>".into_response();
    }
    let (prefix, after) = (&query["prefix"], query.get("continuation-token").cloned().unwrap_or_default());
    let objects = store.objects.lock();
    let found: Vec<_> = objects.iter().filter(|(key, _)| key.starts_with(prefix) && **key > after).collect();
    let shown = found.iter().take(PAGE).map(|(key, content)| {
        let (etag, size) = (etag(content), content.len());
        format!("<Contents><Key>{key}</Key><ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size></Contents>")
    });
    let shown: String = shown.collect();
    let next = found.get(PAGE - 1).map(|(key, _)| key.as_str()).unwrap_or_default();
    let more = found.len() > PAGE;
    format!(
        "<ListBucketResult><IsTruncated>{more}</IsTruncated><NextContinuationToken>{next}</NextContinuationToken>\
         {shown}</ListBucketResult>"
    )
    .into_response()
}

async fn object(State(store): State<Store>, Path(key): Path<String>, request: Request) -> Response {
    if let Some(no) = store.admit(&request) {
        return no;
    }
    let Some(content) = store.objects.lock().get(&key).cloned() else {
        return refuse(StatusCode::NOT_FOUND, "NoSuchKey");
    };
    let tag = format!("\"{}\"", etag(&content));
    match content.as_slice() {
        // Promises more than it has.
        b"cut" => {
            ([(header::CONTENT_LENGTH, "100"), (header::ETAG, &tag)], Body::from("cut")).into_response()
        }
        b"denied" => refuse(StatusCode::FORBIDDEN, "AccessDenied"),
        _ => ([(header::ETAG, tag)], content).into_response(),
    }
}

/// A container at Azure that everyone may read.
async fn container(request: Request) -> Response {
    if request.headers().contains_key(header::AUTHORIZATION) {
        return refuse(StatusCode::FORBIDDEN, "AuthenticationFailed");
    }
    "<EnumerationResults><Blobs><Blob><Name>a.yaml</Name><Properties><Etag>0x1</Etag><Content-Length>6</Content-Length>\
     </Properties></Blob></Blobs><NextMarker/></EnumerationResults>"
        .into_response()
}

/// A token service that knows one user, and repeats its input.
async fn sts(Form(form): Form<HashMap<String, String>>) -> Response {
    let (user, password) = (&form["LDAPUsername"], &form["LDAPPassword"]);
    if password != "hunter2" {
        let message = format!("no user {user} with password {password}");
        let page = format!("<Error><Code>AccessDenied</Code><Message>{message}</Message></Error>");
        return (StatusCode::FORBIDDEN, page).into_response();
    }
    format!(
        "<AssumeRoleWithLDAPIdentityResponse><AssumeRoleWithLDAPIdentityResult><Credentials>\
         <AccessKeyId>LDAP-{user}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>\
         <Expiration>2126-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithLDAPIdentityResult>\
         </AssumeRoleWithLDAPIdentityResponse>"
    )
    .into_response()
}
