//! The names of Amazon's and Google's own servers, led to a stand-in by a proxy.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use rstest::rstest;
use weir_bucket::{AccessKeys, Bucket, Buckets, GcsService, S3Service, Service};
use weir_http::{Profile, Proxy};
use weir_testkit::{Identity, Server};

const NAMES: [&str; 5] = [
    "apps.s3.amazonaws.com",
    "apps.s3.eu-west-1.amazonaws.com",
    "apps.oss-cn-hangzhou.aliyuncs.com",
    "apps.storage.googleapis.com",
    "storage.googleapis.com",
];

struct Clouds {
    _server: Server,
    _proxy: weir_testkit::Proxy,
    profile: Profile,
    asked: Asked,
}

type Asked = Arc<Mutex<Vec<String>>>;

impl Clouds {
    async fn start() -> Self {
        let identity = Identity::for_names(&NAMES).unwrap();
        let asked = Asked::default();
        let app = Router::new().fallback(answer).with_state(asked.clone());
        let server = Server::start(app, Some(&identity)).await.unwrap();
        let hosts = NAMES.map(|name| format!("{name}:443"));
        let routes: Vec<_> = hosts.iter().map(|host| (host.as_str(), server.address())).collect();
        let proxy = weir_testkit::Proxy::start(&routes).await.unwrap();
        let address = format!("http://{}", proxy.address()).parse().unwrap();
        let profile = Profile {
            ca: Some(identity.ca_pem.into()),
            proxy: Some(Proxy { address, credentials: None }),
            ..Profile::default()
        };
        Self { _server: server, _proxy: proxy, profile, asked }
    }

    fn open(&self, service: Service) -> Bucket {
        Buckets::default().open("apps", service, &self.profile).unwrap()
    }
}

/// Two pages for listings of the first kind, one for those of the second, and Google's JSON.
async fn answer(State(asked): State<Asked>, request: Request) -> Response {
    let host = request.headers()["host"].to_str().unwrap().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    asked.lock().push(format!("{} {host}{}", request.method(), request.uri().path()));
    let page = |more: bool, key: &str| {
        format!(
            "<ListBucketResult><IsTruncated>{more}</IsTruncated><Contents><Key>{key}</Key></Contents></ListBucketResult>"
        )
    };
    if host == "storage.googleapis.com" {
        assert_eq!(request.headers()["authorization"], "Bearer token");
        return r#"{"items":[{"name":"a","etag":"CJ=","size":"1","generation":"7"}]}"#.into_response();
    }
    if query == "location" {
        return match host.as_str() {
            "apps.s3.amazonaws.com" => (
                StatusCode::FORBIDDEN,
                "<Error><Code>AccessDenied</Code><Message>no</Message><Region>eu-west-1</Region></Error>",
            )
                .into_response(),
            _ => "<LocationConstraint>oss-cn-hangzhou</LocationConstraint>".into_response(),
        };
    }
    if host.contains("eu-west-1") {
        let authorization = request.headers()["authorization"].to_str().unwrap();
        assert!(authorization.contains("/eu-west-1/s3/aws4_request"), "{authorization}");
    }
    match (query.contains("list-type=2"), query.contains("marker=a")) {
        (true, _) => page(false, "amazon").into_response(),
        (false, false) => page(true, "a").into_response(),
        (false, true) => page(false, "b").into_response(),
    }
}

fn s3(endpoint: &str, region: &str) -> Service {
    let keys =
        AccessKeys { id: "AKID".to_owned(), secret: "secret".into(), session_token: Some("token".into()) };
    let (endpoint, region) = (endpoint.to_owned(), Some(region.to_owned()));
    Service::S3(S3Service { endpoint, region, insecure: false, keys: Some(keys) })
}

async fn keys(bucket: &mut Bucket) -> Vec<String> {
    assert!(bucket.exists().await.unwrap());
    bucket.list("", 10).await.unwrap().into_iter().map(|object| object.key).collect()
}

#[tokio::test]
async fn amazon_names_its_buckets() {
    let clouds = Clouds::start().await;
    let mut bucket = clouds.open(s3("s3.amazonaws.com", "eu-west-1"));
    assert_eq!(keys(&mut bucket).await, ["amazon"]);
    let host = "apps.s3.eu-west-1.amazonaws.com";
    assert_eq!(*clouds.asked.lock(), [format!("HEAD {host}/"), format!("GET {host}/")]);
}

/// Nobody is asked for the region when the endpoint's name holds it; else the refusal of the question names it too.
#[rstest]
#[case("s3.eu-west-1.amazonaws.com", &[])]
#[case("s3.amazonaws.com", &["GET apps.s3.amazonaws.com/"])]
#[tokio::test]
async fn amazon_tells_the_region(#[case] endpoint: &str, #[case] question: &[&str]) {
    let clouds = Clouds::start().await;
    let mut bucket = clouds.open(s3(endpoint, ""));
    assert_eq!(keys(&mut bucket).await, ["amazon"]);
    let host = "apps.s3.eu-west-1.amazonaws.com";
    let found = [format!("HEAD {host}/"), format!("GET {host}/")];
    let expected: Vec<_> = question.iter().map(|line| (*line).to_owned()).chain(found).collect();
    assert_eq!(*clouds.asked.lock(), expected);
}

/// OSS refuses to be asked by path, also for the region.
#[tokio::test]
async fn aliyun_names_its_buckets() {
    let clouds = Clouds::start().await;
    let mut bucket = clouds.open(s3("oss-cn-hangzhou.aliyuncs.com", ""));
    assert_eq!(keys(&mut bucket).await, ["amazon"]);
    let host = "apps.oss-cn-hangzhou.aliyuncs.com";
    assert_eq!(*clouds.asked.lock(), ["GET", "HEAD", "GET"].map(|method| format!("{method} {host}/")));
}

#[tokio::test]
async fn google_speaks_the_first_kind_of_s3() {
    let clouds = Clouds::start().await;
    let mut bucket = clouds.open(s3("storage.googleapis.com", "auto"));
    assert_eq!(keys(&mut bucket).await, ["a", "b"]);
}

#[tokio::test]
async fn google_itself() {
    let clouds = Clouds::start().await;
    let mut bucket = clouds.open(Service::Gcs(GcsService { emulator: None, token: Some("token".into()) }));
    assert_eq!(keys(&mut bucket).await, ["a"]);
    let listed = clouds.asked.lock().clone();
    assert_eq!(listed, ["GET storage.googleapis.com/storage/v1/b/apps/o"; 2]);
}
