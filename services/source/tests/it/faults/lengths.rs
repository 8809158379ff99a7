//! A fault that HTTP cannot show: an answer that is shorter than meant, with the shorter length in its header
//! (docs/sources/helmrepository.md).

use serde_json::json;
use weir_testkit::{Fault, FaultProxy};

use crate::chart_server::ChartServer;
use crate::origin::served;
use crate::world::World;

const HELM: &str = "HelmRepository";
const FIRST: &str = "apiVersion: v1
entries:
  app:
  - {name: app, version: 1.0.0, urls: [app-1.0.0.tgz]}
";
const SECOND: &str = "  - {name: app, version: 1.1.0, urls: [app-1.1.0.tgz]}
";

/// The versions of the stored index.
async fn versions(status: &serde_json::Value) -> Vec<String> {
    let index: serde_json::Value = serde_json::from_slice(&served(status).await).unwrap();
    let releases = index["entries"]["app"].as_array().unwrap();
    releases.iter().map(|release| release["version"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_cut_index_that_is_whole_yaml_is_put_right_by_the_next_look() {
    let (world, server) = (World::start().await, ChartServer::start().await);
    let proxy = FaultProxy::http(&server.address().to_string()).await.unwrap();
    server.put("/charts/index.yaml", format!("{FIRST}{SECOND}"));
    let cut = i64::try_from(SECOND.len()).unwrap();
    proxy.set_for("/index.yaml", usize::MAX, Fault::ContentLength(-cut));
    let url = proxy.url(&server.url("/charts"));
    world.apply(HELM, "app", json!({"url": url, "interval": "1h"})).await;
    let short = world.ready(HELM, "app").await;
    assert_eq!(versions(&short).await, ["1.0.0"]);

    // In the middle of a line it is no YAML, and the last index stays.
    proxy.set_for("/index.yaml", usize::MAX, Fault::ContentLength(-10));
    world.reconciled(HELM, "app").await;
    assert_eq!(world.failure(HELM, "app").await.0, "IndexationFailed");
    let status = world.api(HELM).await.get("app").await.unwrap().data["status"].clone();
    assert_eq!(status["artifact"], short["artifact"]);

    proxy.set(Fault::None);
    world.reconciled(HELM, "app").await;
    let whole = world.ready(HELM, "app").await;
    assert_eq!(versions(&whole).await, ["1.1.0", "1.0.0"]);
}
