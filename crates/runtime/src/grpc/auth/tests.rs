use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::{Request as HttpRequest, Response, StatusCode};
use kube::client::Body;
use parking_lot::Mutex;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

/// The requests to the API server: paths, and specs of reviews.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A token that says whom it is for.
fn token(audience: &str) -> String {
    use base64::Engine;
    let claims = json!({"aud": [audience]}).to_string();
    format!("Bearer e30.{}.c2ln", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(claims))
}

fn access() -> Access {
    Access {
        verb: "get",
        group: "source.toolkit.fluxcd.io".to_owned(),
        resource: "gitrepositories".to_owned(),
        namespace: "apps".to_owned(),
        name: "web".to_owned(),
    }
}

/// An authorizer whose API server answers reviews of tokens with `status`, and allows everything.
fn authorizer(status: Value) -> (Authorizer, Asked) {
    authorizer_with(status, |_| true)
}

/// An authorizer whose API server allows what `allows` says of the attributes.
fn authorizer_with(status: Value, allows: fn(&Value) -> bool) -> (Authorizer, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let server = tower::service_fn(move |request: HttpRequest<Body>| {
        let (log, status) = (Arc::clone(&log), status.clone());
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            let is_token = path.ends_with("/tokenreviews");
            log.lock().push((path, review["spec"].clone()));
            let allowed = allows(&review["spec"]["resourceAttributes"]);
            review["status"] = if is_token { status } else { json!({"allowed": allowed}) };
            Ok::<_, Infallible>(Response::new(Body::from(serde_json::to_vec(&review).unwrap())))
        }
    });
    (Authorizer::new(kube::Client::new(server, "default"), Peers::in_process()), asked)
}

fn user() -> Value {
    json!({"username": "system:serviceaccount:apps:web", "uid": "u-1", "groups": ["g"],
        "extra": {"authentication.kubernetes.io/pod-name": ["web-0"]}})
}

/// An authorizer of the cluster may decide by any of it.
#[tokio::test]
async fn the_whole_identity_is_reviewed() {
    let status = json!({"authenticated": true, "user": user()});
    let (authorizer, asked) = authorizer(status);
    let header = token("kubernetes");
    authorizer.allow_bearer(Some(&header), access()).await.unwrap();
    let shown = header.trim_start_matches("Bearer ");
    let attributes = json!({"verb": "get", "group": "source.toolkit.fluxcd.io", "resource": "gitrepositories",
        "namespace": "apps", "name": "web"});
    assert_eq!(
        *asked.lock(),
        [
            ("/apis/authentication.k8s.io/v1/tokenreviews".to_owned(), json!({"token": shown})),
            (
                "/apis/authorization.k8s.io/v1/subjectaccessreviews".to_owned(),
                json!({"user": "system:serviceaccount:apps:web", "uid": "u-1", "groups": ["g"],
                    "extra": {"authentication.kubernetes.io/pod-name": ["web-0"]},
                    "resourceAttributes": attributes})
            ),
        ]
    );
}

#[rstest]
#[case::everywhere(|asked: &Value| asked["namespace"].is_null(), 1)]
#[case::in_the_namespace(|asked: &Value| asked["namespace"] == "apps" && asked["name"].is_null(), 2)]
#[case::the_one_object(|asked: &Value| asked["name"] == "web", 3)]
#[tokio::test]
async fn services_are_reviewed_for_all_objects_first(
    #[case] allows: fn(&Value) -> bool,
    #[case] reviews: usize,
) {
    let status = json!({"authenticated": true, "audiences": ["weir"], "user": user()});
    let (authorizer, log) = authorizer_with(status, allows);
    let header = token("weir");
    for _ in 0..2 {
        authorizer.allow_bearer(Some(&header), access()).await.unwrap();
    }
    assert_eq!(log.lock().len(), 1 + reviews, "a review of the token, then these; all are remembered");
    let other = Access { namespace: "other".to_owned(), name: "x".to_owned(), ..access() };
    let is_allowed = authorizer.allow_bearer(Some(&header), other).await.is_ok();
    assert_eq!(is_allowed, reviews == 1);
}

#[rstest]
#[case::for_services("weir", json!(["weir"]), json!(["weir"]), true)]
#[case::for_services_at_a_server_without_audiences("weir", json!(["weir"]), Value::Null, false)]
#[case::for_services_says_the_token_alone("weir", json!(["weir"]), json!(["vault"]), false)]
#[case::of_people("https://kubernetes.default.svc", Value::Null, json!(["https://kubernetes.default.svc"]), true)]
#[case::of_people_at_a_server_without_audiences("kubernetes", Value::Null, Value::Null, true)]
#[tokio::test]
async fn the_answered_audiences_count(
    #[case] claimed: &str,
    #[case] asked: Value,
    #[case] answered: Value,
    #[case] is_known: bool,
) {
    let status = json!({"authenticated": true, "audiences": answered, "user": user()});
    let (authorizer, log) = authorizer(status);
    let identity = authorizer.identify_bearer(Some(&token(claimed))).await;
    assert_eq!(log.lock()[0].1["audiences"], asked);
    assert_eq!(identity.is_ok(), is_known, "{identity:?}");
}

/// Nobody is let in while a review is not answered, and that is not remembered as an answer.
#[rstest]
#[case::of_the_token("/tokenreviews")]
#[case::of_the_right("/subjectaccessreviews")]
#[tokio::test]
async fn security_a_review_that_is_not_answered_refuses(#[case] unanswered: &'static str) {
    let is_away = Arc::new(AtomicBool::new(true));
    let away = Arc::clone(&is_away);
    let server = tower::service_fn(move |request: HttpRequest<Body>| {
        let away = away.load(Ordering::SeqCst) && request.uri().path().ends_with(unanswered);
        async move {
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            review["status"] = json!({"authenticated": true, "user": user(), "allowed": true});
            let status = if away { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::CREATED };
            let answer = Response::builder().status(status);
            Ok::<_, Infallible>(answer.body(Body::from(serde_json::to_vec(&review).unwrap())).unwrap())
        }
    });
    let authorizer = Authorizer::new(kube::Client::new(server, "default"), Peers::in_process());
    let header = token("kubernetes");
    let refused = authorizer.allow_bearer(Some(&header), access()).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unavailable, "{refused}");
    is_away.store(false, Ordering::SeqCst);
    authorizer.allow_bearer(Some(&header), access()).await.unwrap();
}

#[tokio::test]
async fn a_token_of_nobody_is_asked_about_once() {
    let (authorizer, asked) = authorizer(json!({"authenticated": false}));
    for _ in 0..3 {
        let refused = authorizer.allow_bearer(Some(&token("kubernetes")), access()).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::Unauthenticated);
    }
    assert_eq!(asked.lock().len(), 1);
}

#[tokio::test]
async fn security_few_tokens_are_reviewed_at_once() {
    let (begun, answers) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let (counted, gate) = (Arc::clone(&begun), Arc::clone(&answers));
    let server = tower::service_fn(move |_: HttpRequest<Body>| {
        let (counted, gate) = (Arc::clone(&counted), Arc::clone(&gate));
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
            gate.acquire().await.unwrap().forget();
            let review = json!({"spec": {}, "status": {"authenticated": false}});
            Ok::<_, Infallible>(Response::new(Body::from(serde_json::to_vec(&review).unwrap())))
        }
    });
    let authorizer = Authorizer::new(kube::Client::new(server, "default"), Peers::in_process());
    let strangers = (0..3 * REVIEWS_AT_ONCE).map(|number| token(&number.to_string()));
    let refused = futures::future::join_all(strangers.map(|token| {
        let authorizer = authorizer.clone();
        async move { authorizer.identify_bearer(Some(&token)).await.unwrap_err().code() }
    }));
    let watched = async {
        while begun.load(Ordering::SeqCst) < REVIEWS_AT_ONCE {
            tokio::task::yield_now().await;
        }
        // Time enough for those that would not wait.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(begun.load(Ordering::SeqCst), REVIEWS_AT_ONCE);
        answers.add_permits(3 * REVIEWS_AT_ONCE);
    };
    let (refused, ()) = tokio::join!(refused, watched);
    assert_eq!(refused, [tonic::Code::Unauthenticated; 3 * REVIEWS_AT_ONCE]);
}
