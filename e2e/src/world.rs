use anyhow::{Context, Result};
use kube::Api;
use kube::api::DynamicObject;
use serde_json::json;
use weir_testkit::{ControlPlane, GitServer, Registry, WebhookSink};

use crate::kind::api_version;
use crate::weir_process::crds;
use crate::{Amazon, WeirOptions, WeirProcess};

/// A cluster with Weir in it, and the servers that it works with.
pub struct World {
    // Fields drop in order: Weir goes before what it talks to.
    /// `weir run`.
    pub weir: WeirProcess,
    /// Git over HTTP.
    pub git: GitServer,
    /// The registry of artifacts and images.
    pub registry: Registry,
    /// The sink of notifications.
    pub sink: WebhookSink,
    /// Amazon, if the scenario needs it and this machine has moto.
    pub amazon: Option<Amazon>,
    /// The cluster.
    pub plane: ControlPlane,
}

/// Settings of a world.
#[derive(Debug, Clone, Default)]
pub struct WorldOptions {
    /// True when the API server counts its requests.
    pub audit: bool,
    /// Host name of Amazon by which the registry is known too.
    pub amazon: Option<&'static str>,
    /// Settings of `weir run`.
    pub weir: WeirOptions,
}

impl World {
    /// Starts a world with the CRDs and the namespace `flux-system` in it.
    ///
    /// # Errors
    /// When one of its parts cannot be started.
    pub async fn start() -> Result<Self> {
        Self::start_with(WorldOptions::default()).await
    }

    /// Starts a world in another way.
    ///
    /// # Errors
    /// When one of its parts cannot be started.
    pub async fn start_with(options: WorldOptions) -> Result<Self> {
        let plane = ControlPlane::options();
        let plane = if options.audit { plane.audit() } else { plane };
        let (plane, git, registry, sink) =
            tokio::try_join!(plane.start(), GitServer::start(), Registry::start(), WebhookSink::start())?;
        plane.apply_crds(&crds()).await?;
        plane.namespace("flux-system").await?;
        let amazon = match options.amazon {
            Some(host) => Amazon::start(host, &registry).await?,
            None => None,
        };
        let mut weir = options.weir;
        weir.environment.extend(amazon.iter().flat_map(|amazon| amazon.environment(&amazon.address())));
        let weir = WeirProcess::start(plane.weir_kubeconfig_path(), weir).await?;
        Ok(Self { weir, git, registry, sink, amazon, plane })
    }

    /// Applies a YAML text; objects that name no namespace go to `namespace`.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub async fn apply(&self, namespace: &str, text: &str) -> Result<()> {
        self.plane.apply_yaml(namespace, text).await.context("apply")?;
        Ok(())
    }

    /// Objects of a kind in its newest version.
    ///
    /// # Errors
    /// When the kind is not served.
    pub async fn api(&self, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
        Ok(self.plane.api(api_version(kind), kind, namespace).await?)
    }

    /// Makes a Secret of text values.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub async fn secret(&self, namespace: &str, name: &str, values: &[(&str, &str)]) -> Result<()> {
        let data: serde_json::Map<_, _> =
            values.iter().map(|(key, value)| ((*key).into(), json!(value))).collect();
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        self.plane.apply(namespace, secret).await?;
        Ok(())
    }

    /// Messages of the Kubernetes Events about an object, oldest first, as `REASON: MESSAGE`.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn events(&self, namespace: &str, kind: &str, name: &str) -> Result<Vec<String>> {
        let api: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(self.plane.client()?, namespace);
        let mut events = api.list(&Default::default()).await?.items;
        events.retain(|event| {
            event.involved_object.kind.as_deref() == Some(kind)
                && event.involved_object.name.as_deref() == Some(name)
        });
        events.sort_by_key(|event| event.metadata.creation_timestamp.clone());
        let line = |event: &k8s_openapi::api::core::v1::Event| {
            let reason = event.reason.as_deref().unwrap_or_default();
            format!("{reason}: {}", event.message.as_deref().unwrap_or_default())
        };
        Ok(events.iter().map(line).collect())
    }
}
