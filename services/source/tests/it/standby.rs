//! Two replicas: both Ready, one labelled as leader, and the other takes over.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use serde_json::json;
use weir_testkit::{GitServer, eventually, wait_for};

use crate::world::{DEADLINE, Setup, World, paths};

/// Time for which a leader is believed after its last word, and the time that it may then take until the next one has taken over and
/// made its artifact again, on a busy machine.
const LEASE: Duration = Duration::from_secs(8);
const SLACK: Duration = Duration::from_secs(30);
const ROLE: &str = "source.toolkit.fluxcd.io/role";

fn setup(pod: &str) -> Setup {
    let lease = format!("lease-duration={}s", LEASE.as_secs());
    let election = [lease.as_str(), "renew-deadline=6s", "retry-period=1s"];
    let election = election.map(|flag| format!("--leader-election-{flag}"));
    let arguments = [vec!["--enable-leader-election".to_owned()], election.to_vec()].concat();
    Setup { environment: vec![("POD_NAME", pod.to_owned())], arguments, ..Setup::default() }
}

async fn status_of(port: u16, path: &str) -> Option<u16> {
    let answer = reqwest::get(format!("http://127.0.0.1:{port}/{path}")).await.ok()?;
    Some(answer.status().as_u16())
}

async fn until_role(pods: &Api<Pod>, pod: &str, role: &str) {
    let has = |pod: Option<&Pod>| {
        let labels = pod.and_then(|pod| pod.metadata.labels.as_ref());
        labels.and_then(|labels| labels.get(ROLE)).is_some_and(|known| known == role)
    };
    wait_for(pods, pod, role, DEADLINE, has).await.unwrap();
}

/// DEV 14, C7, SRC-OPS-6.
#[tokio::test]
async fn a_standby_is_ready_has_no_artifacts_and_takes_over() {
    let mut world = World::start().await;
    // Nothing runs them: they are there to be labelled.
    world.plane.service_account(&world.namespace, "default", &[]).await.unwrap();
    for pod in ["source-0", "source-1"] {
        let container = json!([{"name": "manager", "image": "none"}]);
        let spec = json!({"containers": container, "automountServiceAccountToken": false});
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod}, "spec": spec});
        world.plane.apply(&world.namespace, object).await.unwrap();
    }
    let pods: Api<Pod> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    world.controller.kill();
    world.start_as_again(setup("source-0"));
    until_role(&pods, "source-0", "leader").await;
    let server = GitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let status = world.ready("GitRepository", "app").await;
    let path = status["artifact"]["path"].as_str().unwrap();
    assert_eq!(paths(&status).await, ["a.yaml"]);

    let (_standby, http) = world.replica(&setup("source-1"));
    until_role(&pods, "source-1", "standby").await;
    let is_ready = async || (status_of(http, "").await == Some(200)).then_some(());
    eventually("the standby to answer its probe", DEADLINE, is_ready).await.unwrap();
    assert_eq!(status_of(http, path).await, Some(404), "only the leader's files are current");

    world.controller.kill();
    let is_served = async || (status_of(http, path).await == Some(200)).then_some(());
    eventually("the artifact to be served by the other", LEASE + SLACK, is_served).await.unwrap();
    until_role(&pods, "source-1", "leader").await;
}
