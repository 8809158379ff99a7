//! Authentication and authorization of callers: TokenReview and SubjectAccessReview, remembered briefly.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api, PostParams};
use moka::future::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tonic::{Request, Status};
use weir_api::FluxObject;

use super::Peers;
use super::token::{AUDIENCE, audiences};
use crate::cache::ObjectKey;
use crate::client;

/// Time for which an answer of the API server is used again: a revoked right may outlive its revocation by it.
const REMEMBERED: Duration = Duration::from_secs(30);

/// Answers remembered; callers are few, the objects of their requests may be many.
const CAPACITY: u64 = 4096;

/// Tokens that the API server is asked about at once: strangers may send many, which must not keep it from its work.
const REVIEWS_AT_ONCE: usize = 8;

/// Longest token taken, in bytes; service account tokens have about one KiB.
const MAX_TOKEN: usize = 16 * 1024;

/// A caller that the API server knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// User name, such as `system:serviceaccount:apps:deployer`.
    pub user: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Unique identifier of the user; accounts of the same name differ by it.
    pub uid: Option<String>,
    /// Fields that the authenticator adds, such as the Pod of a ServiceAccount; authorizers of the cluster may decide by them.
    pub extra: BTreeMap<String, Vec<String>>,
    caller: Caller,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Caller {
    /// One of our own services in this process.
    Own,
    /// A service, by a token for services.
    Service,
    /// Anyone else.
    Other,
}

/// The access that a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Access {
    /// Verb, such as `get`.
    pub verb: &'static str,
    /// API group.
    pub group: String,
    /// Plural resource.
    pub resource: String,
    /// Namespace; empty asks for all of them.
    pub namespace: String,
    /// Name; empty asks for all of them.
    pub name: String,
}

impl Access {
    /// Returns the access to an object of a kind; an empty name or namespace in the key stands for all of them.
    pub fn to<K: FluxObject>(verb: &'static str, key: &ObjectKey) -> Self {
        Self {
            verb,
            group: K::GROUP.to_owned(),
            resource: K::PLURAL.to_owned(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        }
    }

    /// Returns the same in all namespaces, the same for all names of the namespace, and this access itself.
    fn widest_first(&self) -> Vec<Self> {
        let of_namespace = Self { name: String::new(), ..self.clone() };
        let of_all = Self { namespace: String::new(), ..of_namespace.clone() };
        let mut all = vec![of_all, of_namespace, self.clone()];
        all.dedup();
        all
    }
}

/// Checks callers; clones share what is remembered.
#[derive(Clone)]
pub struct Authorizer {
    inner: Arc<Inner>,
}

struct Inner {
    client: kube::Client,
    peers: Peers,
    /// Whose a token is, by its hash.
    identities: Cache<[u8; 32], Option<Identity>>,
    decisions: Cache<(Identity, Access), bool>,
    reviews: Arc<Semaphore>,
}

impl Authorizer {
    /// Makes an authorizer that asks the API server.
    pub fn new(client: kube::Client, peers: Peers) -> Self {
        Self::remembering(client, peers, REMEMBERED)
    }

    /// As [`Authorizer::new`], with answers that hold for `span` instead of 30 s.
    pub fn remembering(client: kube::Client, peers: Peers, span: Duration) -> Self {
        let identities = Cache::builder().max_capacity(CAPACITY).time_to_live(span).build();
        let decisions = Cache::builder().max_capacity(CAPACITY).time_to_live(span).build();
        let reviews = Arc::new(Semaphore::new(REVIEWS_AT_ONCE));
        Self { inner: Arc::new(Inner { client, peers, identities, decisions, reviews }) }
    }

    /// Lets the caller through if its token is valid and its RBAC allows the access.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED` without a valid token, `PERMISSION_DENIED` without the right, `UNAVAILABLE` when the API server
    /// does not answer (fails closed).
    pub async fn allow<T>(&self, request: &Request<T>, access: Access) -> Result<Identity, Status> {
        self.allow_bearer(authorization(request), access).await
    }

    /// As [`Authorizer::allow`], for who gives this as `Authorization` over HTTP.
    ///
    /// # Errors
    ///
    /// As [`Authorizer::allow`].
    pub async fn allow_bearer(&self, header: Option<&str>, access: Access) -> Result<Identity, Status> {
        let identity = self.identify_bearer(header).await?;
        if self.may(&identity, access.clone()).await? {
            return Ok(identity);
        }
        let Access { verb, group, resource, namespace, name } = access;
        let target = [namespace, name].join("/");
        Err(Status::permission_denied(format!(
            "user '{}' may not {verb} {resource}.{group} {target}",
            identity.user
        )))
    }

    /// Finds out who calls.
    ///
    /// # Errors
    /// `Unauthenticated` without a valid token, `Unavailable` when nobody can check it.
    pub async fn identify<T>(&self, request: &Request<T>) -> Result<Identity, Status> {
        self.identify_bearer(authorization(request)).await
    }

    /// Boxed, as [`Authorizer::may`] is, so that it is compiled here, and not once more in each service (docs/adr/0021).
    fn identify_bearer<'a>(&'a self, header: Option<&'a str>) -> BoxFuture<'a, Result<Identity, Status>> {
        Box::pin(self.owner_of(header))
    }

    async fn owner_of(&self, header: Option<&str>) -> Result<Identity, Status> {
        let token =
            header.and_then(|value| value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ")));
        let token = token.filter(|token| token.len() <= MAX_TOKEN).ok_or_else(|| {
            Status::unauthenticated("a Kubernetes token is needed: 'authorization: Bearer <token>'")
        })?;
        if self.inner.peers.is_process_secret(token) {
            let (groups, extra) = (Vec::new(), BTreeMap::new());
            return Ok(Identity { user: "weir".to_owned(), groups, uid: None, extra, caller: Caller::Own });
        }
        let key: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let review = self.inner.identities.try_get_with(key, self.review(token)).await;
        let owner = review.map_err(|status| (*status).clone())?;
        owner.ok_or_else(|| Status::unauthenticated("the token is not valid for this cluster"))
    }

    /// Returns true when RBAC lets the caller do that. Services read many objects of a kind and may read all of them as a rule, so that
    /// one question is enough for all.
    ///
    /// # Errors
    /// `Unavailable` when the API server does not answer.
    pub fn may<'a>(&'a self, identity: &'a Identity, access: Access) -> BoxFuture<'a, Result<bool, Status>> {
        Box::pin(self.decide(identity, access))
    }

    async fn decide(&self, identity: &Identity, access: Access) -> Result<bool, Status> {
        if identity.caller == Caller::Own {
            return Ok(true);
        }
        let questions = match identity.caller {
            Caller::Service => access.widest_first(),
            Caller::Own | Caller::Other => vec![access],
        };
        for access in questions {
            let asked = self.ask(identity.clone(), access.clone());
            let decided = self.inner.decisions.try_get_with((identity.clone(), access), asked).await;
            if decided.map_err(|status| (*status).clone())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Asks the API server whose token it is. One that says to be for services is reviewed as such; any other must be for
    /// the API server itself, as those of people are, so that tokens for third parties open nothing here. `None` for a token of
    /// nobody, which is remembered too.
    async fn review(&self, token: &str) -> Result<Option<Identity>, Status> {
        let _turn =
            self.inner.reviews.acquire().await.map_err(|_| Status::unavailable("the service stops"))?;
        let is_for_services = audiences(token).iter().any(|audience| audience == AUDIENCE);
        let asked = is_for_services.then(|| vec![AUDIENCE.to_owned()]);
        let review = TokenReview {
            spec: TokenReviewSpec { token: Some(token.to_owned()), audiences: asked.clone() },
            ..TokenReview::default()
        };
        let api: Api<TokenReview> = Api::all(self.inner.client.clone());
        let review = api.create(&PostParams::default(), &review).await.map_err(unavailable)?;
        let status = review.status.unwrap_or_default();
        let answered = status.audiences.unwrap_or_default();
        // An API server that knows no audiences answers with none, and would take any token.
        let is_for_us = asked.into_iter().flatten().all(|audience| answered.contains(&audience));
        let user = status.user.filter(|_| status.authenticated == Some(true) && is_for_us);
        Ok(user.map(|user| Identity {
            user: user.username.unwrap_or_default(),
            groups: user.groups.unwrap_or_default(),
            uid: user.uid,
            extra: user.extra.unwrap_or_default(),
            caller: if is_for_services { Caller::Service } else { Caller::Other },
        }))
    }

    async fn ask(&self, identity: Identity, access: Access) -> Result<bool, Status> {
        let attributes = ResourceAttributes {
            verb: Some(access.verb.to_owned()),
            group: Some(access.group),
            resource: Some(access.resource),
            namespace: Some(access.namespace).filter(|namespace| !namespace.is_empty()),
            name: Some(access.name).filter(|name| !name.is_empty()),
            ..ResourceAttributes::default()
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(identity.user),
                groups: Some(identity.groups),
                uid: identity.uid,
                extra: Some(identity.extra),
                resource_attributes: Some(attributes),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.inner.client.clone());
        let review = api.create(&PostParams::default(), &review).await.map_err(unavailable)?;
        Ok(review.status.is_some_and(|status| status.allowed))
    }
}

fn unavailable(error: kube::Error) -> Status {
    tracing::warn!(error = client::reason(error), "the API server did not review a caller");
    Status::unavailable("the API server did not review the caller; try again")
}

fn authorization<T>(request: &Request<T>) -> Option<&str> {
    request.metadata().get("authorization").and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests;
