use std::sync::Arc;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};

use crate::{Ledger, Mapper, ObjectId, Watches};

/// A cluster as one identity: every request of an apply, a prune or a health check goes through its client, and there
/// is no way from it to another one.
#[derive(Clone)]
pub struct Session {
    pub(crate) client: Client,
    pub(crate) mapper: Arc<Mapper>,
    pub(crate) watched: Option<(Arc<Ledger>, Watches)>,
    pub(crate) kill_point: fn(&'static str),
    /// Nothing where it is the cluster's own user.
    pub(crate) user: Option<String>,
}

impl Session {
    /// A session in a cluster whose objects are watched.
    pub fn watched(client: Client, mapper: Arc<Mapper>, ledger: Arc<Ledger>, watches: Watches) -> Self {
        Self { client, mapper, watched: Some((ledger, watches)), kill_point: |_| {}, user: None }
    }

    /// A session in a cluster of which nothing is known but by asking.
    pub fn unwatched(client: Client, mapper: Arc<Mapper>) -> Self {
        Self { client, mapper, watched: None, kill_point: |_| {}, user: None }
    }

    /// Calls `kill_point` with a name wherever something has just been left in the cluster, or is about to be; tests end the process there.
    #[must_use]
    pub fn stepping(self, kill_point: fn(&'static str)) -> Self {
        Self { kill_point, ..self }
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

    /// Asks the server if the user may apply an object, or without a name any object of that kind and namespace; true where there is
    /// no answer.
    pub async fn may_apply(&self, id: &ObjectId) -> bool {
        let Ok(mapping) = self.mapper.preferred(&id.group, &id.kind).await else { return true };
        let attributes = ResourceAttributes {
            group: Some(id.group.clone()),
            name: Some(id.name.clone()).filter(|name| !name.is_empty()),
            namespace: Some(id.namespace.clone()),
            resource: Some(mapping.resource.plural.clone()),
            verb: Some("patch".to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        };
        let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
        let reviews = Api::<SelfSubjectAccessReview>::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        answer.ok().and_then(|answer| answer.status).is_none_or(|status| status.allowed)
    }

    /// The ledger, if the cluster is watched.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.watched.as_ref().map(|(ledger, _)| ledger.as_ref())
    }
}
