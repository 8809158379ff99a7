//! Servers that are slow, break off, lie or refuse, and an API server that is away.

mod behind;
mod lengths;
mod matrix;

use std::time::Duration;

use serde_json::json;
use weir_artifact::Limits;
use weir_artifact::fetch::Fetcher;
use weir_testkit::{ControlPlane, Fault, FaultProxy, Folder, GitServer};

use crate::world::{Setup, World, paths};

const GIT: &str = "GitRepository";

/// Larger than a packet, and different from line to line.
fn large(line: &str) -> String {
    (0..20_000).map(|number| format!("{line} {number:x}\n")).collect()
}

#[tokio::test]
async fn consumers_take_no_spoiled_artifact() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    server.repo("app").unwrap().commit("main", "first", &[("a.txt", &large("a"))]).unwrap();
    world.git("app", &server.url("app"), json!({})).await;
    let status = world.ready(GIT, "app").await;
    let proxy = FaultProxy::http(&format!("127.0.0.1:{}", world.http)).await.unwrap();
    let (url, digest) =
        (status["artifact"]["url"].as_str().unwrap(), status["artifact"]["digest"].as_str().unwrap());
    let url = url.replace(&format!("127.0.0.1:{}", world.http), &proxy.address());
    let fetch = async || Fetcher::new(Limits::default(), None).unwrap().files(&url, digest).await;
    let size = status["artifact"]["size"].as_u64().unwrap();
    let mut faults: Vec<Fault> = (0..10).map(|tenth| Fault::CutAfter(size * tenth / 10)).collect();
    faults.extend((0..10).map(|tenth| Fault::CorruptAt(size * tenth / 10)));
    faults.extend([
        Fault::ContentLength(-1),
        Fault::ContentLength(1),
        Fault::Status(503, Some(1)),
        Fault::Away,
    ]);
    for fault in faults {
        proxy.set(fault);
        assert!(fetch().await.is_err(), "{fault:?}");
    }
    proxy.set(Fault::Delay(Duration::from_millis(100)));
    assert_eq!(fetch().await.unwrap().len(), 1);
}

/// A kubeconfig that leads through a proxy.
fn through(plane: &ControlPlane, proxy: &FaultProxy, folder: &Folder) -> std::path::PathBuf {
    let text = std::fs::read_to_string(plane.weir_kubeconfig_path()).unwrap();
    let server = plane.server().trim_start_matches("https://").trim_end_matches('/');
    assert!(text.contains(server), "{text}");
    folder.write("kubeconfig", text.replace(server, &proxy.address())).unwrap()
}

/// As long as issue 5 asks for; longer than a Lease is valid.
const AWAY: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_api_server_that_is_away_for_a_minute_costs_nothing_but_time() {
    let plane = ControlPlane::shared().await.unwrap();
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    repository.commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let upstream = plane.server().trim_start_matches("https://").trim_end_matches('/');
    let proxy = FaultProxy::tcp(upstream).await.unwrap();
    let folder = Folder::new("away").unwrap();
    let kubeconfig = Some(through(plane, &proxy, &folder));
    let mut world = World::start_as(Setup { kubeconfig, ..Setup::default() }).await;
    // Looks every second, so that a run falls into the time without an API server.
    world.git("app", &server.url("app"), json!({"interval": "1s"})).await;
    let before = world.ready(GIT, "app").await;

    proxy.set(Fault::Away);
    proxy.forget_requests();
    let new = repository.commit("main", "second", &[("b.yaml", "b")]).unwrap();
    world.git("late", &server.url("app"), json!({})).await;
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    for _ in 0..AWAY.as_secs() {
        seconds.tick().await;
        world.controller.check_running().unwrap();
        assert_eq!(paths(&before).await, ["a.yaml"], "what was advertised is still served");
    }
    let refused = proxy.requests().len();
    assert!(
        (5..500).contains(&refused),
        "{refused} tries: by the watches and by the write of the new artifact"
    );

    proxy.set(Fault::None);
    assert_eq!(paths(&world.at(GIT, "app", &new).await).await, ["a.yaml", "b.yaml"]);
    assert_eq!(paths(&world.ready(GIT, "late").await).await, ["a.yaml", "b.yaml"]);
}
