//! Objects and files that Flux left in the cluster and on its disk are taken over as they are (C6, SRC-API-8,
//! SRC-TYP-7).

use std::path::{Path, PathBuf};
use std::process::Command;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use weir_artifact::{Algorithm, Digest};
use weir_testkit::{Controller, GitServer, Registry, flux_program};

use crate::chart_server::ChartServer;
use crate::world::{Setup, World, paths};

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

/// An OCIRepository with this status, and the files that Flux left in its directory. It was suspended meanwhile, so that
/// nobody looked at it before it was as old as it should be.
async fn adopt(world: &World, url: &str, files: &[(&str, &[u8])], status: Value) -> PathBuf {
    let object = |suspend: bool| {
        json!({ "apiVersion": OLD, "kind": "OCIRepository", "metadata": { "name": "old" }, "spec": {
            "url": url, "interval": "1h", "insecure": true, "suspend": suspend } })
    };
    world.plane.apply(&world.namespace, object(true)).await.unwrap();
    // Once it is known, nothing of it is swept away as nobody's.
    world.until("OCIRepository", "old", "its finalizer", |object| object.metadata.finalizers.is_some()).await;
    let stored = world.folder.path().join("data/ocirepository").join(&world.namespace).join("old");
    std::fs::create_dir_all(&stored).unwrap();
    for (name, content) in files {
        std::fs::write(stored.join(name), content).unwrap();
        std::fs::write(stored.join(format!("{name}.lock")), "").unwrap();
    }
    let api = world.plane.api(OLD, "OCIRepository", &world.namespace).await.unwrap();
    api.patch_status("old", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    world.plane.apply(&world.namespace, object(false)).await.unwrap();
    stored
}

/// A15, C6, SRC-TYP-7: of Flux 0.41, whose artifacts have no digest.
#[tokio::test]
async fn an_object_with_an_old_status_gets_a_whole_artifact() {
    let arguments = vec!["--artifact-retention-records=1".to_owned()];
    let world = World::start_as(Setup { arguments, ..Setup::default() }).await;
    let registry = Registry::start().await.unwrap();
    let digest = registry.push_artifact("app", "latest", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let hex = digest.strip_prefix("sha256:").unwrap();
    let old = "696f056df216eea4f9401adbee0ff744d4df390f.tar.gz";
    let status = old_status("ocirepository", &format!("latest/{hex}"));
    let stored = adopt(&world, &registry.url("app"), &[(old, b"old")], status).await;
    std::os::unix::fs::symlink(old, stored.join("latest.tar.gz")).unwrap();

    let status = world.ready("OCIRepository", "old").await;
    assert_eq!(status["artifact"]["revision"], format!("latest@{digest}"));
    assert!(status["artifact"]["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(status["artifact"]["checksum"].is_null());
    assert_eq!(paths(&status).await, ["a.yaml"]);
    world.reconciled("OCIRepository", "old").await;
    assert!(!stored.join(old).exists() && !stored.join(format!("{old}.lock")).exists(), "garbage");
}

/// C6: of Flux 2.0 and newer, whose artifacts have a digest: consumers are not sent to another file.
#[tokio::test]
async fn an_artifact_that_flux_has_stored_is_kept() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let revision = registry.push_artifact("app", "latest", &[("a.yaml", "a: 1\n")]).await.unwrap();
    let (file, content) = (format!("{}.tar.gz", revision.replace("sha256:", "")), b"as Flux packed it");
    let digest = Digest::of(Algorithm::Sha256, content).to_string();
    let artifact = json!({
        "digest": digest, "lastUpdateTime": "2024-02-03T01:37:54Z", "size": content.len(),
        "path": format!("ocirepository/{}/old/{file}", world.namespace),
        "revision": format!("latest@{revision}"), "url": "http://source-controller/old.tar.gz",
    });
    let conditions = ["Ready", "ArtifactInStorage"].map(|type_| {
        json!({ "type": type_, "status": "True", "reason": "Succeeded", "message": "stored artifact",
            "observedGeneration": 1, "lastTransitionTime": "2024-02-03T01:37:54Z" })
    });
    let status =
        json!({ "status": { "observedGeneration": 1, "artifact": artifact, "conditions": conditions } });
    adopt(&world, &registry.url("app"), &[(&file, content)], status).await;
    let status = world.ready("OCIRepository", "old").await;
    assert_eq!(status["artifact"]["digest"], digest);
    assert_eq!(status["artifact"]["lastUpdateTime"], "2024-02-03T01:37:54Z");
    let served = reqwest::get(status["artifact"]["url"].as_str().unwrap()).await.unwrap();
    assert_eq!(served.bytes().await.unwrap().as_ref(), content);
}

/// Starts Flux's controller on the disk and the address of Weir's, which has ended.
pub(crate) async fn take_over(world: &World, program: &Path) -> Controller {
    let address = format!("127.0.0.1:{}", world.http);
    let flags = [
        "--watch-all-namespaces=false".to_owned(),
        format!("--storage-path={}", world.folder.path().join("data").display()),
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
    ];
    Controller::start(Command::new(program), &world.plane, &world.namespace, &flags).await.unwrap()
}

/// C6: from Flux to Weir and back over the same disk, nothing is fetched or advertised anew. `FLUX_SOURCE_CONTROLLER` names
/// Flux's program.
#[tokio::test]
async fn storage_goes_from_the_stock_controller_to_weir_and_back() {
    let Some(program) = flux_program("FLUX_SOURCE_CONTROLLER").unwrap() else { return };
    let (mut world, charts) = (World::start().await, ChartServer::start().await);
    let (git, registry) = (GitServer::start().await.unwrap(), Registry::start().await.unwrap());
    git.repo("app").unwrap().commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    registry.push_artifact("app", "latest", &[("a.yaml", "a: 1\n")]).await.unwrap();
    charts.publish("/charts", &["1.0.0"]);
    world.controller.kill();
    let flux = take_over(&world, &program).await;
    world.git("app", &git.url("app"), json!({})).await;
    world.oci("app", &registry.url("app"), json!({})).await;
    world.apply("HelmRepository", "app", json!({"url": charts.url("/charts"), "interval": "1h"})).await;
    let mut before = Vec::new();
    for kind in ["GitRepository", "OCIRepository", "HelmRepository"] {
        before.push((kind, world.ready(kind, "app").await["artifact"].clone()));
    }
    drop(flux);

    world.start_again(&[]);
    for (kind, artifact) in &before {
        assert_eq!(world.reconciled(kind, "app").await["artifact"], *artifact, "{kind}");
        let served = reqwest::get(artifact["url"].as_str().unwrap()).await.unwrap();
        assert!(served.status().is_success(), "{kind}: {}", served.status());
    }
    world.controller.kill();
    let _flux = take_over(&world, &program).await;
    for (kind, artifact) in &before {
        assert_eq!(world.reconciled(kind, "app").await["artifact"], *artifact, "{kind}");
    }
}
