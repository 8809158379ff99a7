use serde_json::json;

use crate::world::{PATIENCE, World, cm};

/// KS-LOG-1, KS-GC-6, KS-SSA-92
#[tokio::test(flavor = "multi_thread")]
async fn the_log_tells_what_flux_tells() {
    let (world, process) = World::process(&[]).await;
    let ns = &world.ns;
    let (a, b) = (cm("a", "1"), cm("b", "1"));
    world.source("src", 1, &[("a.yaml", &a), ("b.yaml", &b)]).await;
    world.kustomization("base", json!({})).await;
    world.ready("base").await;
    world.source("other", 1, &[("c.yaml", &cm("c", "1"))]).await;
    let source = json!({"kind": "GitRepository", "name": "other"});
    let mut fields = json!({"dependsOn": [{"name": "base"}], "sourceRef": source, "suspend": false});
    world.kustomization("app", fields.clone()).await;
    world.ready("app").await;
    let second = world.source("src", 2, &[("a.yaml", &a)]).await;
    world.applied("base", &second).await;
    fields["suspend"] = json!(true);
    world.kustomization("app", fields).await;
    let unchanged = format!("\"ConfigMap/{ns}/a\":\"unchanged\"");
    let collected = format!("garbage collection completed: ConfigMap/{ns}/b deleted");
    for text in [
        "All dependencies are ready, proceeding with reconciliation",
        "Reconciliation is suspended for this object",
        &collected,
        &unchanged,
    ] {
        let is_told = async || {
            let log = std::fs::read_to_string(process.log_path()).ok()?;
            log.contains(text).then_some(())
        };
        let told = weir_testkit::eventually(text, PATIENCE, is_told).await;
        assert!(told.is_ok(), "{text}\n{}", process.log_tail());
    }
}
