//! `Bucket` (SRC 6).

mod access;
mod act;
mod decide;
mod download;
mod observe;

use weir_access::Secrets;
use weir_api::Bucket;
use weir_auth::Logins;
use weir_bucket::Buckets;
use weir_runtime::Cache;

use crate::source::{Attempt, Failure, SourceReconciler, Success, Wiring};
use crate::storage::Storage;

/// Keeps the artifacts of `Bucket` objects equal to what is in their buckets.
struct BucketReconciler {
    buckets: Buckets,
    secrets: Secrets,
    logins: Logins,
    storage: Storage,
    /// True when objects may act with an identity of their own.
    workload_identity: bool,
}

/// Adds the loop of Buckets.
pub(crate) fn start(wiring: &Wiring<'_>, objects: Cache<Bucket>) {
    let reconciler = BucketReconciler {
        buckets: Buckets::default(),
        secrets: wiring.secrets.clone(),
        logins: wiring.logins.clone(),
        storage: wiring.storage.clone(),
        workload_identity: wiring.workload_identity(),
    };
    wiring.control(objects, reconciler);
}

impl SourceReconciler for BucketReconciler {
    type Object = Bucket;

    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, Bucket>) -> Result<Success, Failure> {
        let mut bucket = self.open(attempt).await?;
        let index = observe::index(&mut bucket, &attempt.object, self.storage.limits().entries).await?;
        match attempt.known.as_ref().filter(|known| index.is_at(&known.revision)) {
            Some(known) => {
                let message = decide::stored_event(index.len(), &attempt.object.spec.bucket_name);
                Ok(Success::up_to_date(known.clone(), message))
            }
            None => self.act(attempt, &bucket, index).await,
        }
    }
}
