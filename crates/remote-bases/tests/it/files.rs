//! Single files over HTTP.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use weir_kustomize::MAX_FILE;
use weir_testkit::Server;

use crate::{built, config_map, resource};

async fn server() -> (Server, String) {
    let moved = || async { (StatusCode::FOUND, [(header::LOCATION, "/f.yaml")]).into_response() };
    let app = Router::new()
        .route("/f.yaml", get(|| async { config_map("file", "1") }))
        .route("/moved", get(moved))
        .route("/large", get(|| async { vec![b'#'; 1 + usize::try_from(MAX_FILE).unwrap()] }))
        .route("/teapot", get(|| async { StatusCode::IM_A_TEAPOT }))
        .route("/patch.yaml", get(|| async { config_map("file", "patched") }));
    let server = Server::start(app, None).await.unwrap();
    let url = format!("http://{}", server.address());
    (server, url)
}

#[tokio::test]
async fn a_file_is_fetched_wherever_it_moved() {
    let (_server, url) = server().await;
    assert_eq!(resource(&format!("{url}/f.yaml")).await.unwrap(), config_map("file", "1"));
    assert_eq!(resource(&format!("{url}/moved")).await.unwrap(), config_map("file", "1"));
    let patched = format!("resources: ['{url}/f.yaml']\npatches: [{{path: '{url}/patch.yaml'}}]\n");
    assert_eq!(built(&patched).await.unwrap(), config_map("file", "patched"));
}

#[tokio::test]
async fn a_file_that_cannot_be_had_is_told() {
    let (_server, url) = server().await;
    for (reference, wanted) in [
        (format!("{url}/none.yaml"), "': HTTP Error: status code 404 (Not Found)".to_owned()),
        (format!("{url}/teapot"), "': HTTP Error: status code 418 (I'm a teapot)".to_owned()),
        (
            format!("{url}/a/none.yaml"),
            format!(
                "': URL is a git repository': failed to fetch '{url}/a/none.yaml' at 'HEAD': repository not found"
            ),
        ),
        (
            format!("{url}/large"),
            format!("'{url}/large' is larger than the {MAX_FILE} bytes that are fetched"),
        ),
        (
            "http://127.0.0.1:1/x".to_owned(),
            "Get \"http://127.0.0.1:1/x\": dial tcp 127.0.0.1:1: connect: connection refused".to_owned(),
        ),
    ] {
        let error = resource(&reference).await.unwrap_err();
        assert!(error.contains(&wanted), "{error}");
    }
}
