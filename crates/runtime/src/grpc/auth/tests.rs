use http::Response;
use kube::client::Body;
use rstest::rstest;
use serde_json::{Value, json};
use tower_test::mock::Handle;

use super::*;

type Server = Handle<http::Request<Body>, Response<Body>>;

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

/// Answers one request of the authorizer; returns the path and the spec that was asked about.
async fn answer(server: &mut Server, status: Value) -> (String, Value) {
    let (request, answer) = server.next_request().await.unwrap();
    let path = request.uri().path().to_owned();
    let mut review: Value =
        serde_json::from_slice(&request.into_body().collect_bytes().await.unwrap()).unwrap();
    review["status"] = status;
    answer.send_response(Response::new(Body::from(serde_json::to_vec(&review).unwrap())));
    (path, review["spec"].take())
}

fn authorizer() -> (Authorizer, Server) {
    let (service, server) = tower_test::mock::pair();
    (Authorizer::new(kube::Client::new(service, "default"), Peers::in_process()), server)
}

fn user() -> Value {
    json!({"username": "system:serviceaccount:apps:web", "uid": "u-1", "groups": ["g"],
        "extra": {"authentication.kubernetes.io/pod-name": ["web-0"]}})
}

/// An authorizer of the cluster may decide by any of it.
#[tokio::test]
async fn the_whole_identity_is_reviewed() {
    let (authorizer, mut server) = authorizer();
    let header = token("weir");
    let reviews = async {
        let status = json!({"authenticated": true, "audiences": ["weir"], "user": user()});
        let (path, spec) = answer(&mut server, status).await;
        assert_eq!(path, "/apis/authentication.k8s.io/v1/tokenreviews");
        assert_eq!(spec, json!({"token": header.trim_start_matches("Bearer "), "audiences": ["weir"]}));
        let (path, spec) = answer(&mut server, json!({"allowed": true})).await;
        assert_eq!(path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
        spec
    };
    let (allowed, spec) = tokio::join!(authorizer.allow_bearer(Some(&header), access()), reviews);
    allowed.unwrap();
    assert_eq!(
        spec,
        json!({"user": "system:serviceaccount:apps:web", "uid": "u-1", "groups": ["g"],
            "extra": {"authentication.kubernetes.io/pod-name": ["web-0"]},
            "resourceAttributes": {"verb": "get", "group": "source.toolkit.fluxcd.io", "resource": "gitrepositories",
                "namespace": "apps", "name": "web"}})
    );
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
    let (authorizer, mut server) = authorizer();
    let header = token(claimed);
    let status = json!({"authenticated": true, "audiences": answered, "user": user()});
    let (identity, (_, spec)) =
        tokio::join!(authorizer.identify_bearer(Some(&header)), answer(&mut server, status));
    assert_eq!(spec["audiences"], asked);
    assert_eq!(identity.is_ok(), is_known, "{identity:?}");
}
