//! The rights of accounts, as the API server tells them.

use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use moka::sync::Cache;
use weir_api::Kustomization;
use weir_ssa::ObjectId;

use super::Cluster;

/// Time for which an answer counts. Whoever asks for all Kustomizations of a tenant at once lets many runs ask the same. A right that
/// was taken away within it is noticed by the next run that somebody asks for.
const COUNTS_FOR: Duration = Duration::from_secs(1);

/// Answers that are kept at once: each is some hundred bytes. Without room for it, a question is asked again.
const MAX_ANSWERS: u64 = 1024;

/// The right of an account to apply objects of a kind in a namespace, whatever their names.
#[derive(PartialEq, Eq, Hash)]
struct Question {
    /// Namespace and name.
    account: (String, String),
    group: String,
    kind: String,
    namespace: String,
}

/// The last answers, and those that are awaited.
pub(super) struct Rights(Cache<Question, Shared<BoxFuture<'static, bool>>>);

impl Default for Rights {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(MAX_ANSWERS).time_to_live(COUNTS_FOR).build())
    }
}

impl Cluster {
    /// Asks the API server if the account of a Kustomization may apply an object; true where there is no account or no answer.
    pub(crate) async fn may_apply(&self, kustomization: &Kustomization, id: &ObjectId) -> bool {
        let Some(account) = self.account(kustomization) else { return true };
        let namespace = kustomization.metadata.namespace.clone().unwrap_or_default();
        let question = Question {
            account: (namespace, account.to_owned()),
            group: id.group.clone(),
            kind: id.kind.clone(),
            namespace: id.namespace.clone(),
        };
        let (session, any) = (self.session(kustomization), ObjectId { name: String::new(), ..id.clone() });
        let asked = || async move { session.may_apply(&any).await }.boxed().shared();
        let may_apply_any = self.0.rights.0.get_with(question, asked).await;
        // A role may name objects.
        may_apply_any || self.session(kustomization).may_apply(id).await
    }

    /// Returns true when the ServiceAccount that a Kustomization acts as is gone from the cluster.
    pub(crate) async fn lacks_account(&self, kustomization: &Kustomization) -> bool {
        let Some(account) = self.account(kustomization) else { return false };
        let namespace = kustomization.metadata.namespace.as_deref().unwrap_or_default();
        let accounts: Api<ServiceAccount> = Api::namespaced(self.own(), namespace);
        matches!(accounts.get_metadata_opt(account).await, Ok(None))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use http::{Request, Response};
    use kube::client::Body;
    use parking_lot::Mutex;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    use super::super::Make;
    use super::*;

    /// The names that were asked for: nothing is any name.
    type Asked = Arc<Mutex<Vec<Option<String>>>>;

    /// A cluster whose API server allows to apply any ConfigMap, or only those of these names.
    fn cluster(allows_any: bool, allowed: &'static [&str]) -> (Cluster, Asked) {
        let asked = Asked::default();
        let questions = asked.clone();
        let server = tower::service_fn(move |request: Request<Body>| {
            let questions = questions.clone();
            async move {
                let answer = match request.uri().path() {
                    "/api/v1" => json!({ "kind": "APIResourceList", "groupVersion": "v1", "resources": [
                        { "name": "configmaps", "kind": "ConfigMap", "namespaced": true, "verbs": [] }] }),
                    _ => {
                        let mut review: Value =
                            serde_json::from_slice(&request.into_body().collect_bytes().await.unwrap())
                                .unwrap();
                        let name = review.pointer("/spec/resourceAttributes/name").and_then(Value::as_str);
                        let allowed = name.map_or(allows_any, |name| allowed.contains(&name));
                        questions.lock().push(name.map(str::to_owned));
                        review["status"] = json!({ "allowed": allowed });
                        review
                    }
                };
                Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes())))
            }
        });
        let make = Make {
            overridden: Vec::new(),
            default_account: None,
            shutdown: CancellationToken::new(),
            notify: Arc::new(|_, _, _| ()),
        };
        (make.cluster(kube::Client::new(server, "default"), CancellationToken::new(), None), asked)
    }

    fn kustomization(account: &str) -> Kustomization {
        serde_json::from_value(json!({
            "metadata": { "name": "app", "namespace": "apps" },
            "spec": { "interval": "1m", "prune": true, "serviceAccountName": account,
                "sourceRef": { "kind": "GitRepository", "name": "app" } },
        }))
        .unwrap()
    }

    fn config_map(name: &str) -> ObjectId {
        let [namespace, group, kind] = ["apps", "", "ConfigMap"].map(str::to_owned);
        ObjectId { namespace, name: name.to_owned(), group, kind }
    }

    #[tokio::test]
    async fn runs_of_one_account_ask_once() {
        let (cluster, asked) = cluster(true, &[]);
        for (account, name) in [("tenant", "a"), ("tenant", "b"), ("other", "a"), ("", "a")] {
            assert!(cluster.may_apply(&kustomization(account), &config_map(name)).await);
        }
        assert_eq!(*asked.lock(), [None, None], "of each account");
    }

    #[tokio::test]
    async fn a_right_may_be_one_to_an_object_of_a_name() {
        let (cluster, asked) = cluster(false, &["a"]);
        assert!(cluster.may_apply(&kustomization("tenant"), &config_map("a")).await);
        assert!(!cluster.may_apply(&kustomization("tenant"), &config_map("b")).await);
        assert_eq!(*asked.lock(), [None, Some("a".to_owned()), Some("b".to_owned())]);
    }
}
