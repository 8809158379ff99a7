use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use weir_runtime::ServiceError;
use weir_runtime::args::EventsArgs;
use weir_runtime::leader::Election;
use weir_testkit::{ControlPlane, Fault, FaultProxy};

use crate::world::{DEADLINE, MarkReady, World, flags};

/// Time until a lease has another holder, or its loss is noticed: less than that after which a lease expires or has to be renewed.
const RELEASED: Duration = Duration::from_secs(20);

fn election(namespace: &str, identity: &str) -> Election {
    Election {
        lease: "source-controller-leader-election".into(),
        namespace: namespace.into(),
        identity: identity.into(),
        duration: Duration::from_secs(60),
        renew_deadline: Duration::from_secs(40),
        retry_period: Duration::from_millis(100),
        release: true,
    }
}

async fn behind_proxy(plane: &ControlPlane) -> (kube::Client, FaultProxy) {
    let upstream = plane.server().trim_start_matches("https://").trim_end_matches('/');
    let proxy = FaultProxy::tcp(upstream).await.unwrap();
    let kubeconfig =
        std::fs::read_to_string(plane.kubeconfig_path()).unwrap().replace(upstream, &proxy.address());
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    (kube::Client::try_from(config).unwrap(), proxy)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_replica_leads_as_soon_as_the_first_gives_the_lease_back() {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let namespace = plane.unique_namespace("leader").await.unwrap();
    let (first, second) = (election(&namespace, "first"), election(&namespace, "second"));
    let never = CancellationToken::new();
    assert!(first.acquire(&client, &never).await);
    let leaves_it = async || {
        let held = tokio::time::timeout(Duration::from_secs(1), second.acquire(&client, &never)).await;
        assert!(held.is_err(), "two leaders at once");
    };
    let (stop_first, draining) = (CancellationToken::new(), Notify::new());
    let work = async {
        stop_first.cancelled().await;
        // A run that was told to end is not over yet.
        draining.notified().await;
    };
    let waiting = async {
        leaves_it().await;
        stop_first.cancel();
        leaves_it().await;
        draining.notify_one();
    };
    let (kept, ()) = tokio::join!(first.hold(&client, work, || never.cancel()), waiting);
    assert!(kept);
    let taken = tokio::time::timeout(RELEASED, second.acquire(&client, &never)).await;
    assert_eq!(taken.ok(), Some(true), "a released lease must not have to expire");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_taken_by_another_is_lost() {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let namespace = plane.unique_namespace("leader").await.unwrap();
    let (first, thief) = (election(&namespace, "first"), election(&namespace, "thief"));
    let never = CancellationToken::new();
    assert!(first.acquire(&client, &never).await);
    let leases: kube::Api<k8s_openapi::api::coordination::v1::Lease> =
        kube::Api::namespaced(client.clone(), &namespace);
    let patch = serde_json::json!({ "spec": { "holderIdentity": thief.identity } });
    leases.patch(&first.lease, &Default::default(), &kube::api::Patch::Merge(patch)).await.unwrap();
    let stop_work = CancellationToken::new();
    assert!(!first.hold(&client, stop_work.cancelled(), || stop_work.cancel()).await);
}

/// Refused and unanswered requests alike: another replica leads by then.
#[rstest::rstest]
#[case::refused(&[Fault::Away])]
#[case::unanswered(&[Fault::Away, Fault::Silent])]
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_cannot_be_renewed_is_lost_after_the_deadline(#[case] faults: &[Fault]) {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.unique_namespace("leader").await.unwrap();
    let (client, proxy) = behind_proxy(plane).await;

    let election = Election { renew_deadline: Duration::from_secs(2), ..election(&namespace, "first") };
    let never = CancellationToken::new();
    assert!(election.acquire(&client, &never).await);
    for fault in faults {
        proxy.set(*fault);
    }
    let stop_work = CancellationToken::new();
    let holding = election.hold(&client, stop_work.cancelled(), || stop_work.cancel());
    let kept = tokio::time::timeout(DEADLINE, holding).await;
    assert_eq!(kept.ok(), Some(false));
}

/// A Pod that stands by is killed at the end of its grace period, too.
#[tokio::test(flavor = "multi_thread")]
async fn an_unanswered_request_for_the_lease_does_not_hold_up_the_stop() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.unique_namespace("leader").await.unwrap();
    let (client, proxy) = behind_proxy(plane).await;
    proxy.set(Fault::Silent);
    let waiting = Election { renew_deadline: Duration::from_secs(600), ..election(&namespace, "waiting") };
    let stop = CancellationToken::new();
    let (acquired, ()) =
        tokio::join!(tokio::time::timeout(Duration::from_secs(15), waiting.acquire(&client, &stop)), async {
            proxy.wait_for("", 1, DEADLINE).await.unwrap();
            stop.cancel();
        });
    assert_eq!(acquired.ok(), Some(false));
}

/// Another replica leads by then: the servers of this one, and all that it does by the way, end with its runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_whose_lease_is_taken_ends_without_delay() {
    let args = flags(&["--enable-leader-election=true", "--leader-election-retry-period=100ms"]);
    let world = World::start(args, EventsArgs::default(), MarkReady::default()).await;
    let leases: kube::Api<k8s_openapi::api::coordination::v1::Lease> =
        kube::Api::namespaced(world.env.client.clone(), &world.namespace);
    let name = "test-controller-leader-election";
    let held =
        weir_testkit::eventually("the lease", DEADLINE, async || leases.get_opt(name).await.ok().flatten());
    held.await.unwrap();
    let patch = serde_json::json!({ "spec": { "holderIdentity": "thief" } });
    leases.patch(name, &Default::default(), &kube::api::Patch::Merge(patch)).await.unwrap();
    let shutdown = world.env.shutdown.clone();
    let ended = tokio::time::timeout(RELEASED, world.ended()).await;
    assert!(matches!(ended.unwrap(), Err(ServiceError::LeaseLost(lease)) if lease == name));
    assert!(shutdown.is_cancelled());
}
