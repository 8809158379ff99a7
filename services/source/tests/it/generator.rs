//! `ArtifactGenerator` from sources to `ExternalArtifact` objects, and what becomes of these (SRC 9, SRC 10).

mod forged;
mod places;
mod refused;

use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use weir_testkit::{Registry, condition, eventually, touch_requested_at, wait_for};

use crate::world::{DEADLINE, Setup, World, files, paths};

const API: &str = "source.extensions.fluxcd.io/v1beta1";
const GENERATOR: &str = "ArtifactGenerator";
const EXTERNAL: &str = "ExternalArtifact";
const OCI: &str = "OCIRepository";

/// Two sources in a registry: `app` with manifests and values, `env` with other values.
struct Sources {
    world: World,
    registry: Registry,
}

impl Sources {
    async fn start() -> Self {
        Self::start_as(Setup::default()).await
    }

    async fn start_as(setup: Setup) -> Self {
        let (world, registry) = (World::start_as(setup).await, Registry::start().await.unwrap());
        let this = Self { world, registry };
        this.push(
            "app",
            &[("deploy/a.yaml", "a: 1\n"), ("values.yaml", "x: 1\nz: 1\n"), ("logo.png", "png")],
        )
        .await;
        this.push("env", &[("values.yaml", "z: 2\n")]).await;
        for name in ["app", "env"] {
            this.world.oci(name, &this.registry.url(name), json!({})).await;
        }
        this
    }

    async fn push(&self, name: &str, files: &[(&str, &str)]) {
        self.registry.push_artifact(name, "latest", files).await.unwrap();
    }

    /// Lets a source fetch what was pushed.
    async fn fetch(&self, name: &str) {
        touch_requested_at(&self.world.api(OCI).await, name).await.unwrap();
    }

    async fn apply(&self, name: &str, artifacts: Value, more: Value) {
        let mut spec = json!({
            "sources": [
                { "alias": "app", "kind": OCI, "name": "app" },
                { "alias": "env", "kind": OCI, "name": "env" },
            ],
            "artifacts": artifacts,
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let object =
            json!({ "apiVersion": API, "kind": GENERATOR, "metadata": { "name": name }, "spec": spec });
        self.world.plane.apply(&self.world.namespace, object).await.unwrap();
    }

    async fn generators(&self) -> Api<DynamicObject> {
        self.world.plane.api(API, GENERATOR, &self.world.namespace).await.unwrap()
    }

    async fn until(&self, name: &str, what: &str, is_so: impl Fn(&DynamicObject) -> bool) -> DynamicObject {
        let api = self.generators().await;
        match wait_for(&api, name, what, DEADLINE, |object: Option<&DynamicObject>| {
            object.is_some_and(&is_so)
        })
        .await
        {
            Ok(object) => object.unwrap(),
            Err(error) => panic!("{error}\n{:?}\n{}", api.get(name).await, self.world.controller.log_tail()),
        }
    }

    /// Waits until the generator's newest generation is Ready with this status and message.
    async fn says(&self, name: &str, status: &str, message: &str) -> DynamicObject {
        self.until(name, message, |object| {
            condition(object, "Ready").is_some_and(|ready| {
                ready.status == status
                    && ready.message.contains(message)
                    && Some(ready.observed_generation) == object.metadata.generation
            })
        })
        .await
    }

    /// Waits until the object advertises a digest other than `digest`; returns it.
    async fn external(&self, name: &str, digest: &Value) -> DynamicObject {
        self.world
            .until(EXTERNAL, name, "a new artifact", |object| {
                let found = &object.data["status"]["artifact"]["digest"];
                found.is_string() && found != digest
            })
            .await;
        self.world.api(EXTERNAL).await.get(name).await.unwrap()
    }

    async fn event(&self, name: &str, words: &str) {
        let api = self.world.plane.api("v1", "Event", &self.world.namespace).await.unwrap();
        eventually(words, DEADLINE, async || {
            let events = api.list(&ListParams::default()).await.unwrap();
            let about = |event: &DynamicObject| {
                event.data["involvedObject"]["name"] == name
                    && event.data["message"].as_str().is_some_and(|message| message.contains(words))
            };
            events.iter().any(about).then_some(())
        })
        .await
        .unwrap();
    }

    fn stored(&self, name: &str) -> std::path::PathBuf {
        self.world.folder.path().join("data/externalartifact").join(&self.world.namespace).join(name)
    }
}

fn composed() -> Value {
    json!([{
        "name": "composed",
        "originRevision": "@app",
        "copy": [
            { "from": "@app/", "to": "@artifact/" },
            { "from": "@env/values.yaml", "to": "@artifact/values.yaml", "strategy": "Merge" },
        ],
    }])
}

fn split() -> Value {
    json!([
        { "name": "one", "copy": [{ "from": "@app/deploy/**", "to": "@artifact/" }] },
        { "name": "two", "revision": "@env", "copy": [{ "from": "@env/**", "to": "@artifact/" }] },
    ])
}

/// B9: SRC-AGN-7, SRC-AGN-8, SRC-AGN-10, SRC-AGN-15.
#[tokio::test]
async fn sources_are_composed_and_followed() {
    let sources = Sources::start().await;
    let metadata = json!({ "commonMetadata": { "labels": { "team": "a" }, "annotations": { "note": "b" } } });
    sources.apply("generator", composed(), metadata).await;
    let generator =
        sources.says("generator", "True", "reconciliation succeeded, generated 1 artifact(s)").await;
    assert_eq!(generator.finalizers(), ["source.extensions.fluxcd.io/finalizer"]);
    assert!(condition(&generator, "Reconciling").is_none());

    let object = sources.external("composed", &Value::Null).await;
    let artifact = &object.data["status"]["artifact"];
    let digest = artifact["digest"].as_str().unwrap();
    assert_eq!(artifact["revision"], format!("latest@{digest}"));
    assert!(artifact["metadata"]["org.opencontainers.image.revision"].is_string());
    let file = artifact["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    assert_eq!(file.len(), 64 + ".tar.gz".len());
    let labels = object.labels();
    assert_eq!(labels["team"], "a");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "source-watcher");
    assert_eq!(&labels["source.extensions.fluxcd.io/generator"], generator.metadata.uid.as_ref().unwrap());
    assert_eq!(object.annotations()["note"], "b");
    assert!(object.metadata.owner_references.is_none());
    let source = json!({ "apiVersion": API, "kind": GENERATOR, "name": "generator",
        "namespace": sources.world.namespace });
    assert_eq!(object.data["spec"]["sourceRef"], source);
    let ready = condition(&object, "Ready").unwrap();
    assert_eq!((&*ready.status, &*ready.reason, &*ready.message), ("True", "Succeeded", "Artifact is ready"));
    assert_eq!(paths(&object.data["status"]).await, ["deploy/a.yaml", "values.yaml"]);
    let inventory = &generator.data["status"]["inventory"];
    let entry = json!({ "name": "composed", "namespace": sources.world.namespace, "digest": digest, "filename": file });
    assert_eq!(inventory, &json!([entry]));
    sources
        .event(
            "generator",
            &format!("external artifacts reconciled: {}/composed ({digest})", sources.world.namespace),
        )
        .await;
    let place = format!("ExternalArtifact/{}/composed", sources.world.namespace);
    sources.event("generator", &format!("{place} reconciled with revision latest@{digest}")).await;
    sources.event("generator", "reconciliation succeeded, generated 1 artifact(s)").await;

    sources.push("env", &[("values.yaml", "z: 3\n")]).await;
    sources.fetch("env").await;
    let object = sources.external("composed", &artifact["digest"]).await;
    let values = files(&object.data["status"]).await;
    let values = values.iter().find(|(path, _)| path.as_str() == "values.yaml").unwrap().1;
    assert_eq!(std::str::from_utf8(&values.bytes).unwrap(), "x: 1\nz: 3\n");
}

#[tokio::test]
async fn what_has_not_changed_is_not_written() {
    let sources = Sources::start().await;
    sources.apply("generator", split(), json!({})).await;
    sources.says("generator", "True", "generated 2 artifact(s)").await;
    let one = sources.external("one", &Value::Null).await;
    let two = sources.external("two", &Value::Null).await;
    let env = sources.world.ready(OCI, "env").await;
    assert_eq!(two.data["status"]["artifact"]["revision"], env["artifact"]["revision"]);

    sources.push("env", &[("values.yaml", "z: 3\n")]).await;
    sources.fetch("env").await;
    let two = sources.external("two", &two.data["status"]["artifact"]["digest"]).await;
    let again = sources.world.api(EXTERNAL).await.get("one").await.unwrap();
    assert_eq!(again.metadata.resource_version, one.metadata.resource_version);

    // A run that is asked for before the last one has ended would build once more.
    let digest = &two.data["status"]["artifact"]["digest"];
    let is_noted = |object: &DynamicObject| object.data["status"]["inventory"][1]["digest"] == *digest;
    sources.until("generator", "the end of the run", is_noted).await;
    let token = touch_requested_at(&sources.generators().await, "generator").await.unwrap();
    sources
        .until("generator", "the request is handled", |object| {
            object.data["status"]["lastHandledReconcileAt"] == token.as_str()
        })
        .await;
    sources.event("generator", "No drift detected, 2 artifact(s) up to date").await;
}

/// C4: SRC-AGN-5.
#[tokio::test]
async fn what_others_damage_is_repaired() {
    let sources = Sources::start().await;
    sources.apply("generator", composed(), json!({})).await;
    sources.says("generator", "True", "generated 1 artifact(s)").await;
    let first = sources.external("composed", &Value::Null).await;
    let path = sources
        .world
        .folder
        .path()
        .join("data")
        .join(first.data["status"]["artifact"]["path"].as_str().unwrap());
    let (api, generators) = (sources.world.api(EXTERNAL).await, sources.generators().await);

    std::fs::write(&path, "broken").unwrap();
    touch_requested_at(&generators, "generator").await.unwrap();
    let is_whole = || std::fs::metadata(&path).is_ok_and(|found| found.len() > 100);
    eventually("the file is whole", DEADLINE, async || is_whole().then_some(())).await.unwrap();

    std::fs::remove_file(&path).unwrap();
    touch_requested_at(&generators, "generator").await.unwrap();
    eventually("the file is back", DEADLINE, async || is_whole().then_some(())).await.unwrap();

    let forged = Patch::Merge(json!({ "status": { "artifact": { "digest": "sha256:forged" } } }));
    api.patch_status("composed", &PatchParams::default(), &forged).await.unwrap();
    touch_requested_at(&generators, "generator").await.unwrap();
    let second = sources.external("composed", &json!("sha256:forged")).await;
    assert_eq!(second.data["status"]["artifact"]["digest"], first.data["status"]["artifact"]["digest"]);

    api.delete("composed", &Default::default()).await.unwrap();
    touch_requested_at(&generators, "generator").await.unwrap();
    sources.external("composed", &Value::Null).await;
}

/// B9, SRC-SCK-15: SRC-AGN-9.
#[tokio::test]
async fn nothing_is_left_of_what_is_no_longer_asked_for() {
    let sources = Sources::start().await;
    sources.apply("generator", split(), json!({})).await;
    sources.says("generator", "True", "generated 2 artifact(s)").await;
    assert!(sources.stored("two").is_dir());
    let api = sources.world.api(EXTERNAL).await;
    let foreign = json!({ "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": EXTERNAL,
        "metadata": { "name": "foreign" }, "spec": {} });
    sources.world.plane.apply(&sources.world.namespace, foreign).await.unwrap();

    sources.apply("generator", json!([split()[0]]), json!({})).await;
    sources.says("generator", "True", "generated 1 artifact(s)").await;
    assert!(api.get_opt("two").await.unwrap().is_none());
    assert!(!sources.stored("two").exists());

    // A status that names the object of somebody else does not have it deleted.
    let inventory =
        json!([{ "name": "foreign", "namespace": sources.world.namespace, "digest": "x", "filename": "y" }]);
    let forged = Patch::Merge(json!({ "status": { "inventory": inventory } }));
    let generators = sources.generators().await;
    generators.patch_status("generator", &PatchParams::default(), &forged).await.unwrap();
    generators.delete("generator", &Default::default()).await.unwrap();
    let gone = wait_for(&generators, "generator", "the end", DEADLINE, |object: Option<&DynamicObject>| {
        object.is_none()
    });
    gone.await.unwrap();
    assert!(api.get_opt("one").await.unwrap().is_none());
    assert!(!sources.stored("one").exists());
    assert!(api.get_opt("foreign").await.unwrap().is_some());
}

/// C4: SRC-AGN-19, deviation 26.
#[tokio::test]
async fn every_directory_that_matches_makes_an_artifact() {
    let sources = Sources::start().await;
    sources.push("app", &[("apps/Web/envs/prod/a.yaml", "a"), ("apps/api/envs/prod/b.yaml", "b")]).await;
    sources.fetch("app").await;
    let by_path = |pattern: &str| json!({ "pathPattern": pattern });
    let artifacts = json!([{ "name": "{app}-{env}",
        "copy": [{ "from": "@app/apps/{app}/envs/{env}/**", "to": "@artifact/" }] }]);
    sources.apply("generator", artifacts.clone(), by_path("@app/apps/{app}/envs/{env}")).await;
    sources.says("generator", "True", "generated 2 artifact(s)").await;
    let web = sources.external("web-prod", &Value::Null).await;
    assert_eq!((&*web.labels()["app"], &*web.labels()["env"]), ("web", "prod"));
    assert_eq!(paths(&web.data["status"]).await, ["a.yaml"]);
    assert_eq!(paths(&sources.external("api-prod", &Value::Null).await.data["status"]).await, ["b.yaml"]);

    sources.apply("generator", artifacts.clone(), by_path("@app/nothing/{app}/{env}")).await;
    sources.says("generator", "True", "generated 0 artifact(s)").await;
    assert!(sources.world.api(EXTERNAL).await.get_opt("web-prod").await.unwrap().is_none());
    sources.event("generator", "matches no directory").await;

    sources.apply("generator", artifacts, by_path("@app/apps/{app}")).await;
    let failed = sources.says("generator", "False", "failed to expand path pattern: ").await;
    assert_eq!(condition(&failed, "Stalled").unwrap().reason, "BuildFailed");
}

/// B9: SRC-AGN-3, SRC-AGN-4, SRC-AGN-11.
#[tokio::test]
async fn a_generator_waits_for_its_sources_and_stalls_on_its_own_mistakes() {
    let sources = Sources::start().await;
    let late = json!({ "sources": [{ "alias": "app", "kind": OCI, "name": "late" }] });
    let artifacts = json!([{ "name": "late", "copy": [{ "from": "@app/**", "to": "@artifact/" }] }]);
    sources.apply("late", artifacts, late).await;
    let message = "get sources failed: OCIRepository.source.toolkit.fluxcd.io \"late\" not found";
    let waiting = sources.says("late", "False", message).await;
    assert_eq!(condition(&waiting, "Ready").unwrap().reason, "SourceFetchFailed");
    assert_eq!(condition(&waiting, "Reconciling").unwrap().reason, "ProgressingWithRetry");
    sources.world.oci("late", &sources.registry.url("app"), json!({})).await;
    sources.says("late", "True", "generated 1 artifact(s)").await;
    // A source that goes is told at once. Nothing is in progress then.
    sources.world.api(OCI).await.delete("late", &Default::default()).await.unwrap();
    let waiting = sources.says("late", "False", message).await;
    assert!(condition(&waiting, "Reconciling").is_none());

    let twice = json!([split()[0], split()[0]]);
    sources.apply("twice", twice, json!({})).await;
    let stalled = sources.says("twice", "False", "duplicate artifact name 'one' found").await;
    assert_eq!(condition(&stalled, "Stalled").unwrap().reason, "ValidationFailed");
    assert!(condition(&stalled, "Reconciling").is_none());

    let missing = json!([{ "name": "x", "copy": [{ "from": "@app/nothing", "to": "@artifact/" }] }]);
    sources.apply("missing", missing, json!({})).await;
    let failed = sources.says("missing", "False", "x build failed: failed to apply copy operations: ").await;
    let ready = condition(&failed, "Ready").unwrap();
    assert_eq!(ready.reason, "BuildFailed");
    assert!(ready.message.ends_with("source 'nothing' does not exist"), "{}", ready.message);
    assert!(sources.world.api(EXTERNAL).await.get_opt("x").await.unwrap().is_none());
}

#[tokio::test]
async fn a_paused_generator_does_nothing() {
    let sources = Sources::start().await;
    let api = sources.generators().await;
    let object = json!({ "apiVersion": API, "kind": GENERATOR, "metadata": {
            "name": "paused", "annotations": { "source.extensions.fluxcd.io/reconcile": "Disabled" } },
        "spec": { "sources": [{ "alias": "app", "kind": OCI, "name": "app" }],
            "artifacts": [{ "name": "one", "copy": [{ "from": "@app/**", "to": "@artifact/" }] }] } });
    sources.world.plane.apply(&sources.world.namespace, object).await.unwrap();
    let paused = sources.says("paused", "True", "Initialized with reconciliation suspended").await;
    assert_eq!(condition(&paused, "Ready").unwrap().reason, "ReconciliationDisabled");
    sources.event("paused", "Reconciliation is disabled").await;
    assert!(sources.world.api(EXTERNAL).await.get_opt("one").await.unwrap().is_none());

    let enabled = json!({ "metadata": { "annotations": { "source.extensions.fluxcd.io/reconcile": null } } });
    api.patch("paused", &PatchParams::default(), &Patch::Merge(enabled)).await.unwrap();
    sources.says("paused", "True", "generated 1 artifact(s)").await;
}
