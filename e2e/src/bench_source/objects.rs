//! The steps of users with sources: make them, request a reconciliation, wait.

use anyhow::Result;
use kube::Api;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use weir_testkit::ControlPlane;

use crate::bench::{create, is_ready, request, wait_for_all};

/// Namespace of everything.
pub(super) const NAMESPACE: &str = "bench";
const KINDS: [&str; 5] = ["OCIRepository", "GitRepository", "HelmRepository", "HelmChart", "Bucket"];
const API: &str = "source.toolkit.fluxcd.io/v1";

/// The kinds of one control plane.
pub(super) struct Objects {
    apis: Vec<(&'static str, Api<DynamicObject>)>,
}

impl Objects {
    pub(super) async fn new(plane: &ControlPlane) -> Result<Self> {
        plane.namespace(NAMESPACE).await?;
        let mut apis = Vec::new();
        for kind in KINDS {
            apis.push((kind, plane.api(API, kind, NAMESPACE).await?));
        }
        Ok(Self { apis })
    }

    fn api(&self, kind: &str) -> Result<&Api<DynamicObject>> {
        let found = self.apis.iter().find(|(known, _)| *known == kind);
        found.map(|(_, api)| api).ok_or_else(|| anyhow::anyhow!("{kind} is not measured"))
    }

    /// Makes objects of one spec and waits until all are Ready.
    pub(super) async fn create(&self, kind: &str, size: usize, spec: &Value) -> Result<()> {
        let api = self.api(kind)?;
        let object =
            |name: &str| json!({"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec});
        create(api, size, object).await?;
        wait_for_all(api, size, is_ready).await
    }

    /// Asks all for a look, and waits until all have looked.
    pub(super) async fn request(&self, kind: &str, size: usize) -> Result<()> {
        request(self.api(kind)?, size).await
    }

    /// Waits until the one object has the artifact of a commit.
    pub(super) async fn at(&self, kind: &str, commit: &str) -> Result<()> {
        let has = |object: &DynamicObject| {
            let revision = object.data.pointer("/status/artifact/revision").and_then(Value::as_str);
            revision.is_some_and(|revision| revision.ends_with(commit))
        };
        wait_for_all(self.api(kind)?, 1, has).await
    }
}
