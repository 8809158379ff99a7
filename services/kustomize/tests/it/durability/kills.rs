//! Every step that leaves something in the cluster, with a process that dies right there.

use kube::api::DeleteParams;
use rstest::rstest;

use crate::process::Service;

/// The change made before the process starts again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    /// The revision at which it died.
    Same,
    /// Another revision, without what this one had added.
    Other,
    /// Nothing: the Kustomization is deleted meanwhile.
    Deletion,
}

#[rstest]
#[case::finalizer("after-finalizer", Next::Deletion)]
#[case::definitions_checked("stage-checked", Next::Other)]
#[case::recorded("after-record", Next::Same)]
#[case::definitions_begun("object-applied", Next::Deletion)]
#[case::definitions_applied("stage-applied", Next::Other)]
#[case::rest_checked("stage-checked:2", Next::Other)]
#[case::rest_begun("object-applied:2", Next::Other)]
#[case::rest_applied("stage-applied:2", Next::Same)]
#[case::applied("after-apply", Next::Other)]
#[case::pruned("after-inventory", Next::Deletion)]
#[case::told("after-status", Next::Same)]
#[tokio::test(flavor = "multi_thread")]
async fn an_install_that_dies_at_any_step_ends_as_no_kill(#[case] point: &str, #[case] next: Next) {
    let mut service = Service::new().await;
    let first = service.publish("src", 1, &["role-a", "a", "b"]).await;
    service.declare("app", "src").await;
    service.dies_at(point).await;
    let wanted = match next {
        Next::Other => service.publish("src", 2, &["role-b", "b", "c"]).await,
        _ => first,
    };
    ends(&mut service, next, &wanted).await;
}

#[rstest]
#[case::definitions_checked("stage-checked", Next::Other)]
#[case::recorded("after-record", Next::Other)]
#[case::definitions_begun("object-applied", Next::Other)]
#[case::rest_checked("stage-checked:2", Next::Same)]
#[case::rest_begun("object-applied:3", Next::Deletion)]
#[case::applied("after-apply", Next::Other)]
#[case::before_the_first_delete("before-delete", Next::Same)]
#[case::after_the_first_delete("after-delete", Next::Other)]
#[case::before_the_last_delete("before-delete:2", Next::Other)]
#[case::after_the_last_delete("after-delete:2", Next::Same)]
#[case::pruned("after-inventory", Next::Other)]
#[case::told("after-status", Next::Deletion)]
#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_dies_at_any_step_ends_as_no_kill(#[case] point: &str, #[case] next: Next) {
    let mut service = installed().await;
    let second = service.publish("src", 2, &["role-b", "b", "c"]).await;
    service.dies_at(point).await;
    let wanted = match next {
        Next::Other => service.publish("src", 3, &["role-a", "b", "d"]).await,
        _ => second,
    };
    ends(&mut service, next, &wanted).await;
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_dies_at_any_step_ends_as_no_kill(
    #[values(
        "before-delete",
        "after-delete",
        "after-delete:3",
        "before-finalizer-removal",
        "after-finalizer-removal"
    )]
    point: &str,
) {
    let mut service = installed().await;
    let api = service.world.kustomizations().await;
    api.delete("app", &DeleteParams::default()).await.unwrap();
    service.dies_at(point).await;
    service.start();
    service.leaves_nothing("app").await;
}

/// Revision 1 is applied, and the process is gone.
async fn installed() -> Service {
    let mut service = Service::new().await;
    let first = service.publish("src", 1, &["role-a", "a", "b"]).await;
    service.declare("app", "src").await;
    service.start();
    service.holds("app", &first).await;
    service.kill();
    service
}

async fn ends(service: &mut Service, next: Next, wanted: &crate::process::Revision) {
    if next == Next::Deletion {
        let api = service.world.kustomizations().await;
        api.delete("app", &DeleteParams::default()).await.unwrap();
    }
    service.start();
    match next {
        Next::Deletion => service.leaves_nothing("app").await,
        _ => service.holds("app", wanted).await,
    }
}
