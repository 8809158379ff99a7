//! Objects that Flux wrote before it had digests are taken over as they are (SRC-API-8, SRC-TYP-7).

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use weir_testkit::Registry;

use crate::world::{World, paths};

const OLD: &str = "source.toolkit.fluxcd.io/v1beta2";

/// The status of Flux 0.30: a checksum and no digest, fields that are gone, a revision in the old format.
fn old_status(kind: &str, revision: &str) -> Value {
    json!({ "status": {
        "observedGeneration": 1,
        "url": format!("http://source-controller/{kind}/old/latest.tar.gz"),
        "contentConfigChecksum": "sha256:fcbcf165908dd18a9e49f7ff27810176db8e9f63b4352213741664245224f8aa",
        "artifact": {
            "checksum": "2d83d24e7d0ee2ae01b8ef8bd8d7e6fa3ed8bba6c8ad0d4a4a8dd33d2bdcd80d",
            "lastUpdateTime": "2022-02-03T01:37:54Z",
            "path": format!("{kind}/apps/old/696f056df216eea4f9401adbee0ff744d4df390f.tar.gz"),
            "revision": revision,
            "url": format!("http://source-controller/{kind}/old.tar.gz"),
        },
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "GitOperationSucceed", "message": "old",
            "observedGeneration": 1, "lastTransitionTime": "2022-02-03T01:37:54Z",
        }],
    }})
}

/// A15, C6, SRC-TYP-7.
#[tokio::test]
async fn an_object_with_an_old_status_gets_a_whole_artifact() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let digest = registry.push_artifact("app", "latest", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let hex = digest.strip_prefix("sha256:").unwrap();
    let object = |suspend: bool| {
        json!({ "apiVersion": OLD, "kind": "OCIRepository", "metadata": { "name": "old" }, "spec": {
            "url": registry.url("app"), "interval": "1h", "insecure": true, "suspend": suspend } })
    };
    // Suspended, so that nobody looks at it before it is as old as it should be.
    world.plane.apply(&world.namespace, object(true)).await.unwrap();
    let api = world.plane.api(OLD, "OCIRepository", &world.namespace).await.unwrap();
    let status = Patch::Merge(old_status("ocirepository", &format!("latest/{hex}")));
    api.patch_status("old", &PatchParams::default(), &status).await.unwrap();
    world.plane.apply(&world.namespace, object(false)).await.unwrap();

    let status = world.ready("OCIRepository", "old").await;
    assert_eq!(status["artifact"]["revision"], format!("latest@{digest}"));
    assert!(status["artifact"]["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(status["artifact"]["checksum"].is_null());
    assert_eq!(paths(&status).await, ["a.yaml"]);
}
