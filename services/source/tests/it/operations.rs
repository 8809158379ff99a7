//! Flags, probes, the Lease, metrics and logs, on which operators rely (A16).

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::{Value, json};
use weir_testkit::{GitServer, eventually, free_port, wait_for};

use crate::world::{DEADLINE, Setup, World};

/// Flags that a Deployment of Flux may have beside those that the test sets (SRC-OPS-1).
const FLAGS: [&str; 36] = [
    "--events-addr=",
    "--storage-adv-addr=source-controller.flux-system.svc.cluster.local.",
    "--concurrent=4",
    "--requeue-dependency=30s",
    "--helm-index-max-size=52428800",
    "--helm-chart-max-size=10485760",
    "--helm-chart-file-max-size=5242880",
    "--helm-cache-max-size=10",
    "--helm-cache-ttl=15m",
    "--helm-cache-purge-interval=1m",
    "--artifact-retention-ttl=1m",
    "--artifact-retention-records=2",
    "--artifact-digest-algo=sha256",
    "--interval-jitter-percentage=5",
    "--min-retry-delay=750ms",
    "--max-retry-delay=15m",
    "--feature-gates=CacheSecretsAndConfigMaps=true,OptimizedGitClones=true,GitManagedTransport=false",
    "--ssh-kex-algos=curve25519-sha256",
    "--ssh-hostkey-algos=ssh-ed25519",
    "--default-service-account=",
    "--token-cache-max-size=100",
    "--token-cache-max-duration=1h",
    "--kube-api-qps=50",
    "--kube-api-burst=300",
    "--log-level=debug",
    "--log-encoding=json",
    "--enable-leader-election",
    "--leader-election-release-on-cancel=true",
    "--leader-election-lease-duration=35s",
    "--leader-election-renew-deadline=30s",
    "--leader-election-retry-period=5s",
    "--watch-label-selector=sharding.fluxcd.io/key=a",
    "--watch-configs-label-selector=reconcile.fluxcd.io/watch=Enabled",
    "--http-retry=9",
    "--reconciliation-timeout=10m",
    "--no-cross-namespace-refs=false",
];

async fn text_of(port: u16, path: &str) -> Option<(u16, String)> {
    let answer = reqwest::get(format!("http://127.0.0.1:{port}{path}")).await.ok()?;
    Some((answer.status().as_u16(), answer.text().await.ok()?))
}

/// The entries of the log about an object.
fn entries(world: &World, name: &str) -> Vec<Value> {
    let log = world.controller.log();
    let entries = log.lines().map(|line| serde_json::from_str(line).expect(line));
    entries.filter(|entry: &Value| entry["name"] == name).collect()
}

/// A16, SRC-OPS-1, SRC-OPS-4, the probes of SRC-OPS-7, SRC-MET-1, SRC-LOG-1.
#[tokio::test]
async fn as_deployments_probes_dashboards_and_flux_logs_expect() {
    let health = free_port().unwrap();
    let mut arguments = FLAGS.map(str::to_owned).to_vec();
    arguments.push(format!("--health-addr=127.0.0.1:{health}"));
    let world = World::start_as(Setup { arguments, ..Setup::default() }).await;
    let server = GitServer::start().await.unwrap();
    let patterns = "*.tmp\n".repeat(50_000);
    let files = [("a.yaml", "a"), (".sourceignore", &patterns)];
    server.repo("app").unwrap().commit("main", "first", &files).unwrap();

    let spec = json!({"url": server.url("app"), "interval": "1h", "ref": {"branch": "main"}});
    let metadata = json!({"name": "app", "labels": {"sharding.fluxcd.io/key": "a"}});
    let object = json!({"apiVersion": crate::world::SOURCE, "kind": "GitRepository", "metadata": metadata, "spec": spec});
    world.plane.apply(&world.namespace, object).await.unwrap();
    world.ready("GitRepository", "app").await;

    for (port, path) in [(health, "/healthz"), (health, "/readyz"), (world.http, "/")] {
        let (status, _) = text_of(port, path).await.expect(path);
        assert_eq!(status, 200, "{path}");
    }
    // The digest of the selector, as Flux computes it.
    let leases: Api<Lease> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let has_holder = |lease: Option<&Lease>| {
        lease.and_then(|lease| lease.spec.as_ref()).is_some_and(|spec| spec.holder_identity.is_some())
    };
    wait_for(&leases, "source-controller-leader-election-49d8d10c", "a holder", DEADLINE, has_holder)
        .await
        .unwrap();
    metrics(&world).await;

    let entries = entries(&world, "app");
    let finished = entries.iter().find(|entry| entry["level"] == "info").expect("an entry of the run");
    for (key, value) in [
        ("controller", json!("gitrepository")),
        ("controllerGroup", json!("source.toolkit.fluxcd.io")),
        ("controllerKind", json!("GitRepository")),
        ("namespace", json!(world.namespace)),
        ("GitRepository", json!({"name": "app", "namespace": world.namespace})),
    ] {
        assert_eq!(finished[key], value, "{key}: {finished}");
    }
    assert_eq!(finished["reconcileID"].as_str().unwrap().len(), 36, "{finished}");
    let is_of_patterns = |entry: &&Value| entry.to_string().contains("some ignore patterns do not count");
    let of_patterns =
        entries.iter().find(is_of_patterns).expect("a line about the object, of another thread");
    assert_eq!(of_patterns["reconcileID"], finished["reconcileID"]);
    let levels = ["trace", "debug", "info", "error"];
    assert!(entries.iter().all(|entry| levels.contains(&entry["level"].as_str().unwrap())), "{entries:?}");
}

async fn metrics(world: &World) {
    let labels = format!("kind=\"GitRepository\",name=\"app\",namespace=\"{}\"", world.namespace);
    let bounds = ["0.01", "0.03", "0.1", "0.5", "2.1", "8.3", "31.", "122.", "469.", "1800"];
    eventually("the metrics of the run", DEADLINE, async || {
        let (_, shown) = text_of(world.metrics, "/metrics").await?;
        let buckets = shown.lines().filter(|line| {
            line.starts_with("gotk_reconcile_duration_seconds_bucket{") && line.contains(&labels)
        });
        let buckets: Vec<_> = buckets.collect();
        let others = [
            "controller_runtime_reconcile_total{controller=\"gitrepository\",result=\"requeue_after\"} 1",
            "controller_runtime_reconcile_errors_total{controller=\"gitrepository\"} 0",
            "controller_runtime_reconcile_time_seconds_bucket{",
            "workqueue_depth{controller=\"gitrepository\",name=\"gitrepository\"}",
            "gotk_token_cached_items",
        ];
        let is_whole = buckets.len() == bounds.len() + 1
            && bounds.iter().zip(&buckets).all(|(bound, line)| line.contains(&format!("le=\"{bound}")))
            && others.iter().all(|series| shown.contains(series));
        is_whole.then_some(())
    })
    .await
    .unwrap();
}
