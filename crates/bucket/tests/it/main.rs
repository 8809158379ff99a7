#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Tests of weir-bucket against real servers, each of which this machine may be unable to have, and against one that
//! misbehaves.

extern crate weir_replay as libfuzzer_sys;

mod clouds;
mod directory;
mod fuzz;
mod misbehaving;
mod servers;

use weir_bucket::{AccessKeys, Bucket, Buckets, Object, S3Service, Service};
use weir_http::Profile;

/// An S3 bucket behind `endpoint`.
fn s3(endpoint: &str, bucket: &str, keys: Option<(&str, &str)>) -> Bucket {
    let keys =
        keys.map(|(id, secret)| AccessKeys { id: id.to_owned(), secret: secret.into(), session_token: None });
    let service = S3Service { endpoint: endpoint.to_owned(), region: None, insecure: true, keys };
    Buckets::default().open(bucket, Service::S3(service), &Profile::default()).unwrap()
}

/// The content of an object.
async fn content(bucket: &Bucket, object: &Object) -> Option<(String, String)> {
    let download = bucket.get(object, 1 << 20).await.unwrap()?;
    let etag = download.etag().to_owned();
    Some((String::from_utf8(download.read().await.unwrap()).unwrap(), etag))
}
