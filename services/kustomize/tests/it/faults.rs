//! An API server that drops, refuses, lies or is slow, between the service and the real one, while things are installed,
//! upgraded and pruned. The process goes on, and ends where it would have without.

use std::time::Duration;

use kube::api::DeleteParams;
use rstest::rstest;
use weir_testkit::{Fault, FaultProxy};

use crate::process::Service;
use crate::world::PATIENCE;

const DROPPED: Fault = Fault::Away;
/// The server does what it was asked for, and nobody hears of it.
const UNANSWERED: Fault = Fault::CutAfter(0);
const BUSY: Fault = Fault::Status(429, Some(1));
const BROKEN: Fault = Fault::Status(500, None);
const CONFLICT: Fault = Fault::Answer(
    409,
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the object has been modified; please apply your changes to the latest version and try again","reason":"Conflict","code":409}"#,
);
const TRUNCATED: Fault = Fault::CutAfter(150);
const SLOW: Fault = Fault::Delay(Duration::from_millis(1500));
/// The watch begins, and its first event says that the resource version is too old.
const EXPIRED: Fault = Fault::Answer(
    200,
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: 1 (2)\",\"reason\":\"Expired\",\"code\":410}}\n",
);
/// The watch does not begin, for the same reason.
const GONE: Fault = Fault::Answer(
    410,
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}"#,
);

const DRY_RUN: &str = "dryRun=All";
const APPLY: &str = "fieldManager=kustomize-controller&force=true HTTP";
const STATUS: &str = "/kustomizations/app/status?";
const FINALIZER: &str = "/kustomizations/app?";
const DELETE: &str = "DELETE ";
const LIST: &str = "/gitrepositories?&labelSelector=&limit=";
const WATCH: &str = "/gitrepositories?&watch=true";

/// Number of times that a request meets its fault before one passes.
const TIMES: usize = 2;

#[rstest]
#[case::dropped(DROPPED)]
#[case::unanswered(UNANSWERED)]
#[case::busy(BUSY)]
#[case::broken(BROKEN)]
#[case::conflict(CONFLICT)]
#[tokio::test(flavor = "multi_thread")]
async fn writes_that_fail_are_made_in_the_end(#[case] fault: Fault) {
    let (mut service, proxy) = Service::behind_proxy().await;
    let mut first = true;
    for (number, part) in (1..).zip([FINALIZER, DRY_RUN, APPLY, STATUS, DELETE]) {
        meet(&proxy, part, fault);
        let wanted = service.publish("src", number, &names(number)).await;
        if std::mem::take(&mut first) {
            service.declare("app", "src").await;
            service.start();
        }
        service.holds("app", &wanted).await;
        met(&mut service, &proxy, part, fault).await;
    }
    for part in [DELETE, FINALIZER] {
        meet(&proxy, part, fault);
        service.world.kustomizations().await.delete("app", &DeleteParams::default()).await.unwrap();
        service.leaves_nothing("app").await;
        met(&mut service, &proxy, part, fault).await;
        if part == DELETE {
            let wanted = service.publish("src", 6, &names(6)).await;
            service.declare("app", "src").await;
            service.holds("app", &wanted).await;
        }
    }
}

#[rstest]
#[case::dropped(DROPPED)]
#[case::unanswered(UNANSWERED)]
#[case::truncated(TRUNCATED)]
#[case::busy(BUSY)]
#[case::broken(BROKEN)]
#[case::slow(SLOW)]
#[case::expired(EXPIRED)]
#[case::gone(GONE)]
#[tokio::test(flavor = "multi_thread")]
async fn lists_and_watches_that_fail_are_begun_anew(#[case] fault: Fault) {
    let (mut service, proxy) = Service::behind_proxy().await;
    let is_of_watches = [SLOW, EXPIRED, GONE].contains(&fault);
    let parts = if is_of_watches { vec![WATCH] } else { vec![LIST, WATCH] };
    service.declare("app", "src").await;
    let mut number = 0;
    for part in parts {
        // A process that starts, and one whose watches break.
        for is_fresh in [true, false] {
            number += 1;
            if !is_fresh {
                proxy.set(Fault::Away);
            }
            meet(&proxy, part, fault);
            let wanted = service.publish("src", number, &names(number)).await;
            if is_fresh {
                service.start();
            }
            service.holds("app", &wanted).await;
            if part == WATCH || is_fresh {
                met(&mut service, &proxy, part, fault).await;
            }
        }
    }
}

/// Each revision has an object of its own, which the next one prunes, and changes the others.
fn names(number: u32) -> Vec<&'static str> {
    match number % 2 {
        0 => vec!["role", "a", "even"],
        _ => vec!["role", "a", "odd"],
    }
}

fn meet(proxy: &FaultProxy, part: &str, fault: Fault) {
    proxy.forget_requests();
    proxy.set_for(part, TIMES, fault);
}

/// Waits until the fault was met and the request has passed after it, and checks that the process lives on.
async fn met(service: &mut Service, proxy: &FaultProxy, part: &str, fault: Fault) {
    // A request that took effect although its answer was lost need not be sent again.
    // A watch that fails is followed by a list, after a pause that grows: its object is known before the next one.
    let least = if fault == UNANSWERED || part == WATCH { 1 } else { TIMES + 1 };
    let met = proxy.wait_for(part, least, PATIENCE).await;
    met.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
    service.process().check_running().unwrap();
    proxy.set(Fault::None);
}
