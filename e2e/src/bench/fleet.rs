use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use weir_testkit::condition;

use crate::World;

/// Where everything lives.
const NAMESPACE: &str = "bench";

/// The tenant that Kustomizations impersonate.
pub(super) const TENANT: &str = "tenant";

/// The label that spreads objects over shards (SHA-01).
pub(super) const SHARD: &str = "sharding.fluxcd.io/key";

/// Requests of the user in flight; the API server's limit for mutating requests is 200.
const IN_FLIGHT: usize = 20;

pub(super) const UNIT: &str = include_str!("unit.yaml");

/// N OCIRepositories and N Kustomizations, and what users do with them.
pub(super) struct Fleet {
    size: usize,
    shards: usize,
    source_url: String,
    sources: Api<DynamicObject>,
    kustomizations: Api<DynamicObject>,
}

impl Fleet {
    /// Pushes the artifact and makes namespace and tenant.
    pub(super) async fn prepare(world: &World, size: usize, shards: usize) -> Result<Self> {
        world.registry.push_artifact("unit", "v1", &[("unit.yaml", UNIT)]).await?;
        world.plane.namespace(NAMESPACE).await?;
        tenant(world, NAMESPACE).await?;
        Ok(Self {
            size,
            shards,
            source_url: world.registry.url("unit"),
            sources: world.api("OCIRepository", NAMESPACE).await?,
            kustomizations: world.api("Kustomization", NAMESPACE).await?,
        })
    }

    pub(super) async fn create_sources(&self) -> Result<()> {
        let spec = json!({"interval": "1h", "url": self.source_url, "insecure": true, "ref": {"tag": "v1"}});
        let source = |name: &str| {
            let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
                "metadata": {"name": name}, "spec": spec});
            self.in_shard(name, source)
        };
        create(&self.sources, self.size, source).await?;
        wait_for_all(&self.sources, self.size, is_ready).await
    }

    pub(super) async fn install(&self) -> Result<()> {
        create(&self.kustomizations, self.size, |name| self.in_shard(name, kustomization(NAMESPACE, name)))
            .await?;
        wait_for_all(&self.kustomizations, self.size, is_ready).await
    }

    /// Changes a substitute of all, which changes all Deployments.
    pub(super) async fn upgrade(&self) -> Result<()> {
        patch(
            &self.kustomizations,
            self.size,
            json!({"spec": {"postBuild": {"substitute": {"version": "v2"}}}}),
        )
        .await?;
        let upgraded = |object: &DynamicObject| object.metadata.generation == Some(2) && is_ready(object);
        wait_for_all(&self.kustomizations, self.size, upgraded).await
    }

    /// Asks all for a reconcile although nothing has changed.
    pub(super) async fn resync(&self) -> Result<()> {
        let token = "resync";
        let annotations = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
        patch(&self.kustomizations, self.size, annotations).await?;
        let handled = |object: &DynamicObject| {
            let at = object.data.pointer("/status/lastHandledReconcileAt").and_then(Value::as_str);
            at == Some(token) && is_ready(object)
        };
        wait_for_all(&self.kustomizations, self.size, handled).await
    }

    pub(super) async fn delete(&self) -> Result<()> {
        let (delete, list) = (DeleteParams::default(), ListParams::default());
        self.kustomizations.delete_collection(&delete, &list).await?;
        wait_for_none(&self.kustomizations).await
    }

    /// Labels an object with its shard, where there are several; each has the same number of them.
    fn in_shard(&self, name: &str, mut object: Value) -> Value {
        let number = name.rsplit('-').next().and_then(|number| number.parse::<usize>().ok());
        if let (Some(number), Some(metadata)) = (number, object.pointer_mut("/metadata"))
            && self.shards > 1
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.insert("labels".into(), json!({SHARD: shard(number % self.shards)}));
        }
        object
    }
}

/// The value of the label that gives an object to a shard.
pub(super) fn shard(number: usize) -> String {
    format!("shard{number}")
}

/// Returns the Kustomization of a unit, which is installed into its own namespace.
pub(super) fn kustomization(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name},
        "spec": {"interval": "1h", "path": "./", "prune": true, "wait": true, "timeout": "10m",
            "targetNamespace": namespace, "serviceAccountName": TENANT,
            "sourceRef": {"kind": "OCIRepository", "name": name},
            "postBuild": {"substitute": {"name": name, "version": "v1"}}}})
}

/// Makes the account that Kustomizations impersonate; it may do everything.
pub(super) async fn tenant(world: &World, namespace: &str) -> Result<()> {
    let everything = || Some(vec!["*".to_owned()]);
    let rule = PolicyRule {
        api_groups: everything(),
        resources: everything(),
        verbs: vec!["*".into()],
        ..PolicyRule::default()
    };
    world.plane.service_account(namespace, TENANT, &[rule]).await?;
    Ok(())
}

pub(super) fn names(size: usize) -> impl Iterator<Item = String> {
    (0..size).map(|number| format!("unit-{number}"))
}

/// Makes objects `unit-0` and so on.
pub(crate) async fn create(
    api: &Api<DynamicObject>,
    size: usize,
    object: impl Fn(&str) -> Value,
) -> Result<()> {
    let params = PostParams::default();
    stream::iter(names(size))
        .map(|name| {
            let object = serde_json::from_value::<DynamicObject>(object(&name));
            let params = &params;
            async move { anyhow::Ok(api.create(params, &object?).await?) }
        })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(|_| async { Ok(()) })
        .await
}

/// Patches them all.
pub(crate) async fn patch(api: &Api<DynamicObject>, size: usize, patch: Value) -> Result<()> {
    let (patch, params) = (Patch::Merge(patch), PatchParams::default());
    let (patch, params) = (&patch, &params);
    stream::iter(names(size))
        .map(|name| async move { api.patch(&name, params, patch).await })
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    Ok(())
}

/// Returns true when the object is Ready about its newest generation.
pub(crate) fn is_ready(object: &DynamicObject) -> bool {
    condition(object, "Ready").is_some_and(|ready| {
        ready.status == "True" && Some(ready.observed_generation) == object.metadata.generation
    })
}

/// Watches until as many objects as there are fit.
pub(crate) async fn wait_for_all(
    api: &Api<DynamicObject>,
    size: usize,
    fits: impl Fn(&DynamicObject) -> bool,
) -> Result<()> {
    let mut fitting = BTreeSet::new();
    let mut events = std::pin::pin!(watcher::watcher(api.clone(), watcher::Config::default()));
    while let Some(event) = events.try_next().await? {
        if let Event::InitApply(object) | Event::Apply(object) = event {
            if fits(&object) {
                fitting.insert(object.name_any());
            } else {
                fitting.remove(&object.name_any());
            }
            if fitting.len() == size {
                return Ok(());
            }
        }
    }
    bail!("the watch ended with {} of {size}", fitting.len())
}

async fn wait_for_none(api: &Api<DynamicObject>) -> Result<()> {
    let mut left = BTreeSet::new();
    let mut events = std::pin::pin!(watcher::watcher(api.clone(), watcher::Config::default()));
    while let Some(event) = events.try_next().await? {
        let may_be_over = matches!(event, Event::InitDone | Event::Delete(_));
        match event {
            Event::InitApply(object) | Event::Apply(object) => drop(left.insert(object.name_any())),
            Event::Delete(object) => drop(left.remove(&object.name_any())),
            Event::Init | Event::InitDone => {}
        }
        if may_be_over && left.is_empty() {
            return Ok(());
        }
    }
    Err(anyhow::anyhow!("{} left", left.len())).context("the watch ended")
}
