use anyhow::Result;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Api;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use weir_testkit::ControlPlane;
use weir_testkit::object::oci_repository;

use super::stage::Stage;
use super::steps::{create, delete, is_ready, number, patch, request, wait_for_all};

/// Namespace of everything.
const NAMESPACE: &str = "bench";

/// The tenant that Kustomizations impersonate.
pub(super) const TENANT: &str = "tenant";

/// The label that spreads objects over shards (SHA-01).
pub(super) const SHARD: &str = "sharding.fluxcd.io/key";

pub(super) const SOURCE_API: &str = "source.toolkit.fluxcd.io/v1";
pub(super) const KUSTOMIZE_API: &str = "kustomize.toolkit.fluxcd.io/v1";

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
    pub(super) async fn prepare(stage: &Stage, size: usize, shards: usize) -> Result<Self> {
        stage.registry.push_artifact("unit", "v1", &[("unit.yaml", UNIT)]).await?;
        stage.plane.namespace(NAMESPACE).await?;
        tenant(&stage.plane, NAMESPACE).await?;
        Ok(Self {
            size,
            shards,
            source_url: stage.registry.url("unit"),
            sources: stage.plane.api(SOURCE_API, "OCIRepository", NAMESPACE).await?,
            kustomizations: stage.plane.api(KUSTOMIZE_API, "Kustomization", NAMESPACE).await?,
        })
    }

    pub(super) async fn create_sources(&self) -> Result<()> {
        let source = |name: &str| self.in_shard(name, oci_repository(name, &self.source_url));
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

    /// Asks all for a reconciliation although nothing has changed.
    pub(super) async fn resync(&self) -> Result<()> {
        request(&self.kustomizations, self.size).await
    }

    pub(super) async fn delete(&self) -> Result<()> {
        delete(&self.kustomizations, self.size).await
    }

    /// Labels an object with its shard, where there are several; each has the same number of them.
    fn in_shard(&self, name: &str, mut object: Value) -> Value {
        if self.shards > 1
            && let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("labels".into(), json!({SHARD: shard(number(name) % self.shards)}));
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
    json!({"apiVersion": KUSTOMIZE_API, "kind": "Kustomization",
        "metadata": {"name": name},
        "spec": {"interval": "1h", "path": "./", "prune": true, "wait": true, "timeout": "10m",
            "targetNamespace": namespace, "serviceAccountName": TENANT,
            "sourceRef": {"kind": "OCIRepository", "name": name},
            "postBuild": {"substitute": {"name": name, "version": "v1"}}}})
}

/// Makes the account that Kustomizations impersonate; it may do everything.
pub(super) async fn tenant(plane: &ControlPlane, namespace: &str) -> Result<()> {
    let everything = || Some(vec!["*".to_owned()]);
    let rule = PolicyRule {
        api_groups: everything(),
        resources: everything(),
        verbs: vec!["*".into()],
        ..PolicyRule::default()
    };
    plane.service_account(namespace, TENANT, &[rule]).await?;
    Ok(())
}
