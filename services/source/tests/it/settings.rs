//! Flags that change what is stored and kept (C5).

use serde_json::json;
use weir_testkit::eventually;

use crate::bucket::stand_in::StandIn;
use crate::chart_server::ChartServer;
use crate::world::{DEADLINE, Setup, World, paths};

/// SRC-STO-7, SRC-STO-11, SRC-HRP-9.
#[tokio::test]
async fn digests_retention_and_the_index_cache() {
    let flags =
        ["--artifact-digest-algo=blake3", "--artifact-retention-records=3", "--helm-cache-max-size=10"];
    let arguments = flags.map(str::to_owned).to_vec();
    let world = World::start_as(Setup { arguments, ..Setup::default() }).await;
    let (bucket, server) = (StandIn::start(None).await, ChartServer::start().await);
    bucket.put("a.yaml", "0");
    world.bucket("src", &bucket.endpoint(), "apps", json!({})).await;
    world.ready("Bucket", "src").await;
    let mut revisions = Vec::new();
    for content in ["11", "222", "3333", "44444"] {
        bucket.put("a.yaml", content);
        revisions.push(world.reconciled("Bucket", "src").await["artifact"]["revision"].clone());
    }
    let status = world.reconciled("Bucket", "src").await;
    assert!(status["artifact"]["digest"].as_str().unwrap().starts_with("blake3:"), "{status}");
    assert!(status["artifact"]["revision"].as_str().unwrap().starts_with("blake3:"), "{status}");
    assert_eq!(paths(&status).await, ["a.yaml"], "a consumer checks the digest");
    let folder = world.folder.path().join("data/bucket").join(&world.namespace).join("src");
    let kept = std::fs::read_dir(&folder).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().ends_with(".tar.gz") && name != "latest.tar.gz"
    });
    assert_eq!(kept.count(), 3);
    for revision in revisions.iter().skip(1) {
        let hash = revision.as_str().unwrap().strip_prefix("blake3:").unwrap();
        assert!(folder.join(format!("{hash}.tar.gz")).is_file(), "the newest are kept");
    }

    server.publish("/charts", &["1.0.0"]);
    world.apply("HelmRepository", "repo", json!({"url": server.url("/charts"), "interval": "1h"})).await;
    let index = world.ready("HelmRepository", "repo").await;
    assert!(index["artifact"]["revision"].as_str().unwrap().starts_with("blake3:"), "{index}");
    let source = json!({"kind": "HelmRepository", "name": "repo"});
    world.apply("HelmChart", "app", json!({"chart": "app", "interval": "1h", "sourceRef": source})).await;
    world.ready("HelmChart", "app").await;
    world.reconciled("HelmChart", "app").await;
    let series = |event: &str| {
        format!(
            "gotk_cache_events_total{{event_type=\"{event}\",name=\"repo\",namespace=\"{}\"}} ",
            world.namespace
        )
    };
    let url = format!("http://127.0.0.1:{}/metrics", world.metrics);
    eventually("a miss and a hit of the index cache", DEADLINE, async || {
        let shown = reqwest::get(&url).await.ok()?.text().await.ok()?;
        ["cache_miss", "cache_hit"].iter().all(|event| shown.contains(&series(event))).then_some(())
    })
    .await
    .unwrap();
}
