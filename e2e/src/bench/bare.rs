use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use weir_testkit::{condition, documents};

use super::fleet::{KUSTOMIZE_API, TENANT, UNIT, kustomization};
use super::stage::Stage;
use super::steps::{delete, names, wait_for_all};

/// Namespace of its units.
const NAMESPACE: &str = "bench-bare";

const MANAGER: &str = "bare";

/// The cost of one of its phases.
#[derive(Debug, Clone, Copy)]
pub(super) struct BareCost {
    /// From the first request until the last Deployment is rolled out.
    pub(super) seconds: f64,
    /// CPU time of the API server in seconds.
    pub(super) server_cpu_seconds: f64,
}

/// Its phases, by their names.
pub(super) type BareCosts = BTreeMap<&'static str, BareCost>;

/// An applier without logic: it sends the requests that nobody could leave out, as many units in flight as a service works on, and then
/// waits until the Deployments are as `wait: true` asks. Seconds of its phases are those of the control plane on this machine, with
/// which those of the services are compared.
pub(super) struct Bare<'a> {
    stage: &'a Stage,
    size: usize,
    in_flight: usize,
    kustomizations: Api<DynamicObject>,
    deployments: Api<DynamicObject>,
    /// Acts as the tenant, as the Kustomizations ask for.
    tenant: Client,
}

impl<'a> Bare<'a> {
    pub(super) async fn prepare(stage: &'a Stage, size: usize, in_flight: usize) -> Result<Self> {
        stage.plane.namespace(NAMESPACE).await?;
        super::fleet::tenant(&stage.plane, NAMESPACE).await?;
        let mut config = stage.plane.config()?;
        config.auth_info.impersonate = Some(format!("system:serviceaccount:{NAMESPACE}:{TENANT}"));
        let tenant = Client::try_from(config)?;
        let kustomizations = stage.plane.api(KUSTOMIZE_API, "Kustomization", NAMESPACE).await?;
        let deployments = stage.plane.api("apps/v1", "Deployment", NAMESPACE).await?;
        Ok(Self { stage, size, in_flight, kustomizations, deployments, tenant })
    }

    /// Plays all phases; nothing is left of them.
    pub(super) async fn play(&self) -> Result<BareCosts> {
        let install = async {
            self.each(async |name| self.install(name).await).await?;
            self.wait(1).await
        };
        let install = self.cost(install).await?;
        let upgrade = async {
            self.each(async |name| self.upgrade(name).await).await?;
            self.wait(2).await
        };
        let upgrade = self.cost(upgrade).await?;
        let resync = self.cost(self.each(async |name| self.resync(name).await)).await?;
        let deletion = async {
            self.each(async |name| self.delete(name).await).await?;
            delete(&self.kustomizations, self.size).await
        };
        let deletion = self.cost(deletion).await?;
        let phases = [("install", install), ("upgrade", upgrade), ("resync", resync), ("deletion", deletion)];
        Ok(phases.into())
    }

    async fn cost(&self, phase: impl Future<Output = Result<()>>) -> Result<BareCost> {
        let (start, server) = (Instant::now(), self.stage.server()?);
        phase.await?;
        let seconds = start.elapsed().as_secs_f64();
        let server_cpu_seconds = self.stage.server()?.cpu_seconds - server.cpu_seconds;
        Ok(BareCost { seconds, server_cpu_seconds })
    }

    async fn each(&self, act: impl AsyncFn(&str) -> Result<()>) -> Result<()> {
        let act = &act;
        let units = stream::iter(names(self.size)).map(|name| async move { act(&name).await });
        units.buffer_unordered(self.in_flight).try_for_each(|()| async { Ok(()) }).await
    }

    /// Waits until all Deployments are rolled out in a generation: `wait: true` takes one that is merely observed for one in progress.
    async fn wait(&self, generation: i64) -> Result<()> {
        let is_rolled_out = |object: &DynamicObject| {
            let observed = object.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
            let progressing = condition(object, "Progressing");
            observed == Some(generation)
                && object.metadata.generation == Some(generation)
                && progressing.is_some_and(|progressing| progressing.reason == "NewReplicaSetAvailable")
        };
        wait_for_all(&self.deployments, self.size, is_rolled_out).await
    }

    /// The user's object, a dry run and an apply of each object, a status.
    async fn install(&self, name: &str) -> Result<()> {
        // Suspended: the service that is measured leaves it alone.
        let mut object = kustomization(NAMESPACE, name);
        if let Some(spec) = object.pointer_mut("/spec").and_then(Value::as_object_mut) {
            spec.insert("suspend".into(), json!(true));
        }
        self.kustomizations.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        let objects = objects(name, "v1")?;
        self.apply(&objects, true).await?;
        self.apply(&objects, false).await?;
        self.report(name, "v1").await
    }

    /// The user's change, an apply of the one object that it changes, a status.
    async fn upgrade(&self, name: &str) -> Result<()> {
        self.patch(name, &json!({"spec": {"postBuild": {"substitute": {"version": "v2"}}}})).await?;
        let mut objects = objects(name, "v2")?;
        objects.retain(|object| object.types.as_ref().is_some_and(|types| types.kind == "Deployment"));
        self.apply(&objects, false).await?;
        self.report(name, "v2").await
    }

    /// The user's question, a status.
    async fn resync(&self, name: &str) -> Result<()> {
        self.patch(name, &json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "bare"}}}))
            .await?;
        self.report(name, "v3").await
    }

    /// A deletion of each object, and what takes a finalizer away.
    async fn delete(&self, name: &str) -> Result<()> {
        let objects = objects(name, "v2")?;
        let delete = |object: &DynamicObject| {
            let (api, name) = (self.api(object), object.name_any());
            async move { anyhow::Ok(api?.delete(&name, &DeleteParams::background()).await.map(drop)?) }
        };
        try_join_all(objects.iter().map(delete)).await?;
        self.patch(name, &json!({"metadata": {"annotations": {"bare": "gone"}}})).await
    }

    async fn apply(&self, objects: &[DynamicObject], dry_run: bool) -> Result<()> {
        let params = PatchParams { dry_run, ..PatchParams::apply(MANAGER).force() };
        let apply = |object: &DynamicObject| {
            let (api, params, object) = (self.api(object), params.clone(), object.clone());
            async move {
                anyhow::Ok(api?.patch(&object.name_any(), &params, &Patch::Apply(&object)).await.map(drop)?)
            }
        };
        try_join_all(objects.iter().map(apply)).await.map(drop)
    }

    async fn report(&self, name: &str, revision: &str) -> Result<()> {
        let status = Patch::Merge(json!({"status": status(name, revision)}));
        self.kustomizations.patch_status(name, &PatchParams::default(), &status).await?;
        Ok(())
    }

    async fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        self.kustomizations.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    fn api(&self, object: &DynamicObject) -> Result<Api<DynamicObject>> {
        let types = object.types.as_ref().context("an object without a kind")?;
        let (group, version) = types.api_version.rsplit_once('/').unwrap_or(("", &types.api_version));
        let kind = kube::core::GroupVersionKind::gvk(group, version, &types.kind);
        let plural = if types.kind == "Ingress" {
            "ingresses".into()
        } else {
            format!("{}s", types.kind.to_lowercase())
        };
        Ok(Api::namespaced_with(
            self.tenant.clone(),
            NAMESPACE,
            &ApiResource::from_gvk_with_plural(&kind, &plural),
        ))
    }
}

/// The status of a unit that is Ready, with `False` for `True`. The API asks for all of it (KS 13), and the API server's work at each write of a Kustomization,
/// also at those of users, grows with it.
fn status(name: &str, revision: &str) -> Value {
    let now = jiff::Timestamp::now().strftime("%FT%TZ").to_string();
    let revision = format!("{revision}@sha256:{:064}", 0);
    // A service of Weir writes that it has seen the newest generation of a suspended object if that is Ready.
    let condition = |type_: &str, reason: &str, message: String| {
        json!({"type": type_, "status": "False", "reason": reason, "message": message,
            "observedGeneration": 1, "lastTransitionTime": now})
    };
    let entries = ["_ServiceAccount", "_Service", "apps_Deployment", "networking.k8s.io_Ingress"]
        .map(|kind| json!({"id": format!("{NAMESPACE}_{name}_{kind}"), "v": "v1"}));
    json!({
        "observedGeneration": 1,
        "lastAppliedRevision": revision,
        "lastAttemptedRevision": revision,
        "conditions": [
            condition("Ready", "ReconciliationSucceeded", format!("Applied revision: {revision}")),
            condition("Healthy", "Succeeded", "Health check passed in 1.2s".to_owned()),
        ],
        "inventory": {"entries": entries},
        "history": [{"digest": format!("sha256:{:064}", 0), "firstReconciled": now, "lastReconciled": now,
            "lastReconciledDuration": "1.5s", "lastReconciledStatus": "ReconciliationSucceeded",
            "totalReconciliations": 1, "metadata": {"revision": revision}}],
    })
}

/// The objects of a unit, as a build of Weir's makes them.
fn objects(name: &str, version: &str) -> Result<Vec<DynamicObject>> {
    let text = UNIT.replace("${name}", name).replace("${version}", version);
    documents(&text)?.into_iter().map(|object| Ok(serde_json::from_value(object)?)).collect()
}
