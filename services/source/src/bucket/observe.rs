//! Observes a bucket: its existence, its ignore file, its list of objects (SRC-BKT-1, SRC-BKT-8).

use std::future::Future;

use tokio::time::{Instant, timeout_at};
use weir_api::Bucket;
use weir_bucket::{Error, Object};
use weir_ignore::{IGNORE_FILE, MAX_IGNORE_BYTES};

use super::decide::{self, Index};
use crate::source::{Failure, Source};

/// The index of the bucket, of at most `max_objects` entries, in one `timeout` altogether.
pub(super) async fn index(
    bucket: &mut weir_bucket::Bucket,
    object: &Bucket,
    max_objects: usize,
) -> Result<Index, Failure> {
    let (spec, deadline) = (&object.spec, Instant::now() + object.timeout());
    let name = &spec.bucket_name;
    let exists = in_time(deadline, bucket.exists())
        .await
        .map_err(|error| error.failure(format!("failed to confirm existence of '{name}' bucket: {error}")))?;
    if !exists {
        return Err(decide::failed(format!("bucket '{name}' not found")));
    }
    let ignore_file = in_time(deadline, ignore_file(bucket))
        .await
        .map_err(|error| error.failure(format!("failed to get Etag for '{IGNORE_FILE}' object: {error}")))?;
    let prefix = spec.prefix.as_deref().unwrap_or_default();
    let listed = in_time(deadline, bucket.list(prefix, max_objects)).await.map_err(|error| {
        error.failure(format!(
            "indexation of objects from bucket '{name}' failed: listing objects from bucket '{name}' failed: {error}"
        ))
    })?;
    Ok(Index::of(listed, &decide::matcher(ignore_file.as_deref(), spec.ignore.as_deref())))
}

/// The ignore file in the root of the bucket, whatever the prefix.
async fn ignore_file(bucket: &weir_bucket::Bucket) -> Result<Option<String>, Error> {
    match bucket.get(&Object::newest(IGNORE_FILE), MAX_IGNORE_BYTES as u64).await? {
        Some(download) => download.read().await.map(|text| Some(String::from_utf8_lossy(&text).into_owned())),
        None => Ok(None),
    }
}

/// The reason that an operation has no result.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error(transparent)]
    Failed(#[from] Error),
    #[error("context deadline exceeded")]
    Late,
}

impl Unanswered {
    fn failure(&self, message: String) -> Failure {
        let asked = match self {
            Self::Failed(error) => error.retry_after(),
            Self::Late => None,
        };
        decide::failed(message).after(asked)
    }
}

/// An operation's result, if it comes before the deadline.
async fn in_time<T>(
    deadline: Instant,
    operation: impl Future<Output = Result<T, Error>>,
) -> Result<T, Unanswered> {
    timeout_at(deadline, operation).await.map_err(|_| Unanswered::Late)?.map_err(Unanswered::from)
}
