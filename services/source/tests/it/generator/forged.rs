//! Inventories that somebody else has written: a status is no proof of anything (SRC-SCK-15).

use kube::api::Patch;
use serde_json::{Value, json};
use weir_testkit::touch_requested_at;

use super::{Sources, split};

/// An inventory that names objects of other generators removes neither their files nor those of other namespaces.
#[tokio::test]
async fn regression_14_a_forged_inventory_removes_no_file_of_others() {
    let sources = Sources::start().await;
    sources.apply("victim", split(), json!({})).await;
    sources.says("victim", "True", "generated 2 artifact(s)").await;
    let own = json!([{ "name": "own", "copy": [{ "from": "@app/deploy/**", "to": "@artifact/" }] }]);
    sources.apply("forger", own, json!({})).await;
    let forger = sources.says("forger", "True", "generated 1 artifact(s)").await;
    let one = sources.external("one", &Value::Null).await;
    let file =
        one.data["status"]["artifact"]["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    // As if it lay in another tenant's namespace.
    let namespace = format!("{}-other", sources.world.namespace);
    let foreign = sources.world.folder.path().join("data/externalartifact").join(&namespace).join("one");
    std::fs::create_dir_all(&foreign).unwrap();
    std::fs::copy(sources.stored("one").join(&file), foreign.join(&file)).unwrap();

    let wrong = format!("sha256:{}", "0".repeat(64));
    let entry =
        |namespace: &str| json!({ "name": "one", "namespace": namespace, "digest": wrong, "filename": file });
    let mut inventory = forger.data["status"]["inventory"].as_array().unwrap().clone();
    inventory.extend([entry(&sources.world.namespace), entry(&namespace)]);
    let api = sources.generators().await;
    let patch = Patch::Merge(json!({ "status": { "inventory": inventory } }));
    api.patch_status("forger", &Default::default(), &patch).await.unwrap();
    let token = touch_requested_at(&api, "forger").await.unwrap();
    let mended = sources
        .until("forger", "handled", |object| object.data["status"]["lastHandledReconcileAt"] == token)
        .await;
    assert_eq!(mended.data["status"]["inventory"].as_array().unwrap().len(), 1);
    for directory in [sources.stored("one"), foreign] {
        assert!(directory.join(&file).is_file(), "{} is gone", directory.display());
    }
    assert!(sources.world.api("ExternalArtifact").await.get("one").await.is_ok());
}
