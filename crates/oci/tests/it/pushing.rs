//! Writing to a registry.

use std::io::Write;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{head, post};
use tokio::task::JoinSet;
use weir_artifact::{Algorithm, Digest};
use weir_oci::{Descriptor, Error};
use weir_testkit::{Fault, FaultProxy, Registry};

use crate::{insecure, open};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

#[tokio::test]
async fn what_is_pushed_can_be_read_and_tagged() {
    let registry = Registry::start().await.unwrap();
    let mut handle = open(registry.address(), "app", insecure()).for_pushes();
    let config = handle.push_blob("application/json", "{}".into()).await.unwrap();
    let layer = handle.push_blob("text/plain", "layer".into()).await.unwrap();
    assert_eq!(handle.push_blob("text/plain", "layer".into()).await.unwrap(), layer);
    let entry = |it: &weir_oci::Descriptor| serde_json::json!({ "mediaType": it.media_type, "size": it.size, "digest": it.digest.to_string() });
    let manifest = serde_json::json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": entry(&config), "layers": [entry(&layer)],
    });
    let digest = handle.push_manifest("v1", MANIFEST, manifest.to_string().into()).await.unwrap();
    let (media_type, raw) = handle.raw_manifest("v1").await.unwrap();
    assert_eq!((media_type.as_str(), raw.as_ref()), (MANIFEST, manifest.to_string().as_bytes()));
    handle.push_manifest("latest", &media_type, raw).await.unwrap();
    assert_eq!(handle.resolve("latest").await.unwrap(), digest);
    assert_eq!(handle.manifest(&digest).await.unwrap().layers, [layer]);
}

/// CLI-ART03: a layer is as large as it is, and goes on its way from the disk; what is tried again begins anew.
#[tokio::test]
async fn a_file_is_pushed_piece_by_piece() {
    let registry = Registry::start().await.unwrap();
    let proxy = FaultProxy::http(registry.address()).await.unwrap();
    let mut handle = open(&proxy.address(), "app", insecure()).for_pushes();
    let content: Vec<u8> = (0..700_001_u32).flat_map(u32::to_le_bytes).collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&content).unwrap();
    let size = content.len() as u64;
    let digest = Digest::of(Algorithm::Sha256, &content);
    let layer = Descriptor { media_type: "text/plain".to_owned(), digest, size };
    proxy.set_for("PUT", 1, Fault::Status(503, None));
    handle.push_file(&layer, file.try_clone().unwrap()).await.unwrap();
    handle.push_file(&layer, file).await.unwrap();
    let (mut blob, mut pulled) = (handle.blob(&layer).await.unwrap(), Vec::new());
    while let Some(piece) = blob.next().await.unwrap() {
        pulled.extend_from_slice(&piece);
    }
    assert!(pulled == content, "{} bytes", pulled.len());
}

/// The credentials of an upload are for the registry, and no answer leads them elsewhere.
#[tokio::test]
async fn an_upload_stays_at_its_registry() {
    let elsewhere = [(header::LOCATION, "https://example.com/upload")];
    let routes =
        Router::new().route("/v2/app/blobs/{digest}", head(|| async { StatusCode::NOT_FOUND })).route(
            "/v2/app/blobs/uploads/",
            post(move || async move { (StatusCode::ACCEPTED, elsewhere).into_response() }),
        );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    let mut handle = open(&address, "app", insecure()).for_pushes();
    let error = handle.push_blob("text/plain", "layer".into()).await.unwrap_err();
    assert!(matches!(&error, Error::Upload { next, .. } if next.contains("example.com")), "{error}");
}
