use std::sync::Arc;

use kube::Client;

use crate::{Ledger, Mapper, ObjectId, Watches};

/// A cluster as one identity: every request of an apply, a prune or a health check goes through its client, and there
/// is no way from it to another one.
#[derive(Clone)]
pub struct Session {
    pub(crate) client: Client,
    pub(crate) mapper: Arc<Mapper>,
    pub(crate) watched: Option<(Arc<Ledger>, Watches)>,
    pub(crate) step: fn(&'static str),
    /// Nothing where it is the cluster's own user.
    pub(crate) user: Option<String>,
}

impl Session {
    /// A session in a cluster whose objects are watched.
    pub fn watched(client: Client, mapper: Arc<Mapper>, ledger: Arc<Ledger>, watches: Watches) -> Self {
        Self { client, mapper, watched: Some((ledger, watches)), step: |_| {}, user: None }
    }

    /// A session in a cluster of which nothing is known but by asking.
    pub fn unwatched(client: Client, mapper: Arc<Mapper>) -> Self {
        Self { client, mapper, watched: None, step: |_| {}, user: None }
    }

    /// Calls `step` with the name of each step that leaves something in the cluster; tests end the process there.
    #[must_use]
    pub fn stepping(self, step: fn(&'static str)) -> Self {
        Self { step, ..self }
    }

    /// Names the user of the client. An object that one user has applied is tried again by another, who may have no right to it.
    #[must_use]
    pub fn acting_as(self, user: Option<&str>) -> Self {
        Self { user: user.map(str::to_owned), ..self }
    }

    /// Returns true when an object lacks the namespace that its kind needs (KS-HC-11). A kind that is not known needs
    /// none.
    pub async fn lacks_namespace(&self, id: &ObjectId) -> bool {
        let is_namespaced =
            self.mapper.preferred(&id.group, &id.kind).await.is_ok_and(|found| found.is_namespaced);
        is_namespaced && id.namespace.is_empty()
    }

    /// The ledger, if the cluster is watched.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.watched.as_ref().map(|(ledger, _)| ledger.as_ref())
    }
}
