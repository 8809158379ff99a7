//! D3: progressive delivery on top. The test writes to the cluster as Flagger does, and Weir leaves those changes alone.

use anyhow::{Result, ensure};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use weir_testkit::{stand_in_image, wait_for, wait_gone, wait_ready};

use super::DEADLINE;
use super::fleet::Fleet;
use super::main_loop::is_rolled_out;
use crate::NAMESPACE;

/// A CRD as that of Flagger, an object of it, and the Kustomization that waits for it.
const CANARIES: &str = include_str!("manifests/canaries.yaml");
const CANARY: &str = include_str!("manifests/canary.yaml");
const KUSTOMIZATION: &str = include_str!("manifests/canary-kustomization.yaml");

const FILES: [(&str, &str); 3] = [
    ("canary/crd.yaml", CANARIES),
    ("canary/canary.yaml", CANARY),
    ("clusters/prod/canary.yaml", KUSTOMIZATION),
];

/// The application of D2, which serves nobody once it is a canary's target, and the copy that does.
const TARGET: &str = "podinfo";
const PRIMARY: &str = "podinfo-primary";

/// A rollout of podinfo from one version to the next, with runs of its Kustomization between the steps of the canary.
pub(super) async fn is_left_alone(fleet: &Fleet<'_>) -> Result<()> {
    fleet.push("Add a canary", &FILES).await?;
    let flagger = Flagger::new(fleet).await?;
    flagger.initialize().await?;
    flagger.tell("True").await?;
    let kustomizations = fleet.world.api("Kustomization", NAMESPACE).await?;
    wait_ready(&kustomizations, "canary", DEADLINE).await?;
    flagger.untouched_by_a_run(0).await?;

    let image = release(fleet, "6.0.1").await?;
    let has_image = |object: Option<&DynamicObject>| object.is_some_and(|it| is_rolled_out(it, &image));
    wait_for(&flagger.deployments, TARGET, &image, DEADLINE, has_image).await?;
    flagger.tell("Unknown").await?;
    flagger.scale(1).await?;
    wait_for(&flagger.deployments, TARGET, "the canary's Pod", DEADLINE, has_image).await?;
    flagger.untouched_by_a_run(1).await?;

    flagger.promote(&image).await?;
    flagger.scale(0).await?;
    flagger.tell("True").await?;
    flagger.untouched_by_a_run(0).await?;

    fleet.remove("Remove the canary", &FILES.map(|(path, _)| path)).await?;
    wait_gone(&kustomizations, "canary", DEADLINE).await?;
    flagger.deployments.delete(PRIMARY, &DeleteParams::default()).await?;
    Ok(())
}

/// Pushes another version of podinfo, and commits that it is to run.
async fn release(fleet: &Fleet<'_>, version: &str) -> Result<String> {
    let (world, file) = (fleet.world, "kustomize/deployment.yaml");
    let made = stand_in_image(TARGET, version, TARGET)?;
    world.registry().push_made_image(TARGET, version, &made).await?;
    let repo = world.git.repo(TARGET)?;
    let app = repo.read("master", file)?;
    repo.commit("master", "Another version", &[(file, &app.replace("6.0.0", version))])?;
    fleet.weir("reconcile kustomization podinfo --with-source").await?;
    Ok(format!("{}/{TARGET}:{version}", world.cluster.registry_address()))
}

/// The writes of Flagger, whose order is that of its releases without a mesh.
struct Flagger<'a> {
    fleet: &'a Fleet<'a>,
    deployments: Api<DynamicObject>,
    canaries: Api<DynamicObject>,
}

impl<'a> Flagger<'a> {
    async fn new(fleet: &'a Fleet<'a>) -> Result<Self> {
        let api = async |kind| {
            let is_served = async || fleet.world.api(kind, "default").await.ok();
            weir_testkit::eventually(&format!("{kind} to be served"), DEADLINE, is_served).await
        };
        let canaries = api("Canary").await?;
        wait_for(&canaries, TARGET, "to be applied", DEADLINE, |object| object.is_some()).await?;
        Ok(Self { fleet, deployments: api("Deployment").await?, canaries })
    }

    /// Copies the application, labels of its owner left out, and stops the Pods of the original.
    async fn initialize(&self) -> Result<()> {
        let target = self.deployments.get(TARGET).await?;
        let labels = json!({"app": PRIMARY});
        let mut spec = target.data.get("spec").cloned().unwrap_or_default();
        for labels_of_pods in ["/selector/matchLabels", "/template/metadata/labels"] {
            if let Some(old) = spec.pointer_mut(labels_of_pods) {
                *old = labels.clone();
            }
        }
        let primary = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": PRIMARY, "labels": labels}, "spec": spec});
        let parameters = PostParams { field_manager: Some("flagger".into()), ..PostParams::default() };
        self.deployments.create(&parameters, &serde_json::from_value(primary)?).await?;
        self.scale(0).await
    }

    async fn scale(&self, replicas: u32) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.deployments.patch(TARGET, &by_flagger(), &patch).await?;
        Ok(())
    }

    /// Gives the copy the version that has proved itself.
    async fn promote(&self, image: &str) -> Result<()> {
        let container =
            json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]);
        let patch = Patch::<Value>::Json(serde_json::from_value(container)?);
        self.deployments.patch(PRIMARY, &by_flagger(), &patch).await?;
        Ok(())
    }

    /// Says whether the newest version is promoted.
    async fn tell(&self, promoted: &str) -> Result<()> {
        let status = json!({"status": {"conditions": [{"type": "Promoted", "status": promoted}]}});
        self.canaries.patch_status(TARGET, &by_flagger(), &Patch::Merge(status)).await?;
        Ok(())
    }

    /// Has the application's Kustomization run: both Deployments stay as they are.
    async fn untouched_by_a_run(&self, replicas: u64) -> Result<()> {
        let before = self.state().await?;
        self.fleet.weir("reconcile kustomization podinfo").await?;
        let after = self.state().await?;
        ensure!(before == after, "touched by a run: {before:?} is {after:?}");
        let target = self.deployments.get(TARGET).await?;
        let wanted = target.data.pointer("/spec/replicas").and_then(Value::as_u64);
        ensure!(wanted == Some(replicas), "the canary's replicas are {wanted:?}, not {replicas}");
        Ok(())
    }

    /// Identities and generations.
    async fn state(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for name in [TARGET, PRIMARY] {
            let meta = self.deployments.get(name).await?.metadata;
            all.push(format!("{name} {:?} {:?}", meta.uid, meta.generation));
        }
        Ok(all)
    }
}

fn by_flagger() -> PatchParams {
    PatchParams { field_manager: Some("flagger".into()), ..PatchParams::default() }
}
