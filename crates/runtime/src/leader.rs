//! Leader election on a Lease, with Flux's names and flags (FLG-02).

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::args::RuntimeArgs;
use crate::client;
use crate::environment::hostname;

/// Time to give the Lease back, whatever the flags say: the Pod is killed at the end of its grace period.
pub(crate) const RELEASE_DEADLINE: Duration = Duration::from_secs(5);

/// Timing of an election.
#[derive(Debug, Clone)]
pub struct Election {
    /// Name of the Lease.
    pub lease: String,
    /// Namespace of the Lease.
    pub namespace: String,
    /// Identity of this process, unique among replicas; the same again for a container of the same Pod.
    pub identity: String,
    /// Time that a Lease stays valid without renewal.
    pub duration: Duration,
    /// Time for which renewal is tried before leadership is given up.
    pub renew_deadline: Duration,
    /// Pause between two tries.
    pub retry_period: Duration,
    /// True when the Lease is given back on a clean stop.
    pub release: bool,
}

impl Election {
    /// The election of a service. With a label selector each shard has a Lease of its own.
    pub fn new(controller: &str, namespace: &str, args: &RuntimeArgs) -> Self {
        Self {
            lease: lease_name(controller, &args.watch_label_selector),
            namespace: namespace.to_owned(),
            identity: identity(std::env::var("RUNTIME_POD_UID").ok()),
            duration: args.leader_election_lease_duration.to_std(),
            renew_deadline: args.leader_election_renew_deadline.to_std(),
            retry_period: args.leader_election_retry_period.to_std(),
            release: args.leader_election_release_on_cancel,
        }
    }

    /// Waits until this process holds the Lease; `false` when `stop` came first.
    #[expect(clippy::disallowed_methods, reason = "an election is no run")]
    pub async fn acquire(&self, client: &kube::Client, stop: &CancellationToken) -> bool {
        let mut observed = Observed::default();
        loop {
            let held = tokio::time::timeout(self.renew_deadline, self.try_hold(client, &mut observed));
            match stop.run_until_cancelled(held).await {
                Some(Ok(Ok(true))) => return true,
                Some(Ok(Ok(false))) => {}
                Some(Ok(Err(error))) if client::is_conflict(&error) => {}
                Some(Ok(Err(error))) => {
                    tracing::warn!(lease = self.lease, error = client::reason(error), "lease not readable")
                }
                Some(Err(_)) => tracing::warn!(lease = self.lease, "no answer about the lease"),
                None => {
                    // The request that nobody waits for any more may have got the Lease.
                    if self.release {
                        self.give_back(client).await;
                    }
                    return false;
                }
            }
            if stop.run_until_cancelled(tokio::time::sleep(self.retry_period)).await.is_none() {
                return false;
            }
        }
    }

    /// Holds the Lease while `work` runs, and gives it back when `work` has ended (`true`): runs that are ended still write, and must not
    /// do so beside another replica's. When the Lease is lost, `stop_work` is called, and `work` waited for (`false`).
    pub async fn hold(
        &self,
        client: &kube::Client,
        work: impl Future<Output = ()>,
        stop_work: impl FnOnce(),
    ) -> bool {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            () = &mut work => {}
            () = self.renew_until_lost(client) => {
                stop_work();
                work.await;
                return false;
            }
        }
        if self.release {
            self.give_back(client).await;
        }
        true
    }

    async fn renew_until_lost(&self, client: &kube::Client) {
        let mut observed = Observed::default();
        let mut renewed = Instant::now();
        loop {
            let end = renewed + self.renew_deadline;
            tokio::time::sleep_until(end.min(Instant::now() + self.retry_period)).await;
            // An API server that takes requests and never answers must not keep two replicas leading.
            match tokio::time::timeout_at(end, self.try_hold(client, &mut observed)).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) | Err(_) => return,
                Ok(Err(error)) => {
                    // Also when another write came first: the next try sees by whom.
                    tracing::warn!(lease = self.lease, error = client::reason(error), "lease not renewed")
                }
            }
        }
    }

    fn api(&self, client: &kube::Client) -> Api<Lease> {
        Api::namespaced(client.clone(), &self.namespace)
    }

    /// Returns false when another process holds the Lease.
    async fn try_hold(&self, client: &kube::Client, observed: &mut Observed) -> kube::Result<bool> {
        let api = self.api(client);
        let now = Timestamp::now();
        let Some(lease) = api.get_opt(&self.lease).await? else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some(self.lease.clone()), ..ObjectMeta::default() },
                spec: Some(self.held(None, now)),
            };
            return api.create(&PostParams::default(), &lease).await.map(|_| true);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let ours = spec.holder_identity.as_deref() == Some(self.identity.as_str());
        if !ours && !observed.expired(&spec) {
            return Ok(false);
        }
        let lease = Lease { spec: Some(self.held(Some(&spec), now)), ..lease };
        api.replace(&self.lease, &PostParams::default(), &lease).await.map(|_| true)
    }

    fn held(&self, before: Option<&LeaseSpec>, now: Timestamp) -> LeaseSpec {
        let ours = before.is_some_and(|spec| spec.holder_identity.as_deref() == Some(self.identity.as_str()));
        let transitions = before.and_then(|spec| spec.lease_transitions).unwrap_or_default();
        let acquired = before.filter(|_| ours).and_then(|spec| spec.acquire_time.clone());
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.duration.as_secs()).ok(),
            acquire_time: Some(acquired.unwrap_or(MicroTime(now))),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(if ours || before.is_none() {
                transitions
            } else {
                transitions.saturating_add(1)
            }),
            ..LeaseSpec::default()
        }
    }

    /// Gives the Lease back. An API server that does not answer must not hold up the stop: then the Lease expires.
    async fn give_back(&self, client: &kube::Client) {
        let deadline = self.retry_period.min(RELEASE_DEADLINE);
        match tokio::time::timeout(deadline, self.try_give_back(client)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(lease = self.lease, error = client::reason(error), "lease not given back")
            }
            Err(_) => tracing::warn!(lease = self.lease, "lease not given back: no answer"),
        }
    }

    async fn try_give_back(&self, client: &kube::Client) -> kube::Result<()> {
        let api = self.api(client);
        let lease = api.get(&self.lease).await?;
        let Some(mut spec) = lease.spec.clone() else { return Ok(()) };
        if spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
            return Ok(());
        }
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        let lease = Lease { spec: Some(spec), ..lease };
        api.replace(&self.lease, &PostParams::default(), &lease).await.map(drop)
    }
}

/// Another replica's Lease as last seen. Its age is measured from when *we* saw it change, so that clocks of hosts need
/// not agree.
#[derive(Default)]
struct Observed {
    record: Option<(Option<String>, Option<MicroTime>)>,
    since: Option<Instant>,
}

impl Observed {
    fn expired(&mut self, spec: &LeaseSpec) -> bool {
        if spec.holder_identity.as_deref().unwrap_or_default().is_empty() {
            return true;
        }
        let record = (spec.holder_identity.clone(), spec.renew_time.clone());
        if self.record.as_ref() != Some(&record) {
            self.record = Some(record);
            self.since = Some(Instant::now());
            return false;
        }
        let valid = Duration::from_secs(u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0));
        self.since.is_some_and(|since| since.elapsed() > valid)
    }
}

/// The host's name, and what no other replica has. A Pod's UID outlives its containers, which run one after the other: one that is
/// started again after a crash has the Lease at once. Elsewhere a random UUID.
fn identity(pod_uid: Option<String>) -> String {
    let unique = pod_uid.filter(|uid| !uid.is_empty()).unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    format!("{}_{unique}", hostname())
}

fn lease_name(controller: &str, selector: &str) -> String {
    if selector.is_empty() {
        return format!("{controller}-leader-election");
    }
    let digest = hex::encode(Sha256::digest(selector.as_bytes()));
    format!("{controller}-leader-election-{}", digest.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::client::Body;
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case("", "source-controller-leader-election")]
    #[case("sharding.fluxcd.io/key=shard1", "source-controller-leader-election-73fdc1be")]
    #[case("!sharding.fluxcd.io/key", "source-controller-leader-election-42da7484")]
    fn shards_have_leases_of_their_own(#[case] selector: &str, #[case] lease: &str) {
        assert_eq!(lease_name("source-controller", selector), lease);
    }

    #[test]
    fn a_container_that_is_started_again_has_the_identity_of_its_pod() {
        let of_pod = || identity(Some("uid-of-a-pod".to_owned()));
        assert_eq!(of_pod(), of_pod());
        assert!(of_pod().ends_with("_uid-of-a-pod"));
        assert_ne!(identity(None), identity(None));
        assert_ne!(identity(Some(String::new())), identity(Some(String::new())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_expires_when_it_is_not_renewed_while_we_look() {
        let spec = LeaseSpec {
            holder_identity: Some("other".into()),
            lease_duration_seconds: Some(35),
            renew_time: Some(MicroTime("2020-01-01T00:00:00Z".parse().unwrap())),
            ..LeaseSpec::default()
        };
        let mut observed = Observed::default();
        assert!(!observed.expired(&spec), "an old time stamp alone says nothing");
        tokio::time::advance(Duration::from_secs(36)).await;
        assert!(observed.expired(&spec));
    }

    /// As client-go does: another write to the Lease is one failed try, and only another holder is a loss.
    #[tokio::test]
    async fn a_write_that_comes_between_is_no_loss() {
        let puts = Arc::new(AtomicUsize::new(0));
        let seen = puts.clone();
        let server = tower::service_fn(move |request: http::Request<Body>| {
            let tries =
                if request.method() == http::Method::PUT { seen.fetch_add(1, Ordering::SeqCst) } else { 0 };
            let holder = if seen.load(Ordering::SeqCst) > 2 { "thief" } else { "ours" };
            let (code, answer) = match (request.method() == http::Method::PUT, tries) {
                (true, 0) => {
                    (409, json!({ "kind": "Status", "code": 409, "message": "", "reason": "Conflict" }))
                }
                _ => (200, json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": holder } })),
            };
            let body = Body::from(serde_json::to_vec(&answer).unwrap());
            async move { Ok::<_, Infallible>(http::Response::builder().status(code).body(body).unwrap()) }
        });
        let election = Election {
            lease: "l".into(),
            namespace: "n".into(),
            identity: "ours".into(),
            duration: Duration::from_secs(60),
            renew_deadline: Duration::from_secs(60),
            retry_period: Duration::from_millis(1),
            release: false,
        };
        election.renew_until_lost(&kube::Client::new(server, "default")).await;
        assert_eq!(puts.load(Ordering::SeqCst), 3, "a conflict, two renewals, and then the thief");
    }

    /// Another replica may lead from the deadline on.
    #[tokio::test(start_paused = true)]
    async fn a_leader_that_cannot_renew_ends_at_its_deadline() {
        let server = tower::service_fn(|_: http::Request<Body>| async {
            let answer = json!({ "kind": "Status", "code": 403, "message": "", "reason": "Forbidden" });
            let body = Body::from(serde_json::to_vec(&answer).unwrap());
            Ok::<_, Infallible>(http::Response::builder().status(403).body(body).unwrap())
        });
        let election = Election {
            lease: "l".into(),
            namespace: "n".into(),
            identity: "ours".into(),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(8),
            release: false,
        };
        let began = Instant::now();
        election.renew_until_lost(&kube::Client::new(server, "default")).await;
        assert_eq!(began.elapsed().as_secs(), 10);
    }

    #[test]
    fn a_released_lease_is_free_at_once() {
        let spec = LeaseSpec { holder_identity: Some(String::new()), ..LeaseSpec::default() };
        assert!(Observed::default().expired(&spec));
    }
}
