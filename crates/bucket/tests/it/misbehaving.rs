//! A server that is busy, lies, cuts off, or repeats its input.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use weir_bucket::{AccessKeys, AzureAccess, AzureService, Buckets, Error, Object, S3Service, Service};
use weir_http::Profile;

use crate::{content, s3};

type Requests = Arc<AtomicUsize>;

/// Serves; ends with the returned set.
async fn serve() -> (String, Requests, JoinSet<()>) {
    let requests = Requests::default();
    let routes = Router::new()
        .route("/{bucket}/", get(bucket))
        .route("/{bucket}/{*key}", get(object))
        .route("/{bucket}", get(container))
        .with_state(requests.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (address, requests, tasks)
}

async fn bucket(State(requests): State<Requests>, Path(name): Path<String>, request: Request) -> Response {
    let count = requests.fetch_add(1, Ordering::SeqCst);
    if request.uri().query() == Some("location=") {
        return match name.as_str() {
            "unasked" => refuse(StatusCode::NOT_IMPLEMENTED, "NotImplemented"),
            _ => "<LocationConstraint/>".into_response(),
        };
    }
    match name.as_str() {
        "moved" if !is_signed_for(&request, "eu-west-1") => {
            (StatusCode::BAD_REQUEST, [("x-amz-bucket-region", "eu-west-1")]).into_response()
        }
        "lost" => (StatusCode::BAD_REQUEST, [("x-amz-bucket-region", "evil.example/")]).into_response(),
        "busy" if count < 3 => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response(),
        "overrun" => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "20")]).into_response(),
        "down" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "denied" => StatusCode::FORBIDDEN.into_response(),
        "parrot" => {
            let seen = format!("{:?} hunter2", request.headers().get(header::AUTHORIZATION));
            let page = format!("<Error><Code>SignatureDoesNotMatch</Code><Message>{seen}</Message></Error>");
            (StatusCode::FORBIDDEN, page.replace('"', "")).into_response()
        }
        "endless" => "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>\
                      <Contents><Key>a</Key></Contents></ListBucketResult>".into_response(),
        "bomb" => without_end("<Contents>"),
        "astray" => {
            // The same server by another name.
            let host = request.headers()[header::HOST].to_str().unwrap().replace("127.0.0.1", "localhost");
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, format!("http://{host}/other/"))]).into_response()
        }
        _ => "<ListBucketResult/>".into_response(),
    }
}

fn is_signed_for(request: &Request, region: &str) -> bool {
    let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    authorization.is_some_and(|value| value.contains(&format!("/{region}/s3/aws4_request")))
}

fn refuse(status: StatusCode, code: &str) -> Response {
    (status, format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>")).into_response()
}

fn without_end(text: &str) -> Response {
    let chunk = text.repeat(10_000);
    Body::from_stream(stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()))).into_response()
}

async fn object(Path((_, key)): Path<(String, String)>) -> Response {
    match key.as_str() {
        "huge" => without_end("x"),
        "gzip" => {
            ([(header::CONTENT_ENCODING, "gzip"), (header::ETAG, "\"e\"")], "not decoded").into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Azure: refuses and repeats the query.
async fn container(request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default().replace('&', "&amp;");
    let page =
        format!("<Error><Code>AuthenticationFailed</Code><Message>Bad query {query}</Message></Error>");
    (StatusCode::FORBIDDEN, page).into_response()
}

#[tokio::test]
async fn a_busy_server_is_left_alone_as_long_as_it_asks() {
    let (address, requests, _tasks) = serve().await;
    let since = Instant::now();
    let mut bucket = s3(&address, "busy", None);
    assert!(bucket.exists().await.unwrap());
    assert!(since.elapsed() >= Duration::from_secs(2), "twice one second");
    assert_eq!(requests.load(Ordering::SeqCst), 4);
}

/// A worker does not wait for long: the run ends, and its queue tries again.
#[tokio::test]
async fn a_server_that_asks_for_patience_is_left_alone() {
    let (address, requests, _tasks) = serve().await;
    let error = s3(&address, "overrun", None).exists().await.unwrap_err();
    assert!(matches!(error, Error::Refused { status: StatusCode::SERVICE_UNAVAILABLE, .. }), "{error}");
    assert_eq!(requests.load(Ordering::SeqCst), 1 + 1, "location, bucket");
}

#[tokio::test]
async fn a_broken_server_is_not_asked_for_ever() {
    let (address, requests, _tasks) = serve().await;
    let error = s3(&address, "down", None).exists().await.unwrap_err();
    assert_eq!(error.to_string(), "500 Internal Server Error");
    assert_eq!(requests.load(Ordering::SeqCst), 1 + 4);
}

#[tokio::test]
async fn refusals_in_the_words_of_minio() {
    let (address, _, _tasks) = serve().await;
    let error = s3(&address, "denied", None).exists().await.unwrap_err();
    assert_eq!(error.to_string(), "Access Denied.");
    let refused = s3("127.0.0.1:1", "apps", None).exists().await.unwrap_err();
    let expected =
        "Get \"http://127.0.0.1:1/apps/?location=\": dial tcp 127.0.0.1:1: connect: connection refused";
    assert_eq!(refused.to_string(), expected);
}

#[tokio::test]
async fn secrets_that_a_server_repeats_are_not_shown() {
    let (address, _, _tasks) = serve().await;
    let bucket = s3(&address, "parrot", Some(("AKID", "hunter2")));
    let error = bucket.list("", 10).await.unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
    let signature = "sv=2021-12-02&sr=c&sig=c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0%3D";
    let service = AzureService {
        endpoint: format!("http://{address}"),
        access: AzureAccess::Signature(format!("?{signature}").into()),
    };
    let mut bucket = Buckets::default().open("c", Service::Azure(service), &Profile::default()).unwrap();
    let error = bucket.exists().await.unwrap_err().to_string();
    let hint = "the specified bucket name may be incorrect, nonexistent, or the caller might lack sufficient permissions to \
                access it: Bad query ";
    assert!(error.starts_with(hint) && !error.contains("c2VjcmV0"), "{error}");
}

#[tokio::test]
async fn listings_end() {
    let (address, _, _tasks) = serve().await;
    // The same page for ever is read once more and no further.
    assert_eq!(s3(&address, "endless", None).list("", 10).await.unwrap().len(), 2);
    let error = s3(&address, "bomb", None).list("", 10).await.unwrap_err();
    assert_eq!(error.to_string(), "listing is larger than 16777216 bytes");
}

#[tokio::test]
async fn redirects_do_not_lead_credentials_astray() {
    let (address, requests, _tasks) = serve().await;
    // reqwest does not know the session token as a credential.
    let keys = AccessKeys { id: "AKID".to_owned(), secret: "s".into(), session_token: Some("t".into()) };
    let service = S3Service { endpoint: address, region: None, insecure: true, keys: Some(keys) };
    let bucket = Buckets::default().open("astray", Service::S3(service), &Profile::default()).unwrap();
    let error = bucket.list("", 10).await.unwrap_err();
    assert!(matches!(error, Error::Refused { status: StatusCode::TEMPORARY_REDIRECT, .. }), "{error}");
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

/// A refusal may say where the bucket is; the answer to a HEAD has nothing but headers.
#[tokio::test]
async fn the_region_of_a_refusal_is_tried() {
    let (address, requests, _tasks) = serve().await;
    let keys = Some(("AKID", "hunter2"));
    let mut bucket = s3(&address, "moved", keys);
    assert!(bucket.exists().await.unwrap());
    assert_eq!(bucket.list("", 10).await.unwrap(), []);
    assert_eq!(requests.load(Ordering::SeqCst), 4, "location, twice the bucket, listing");
    let error = s3(&address, "lost", keys).exists().await.unwrap_err();
    assert!(matches!(error, Error::Refused { region: None, .. }), "{error:?}");
    assert!(s3(&address, "unasked", keys).exists().await.unwrap(), "the default region is right");
}

#[tokio::test]
async fn content_is_whole_and_capped_and_as_it_is() {
    let (address, _, _tasks) = serve().await;
    let bucket = s3(&address, "apps", None);
    let read = async |key: &str| {
        let download = bucket.get(&Object::newest(key), 1 << 20).await.unwrap().unwrap();
        download.read().await.unwrap_err().to_string()
    };
    assert_eq!(read("huge").await, "object 'huge' is larger than 1048576 bytes");
    let (text, etag) = content(&bucket, &Object::newest("gzip")).await.unwrap();
    assert_eq!((text.as_str(), etag.as_str()), ("not decoded", "e"));
    assert_eq!(content(&bucket, &Object::newest("none")).await, None);
}

/// Promises a hundred bytes and hangs up after four.
#[tokio::test]
async fn half_an_object_is_an_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").await.unwrap();
    });
    let bucket = s3(&address.to_string(), "apps", None);
    let download = bucket.get(&Object::newest("a"), 1 << 20).await.unwrap().unwrap();
    let error = download.read().await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("Get \"http://{address}/apps/a\": ")), "{error}");
}

/// Everybody on the way could read the token.
#[tokio::test]
async fn tokens_of_azure_stay_off_plain_http() {
    let opened = |endpoint: &str| {
        let access = AzureAccess::Token("hunter2".into());
        let service = AzureService { endpoint: endpoint.to_owned(), access };
        Buckets::default().open("c", Service::Azure(service), &Profile::default()).err()
    };
    let refused = opened("http://account.blob.core.windows.net").unwrap().to_string();
    assert_eq!(refused, "authenticated requests are not permitted for non TLS protected (https) endpoints");
    assert!(opened("https://account.blob.core.windows.net").is_none());
}
