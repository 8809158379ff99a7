//! A source of each kind, and the servers behind them.

use serde_json::{Value, json};
use weir_testkit::{GitServer, Registry};

use crate::bucket::stand_in::StandIn;
use crate::chart_server::ChartServer;
use crate::world::World;

/// The remotes of sources of each kind; the repositories, the bucket's files and the chart are all called `app`.
pub struct Remotes {
    pub git: GitServer,
    pub registry: Registry,
    pub bucket: StandIn,
    pub charts: ChartServer,
}

impl Remotes {
    pub async fn start() -> Self {
        let (git, registry) = (GitServer::start().await.unwrap(), Registry::start().await.unwrap());
        git.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
        registry.push_artifact("app", "v1", &[("a.yaml", "a: 1\n")]).await.unwrap();
        let (bucket, charts) = (StandIn::start(None).await, ChartServer::start().await);
        bucket.put("a.yaml", "a: 1\n");
        charts.publish("/charts", &["1.0.0"]);
        Self { git, registry, bucket, charts }
    }

    /// The kinds with the spec of a source of each. A chart's repository comes before it.
    pub fn sources(&self) -> [(&'static str, Value); 5] {
        let (git, oci) = (self.git.url("app"), self.registry.url("app"));
        let source = json!({"kind": "HelmRepository", "name": "app"});
        [
            ("GitRepository", json!({"url": git, "interval": "1h", "ref": {"branch": "main"}})),
            ("OCIRepository", json!({"url": oci, "interval": "1h", "ref": {"tag": "v1"}, "insecure": true})),
            (
                "Bucket",
                json!({"endpoint": self.bucket.endpoint(), "bucketName": "apps", "interval": "1h", "insecure": true}),
            ),
            ("HelmRepository", json!({"url": self.charts.url("/charts"), "interval": "1h"})),
            ("HelmChart", json!({"chart": "app", "interval": "1h", "sourceRef": source})),
        ]
    }

    /// Applies all of them as `app` and waits until they are Ready; gives the kinds with their status.
    pub async fn applied(&self, world: &World) -> Vec<(&'static str, Value)> {
        let mut ready = Vec::new();
        for (kind, spec) in self.sources() {
            world.apply(kind, "app", spec).await;
            ready.push((kind, world.ready(kind, "app").await));
        }
        ready
    }
}
