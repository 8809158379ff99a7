//! The steps of a demo: each changes something and waits until the cluster has followed.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Resource;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use super::git::Repository;
use crate::apply;
use crate::builtin;
use crate::cluster::Cluster;
use crate::error::{Error, chain};

const APP: &str = include_str!("app.yaml");
const SETTINGS: &str = include_str!("settings.yaml");
/// Images of the app; none is ever pulled, since there is no node.
const IMAGES: [&str; 2] = ["podinfo:6.0.0", "podinfo:6.1.0"];
/// Namespace of the app.
const NAMESPACE: &str = "default";
/// Name of the ConfigMap.
const CONFIG: &str = "settings";
/// Key of its one value.
const KEY: &str = "greeting";

/// The cluster and the repository that it follows.
pub(super) struct Steps<'d> {
    pub(super) cluster: &'d Cluster,
    pub(super) repository: &'d Repository,
}

impl Steps<'_> {
    /// Commits manifests, and tells the cluster to follow the repository.
    pub(super) async fn commit(&self) -> Result<String, Error> {
        let [image, _] = IMAGES;
        let app = app(image);
        let files = [("app.yaml", Some(app.as_str())), ("settings.yaml", Some(SETTINGS))];
        let commit = self.repository.commit("Add the app", &files).await?;
        apply::apply(self.cluster, &toolkit(&self.repository.url), |_| {}).await?;
        self.wait_for_image(image).await?;
        self.wait_for_greeting("hello").await?;
        Ok(format!("commit {commit} is applied: Deployment podinfo with image {image}, ConfigMap settings"))
    }

    /// Commits another image.
    pub(super) async fn upgrade(&self) -> Result<String, Error> {
        let [_, image] = IMAGES;
        let commit = self.repository.commit("Upgrade the app", &[("app.yaml", Some(&app(image)))]).await?;
        self.wait_for_image(image).await?;
        Ok(format!("commit {commit} is applied: Deployment podinfo has image {image}"))
    }

    /// Changes an object in the cluster.
    pub(super) async fn drift(&self) -> Result<String, Error> {
        let patch = Patch::Merge(json!({ "data": { KEY: "changed by hand" } }));
        let api = self.api::<ConfigMap>();
        let changed = self.cluster.in_time(api.patch(CONFIG, &PatchParams::default(), &patch)).await??;
        if greeting(Some(&changed)) != Some("changed by hand") {
            return Err(Error::Demo("the API server has not made the change".to_owned()));
        }
        self.wait_for_greeting("hello").await?;
        Ok("the change is taken back: it says hello again".to_owned())
    }

    /// Removes a manifest.
    pub(super) async fn prune(&self) -> Result<String, Error> {
        let commit = self.repository.commit("Remove the settings", &[("settings.yaml", None)]).await?;
        self.wait::<ConfigMap>(CONFIG, |config| config.is_none()).await?;
        let [_, image] = IMAGES;
        self.wait_for_image(image).await?;
        Ok(format!("commit {commit} is applied: ConfigMap settings is gone, Deployment podinfo stays"))
    }

    async fn wait_for_image(&self, wanted: &str) -> Result<(), Error> {
        self.wait::<Deployment>("podinfo", |app| image(app) == Some(wanted)).await
    }

    async fn wait_for_greeting(&self, wanted: &str) -> Result<(), Error> {
        self.wait::<ConfigMap>(CONFIG, |config| greeting(config) == Some(wanted)).await
    }

    async fn wait<K: Resource<DynamicType = ()>>(
        &self,
        name: &str,
        wanted: impl Fn(Option<&DynamicObject>) -> bool,
    ) -> Result<(), Error> {
        let waited = self.cluster.in_time(await_condition(self.api::<K>(), name, wanted)).await?;
        waited.map(drop).map_err(|error| Error::Api(chain(&error)))
    }

    fn api<K: Resource<DynamicType = ()>>(&self) -> Api<DynamicObject> {
        builtin::namespaced::<K>(&self.cluster.client, NAMESPACE)
    }
}

fn app(image: &str) -> String {
    APP.replace("<image>", image)
}

fn image(app: Option<&DynamicObject>) -> Option<&str> {
    builtin::images(app?).next()
}

fn greeting(config: Option<&DynamicObject>) -> Option<&str> {
    config?.data.pointer("/data")?.get(KEY)?.as_str()
}

/// The objects that a user makes once: the source and what is applied of it.
fn toolkit(url: &str) -> [Value; 2] {
    let metadata = json!({ "name": "fleet", "namespace": "flux-system" });
    [
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata,
            // A commit is followed at once: people are watching.
            "spec": { "interval": "1s", "url": url, "ref": { "branch": "main" } },
        }),
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": metadata,
            "spec": {
                "interval": "10m", "path": "./", "prune": true,
                "sourceRef": { "kind": "GitRepository", "name": "fleet" },
            },
        }),
    ]
}
