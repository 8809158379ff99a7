//! The state after sources are deleted (A14, SRC-REC-17, SRC-STO-12).

use std::path::{Path, PathBuf};

use kube::api::Patch;
use serde_json::json;
use weir_testkit::{condition, eventually, wait_for, wait_gone};

use crate::every_kind::Remotes;
use crate::world::{DEADLINE, World};

const GENERATOR: (&str, &str) = ("source.extensions.fluxcd.io/v1beta1", "ArtifactGenerator");

/// All files and links below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// Neither files, nor links, nor locks, nor kept Git objects, nor finalizers.
#[tokio::test]
async fn a_deleted_source_of_any_kind_leaves_nothing() {
    let (world, remotes) = (World::start().await, Remotes::start().await);
    let ready = remotes.applied(&world).await;
    let (api, kind) = GENERATOR;
    let copy = json!([{"from": "@app/**", "to": "@artifact/"}]);
    let spec = json!({
        "sources": [{"alias": "app", "kind": "GitRepository", "name": "app"}],
        "artifacts": [{"name": "made", "copy": copy}],
    });
    let object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "app"}, "spec": spec});
    world.plane.apply(&world.namespace, object).await.unwrap();
    world
        .until("ExternalArtifact", "made", "Ready", |object| {
            condition(object, "Ready").is_some_and(|ready| ready.status == "True")
        })
        .await;
    let generators = world.plane.api(api, kind, &world.namespace).await.unwrap();
    let data = world.folder.path().join("data");
    for (kind, _) in &ready {
        let folder = data.join(kind.to_lowercase()).join(&world.namespace).join("app");
        assert!(!files_below(&folder).is_empty(), "{kind}");
        let object = world.api(kind).await.get("app").await.unwrap();
        assert_eq!(object.metadata.finalizers.unwrap(), ["finalizers.fluxcd.io"], "{kind}");
    }
    let made = |object: Option<&kube::core::DynamicObject>| {
        object.is_some_and(|object| object.metadata.finalizers.is_some())
    };
    wait_for(&generators, "app", "its finalizer", DEADLINE, made).await.unwrap();

    generators.delete("app", &Default::default()).await.unwrap();
    wait_gone(&generators, "app", DEADLINE).await.unwrap();
    wait_gone(&world.api("ExternalArtifact").await, "made", DEADLINE).await.unwrap();
    for (kind, _) in ready.iter().rev() {
        let api = world.api(kind).await;
        api.delete("app", &Default::default()).await.unwrap();
        wait_gone(&api, "app", DEADLINE).await.unwrap();
        assert!(!data.join(kind.to_lowercase()).join(&world.namespace).join("app").exists(), "{kind}");
    }
    let is_empty = async || files_below(&data).is_empty().then_some(());
    if eventually("the disk to be empty", DEADLINE, is_empty).await.is_err() {
        panic!("left: {:#?}", files_below(&data));
    }
}

/// A source that the finalizer of somebody else keeps advertises no file that is gone.
#[tokio::test]
async fn a_deleted_source_that_others_keep_has_no_artifact() {
    let (world, remotes) = (World::start().await, Remotes::start().await);
    let ready = remotes.applied(&world).await;
    for (kind, _) in ready.iter().rev() {
        let api = world.api(kind).await;
        let hold = json!({"metadata": {"finalizers": ["finalizers.fluxcd.io", "example.com/other"]}});
        api.patch("app", &Default::default(), &Patch::Merge(hold)).await.unwrap();
        api.delete("app", &Default::default()).await.unwrap();
        let is_let_go = |object: Option<&kube::core::DynamicObject>| {
            let finalizers = object.and_then(|object| object.metadata.finalizers.as_deref());
            finalizers == Some(&["example.com/other".to_owned()])
        };
        let kept =
            wait_for(&api, "app", "its own finalizer to go", DEADLINE, is_let_go).await.unwrap().unwrap();
        assert!(kept.data["status"]["artifact"].is_null(), "{kind}: {}", kept.data["status"]);
        let status = &kept.data["status"];
        if *kind == "HelmRepository" {
            assert!(status["conditions"].is_null() && status["url"].is_null(), "{status}");
        } else {
            assert_eq!(status["observedGeneration"], kept.metadata.generation.unwrap(), "{kind}");
        }
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        api.patch("app", &Default::default(), &free).await.unwrap();
        wait_gone(&api, "app", DEADLINE).await.unwrap();
    }
}
