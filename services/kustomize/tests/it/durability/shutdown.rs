//! Asked to stop in the middle of an apply: the run in flight ends first, and what hangs holds nobody up.

use std::time::{Duration, Instant};

use weir_testkit::Fault;

use crate::process::Service;
use crate::world::PATIENCE;

/// A write by server-side apply; dry runs say so behind the manager.
const APPLY: &str = "fieldManager=kustomize-controller&force=true HTTP";

/// Runs in flight have 20 s (`STOP_DEADLINE` of the runtime); the rest is for a busy machine.
const STOP: Duration = Duration::from_secs(45);

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_in_flight_is_finished_and_written_down() {
    let (mut service, proxy) = Service::behind_proxy().await;
    let first = service.publish("src", 1, &["a", "b", "c"]).await;
    proxy.set_for(APPLY, 1, Fault::Delay(Duration::from_secs(1)));
    service.declare("app", "src").await;
    service.start();
    proxy.wait_for(APPLY, 1, PATIENCE).await.unwrap();
    let status = service.process().stop(STOP).await.unwrap();
    assert!(status.success(), "{status}: {}", service.process().log_tail());
    service.holds("app", &first).await;

    let second = service.publish("src", 2, &["a", "d"]).await;
    service.start();
    service.holds("app", &second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_hangs_does_not_outlive_the_deadline() {
    let (mut service, proxy) = Service::behind_proxy().await;
    let first = service.publish("src", 1, &["a", "b"]).await;
    proxy.set_for(APPLY, 1, Fault::StallAfter(0));
    service.declare("app", "src").await;
    service.start();
    proxy.wait_for(APPLY, 1, PATIENCE).await.unwrap();
    let since = Instant::now();
    let status = service.process().stop(STOP).await.unwrap();
    assert!(since.elapsed() > Duration::from_secs(10), "the run in flight was given time");
    assert!(status.success(), "{status}: {}", service.process().log_tail());

    let second = service.publish("src", 2, &["c"]).await;
    proxy.set(Fault::None);
    service.start();
    service.holds("app", &second).await;
    assert!(
        !second.objects.keys().any(|id| first.objects.contains_key(id)),
        "nothing of the first is wanted"
    );
}
