//! An apply that is long enough for a Pod to die in the middle of it.

use std::fmt::Write;

use anyhow::{Result, ensure};
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use weir_testkit::{touch_requested_at, wait_for};

use super::world::World;
use super::{DEADLINE, text};
use crate::NAMESPACE;

/// Enough that the apply is under way when the first of them is seen.
pub(super) const OBJECTS: usize = 400;

/// ConfigMaps that the application's Kustomization applies.
pub(super) struct LongApply<'a> {
    world: &'a World,
    name: &'static str,
    revision: String,
    config_maps: Api<DynamicObject>,
}

impl<'a> LongApply<'a> {
    /// Commits the objects `<name>-<number>`, in place of those of an earlier apply, and returns when the first of them is there.
    pub(super) async fn begin(world: &'a World, name: &'static str) -> Result<Self> {
        let mut objects = String::new();
        for number in 0..OBJECTS {
            writeln!(
                objects,
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-{number}, labels: {{app: {name}}}}}"
            )?;
        }
        let repo = world.git.repo("fleet")?;
        let commit = repo.commit("main", "Add many objects", &[("many.yaml", &objects)])?;
        let sources = world.api("GitRepository", NAMESPACE).await?;
        touch_requested_at(&sources, "app").await?;
        let config_maps = world.api("ConfigMap", "default").await?;
        let first = format!("{name}-0");
        wait_for(&config_maps, &first, "the first object", DEADLINE, |object| object.is_some()).await?;
        Ok(Self { world, name, revision: format!("main@sha1:{commit}"), config_maps })
    }

    /// Returns how many of the objects are there.
    pub(super) async fn count(&self) -> Result<usize> {
        let own = ListParams::default().labels(&format!("app={}", self.name));
        Ok(self.config_maps.list(&own).await?.items.len())
    }

    /// Waits until the Kustomization says that the commit is applied; then all objects are there.
    pub(super) async fn finish(&self) -> Result<()> {
        let is_applied = |object: Option<&DynamicObject>| {
            object.is_some_and(|it| {
                text(&it.data, "/status/lastAppliedRevision").is_ok_and(|it| it == self.revision)
            })
        };
        let kustomizations = self.world.api("Kustomization", NAMESPACE).await?;
        wait_for(&kustomizations, "app", &self.revision, DEADLINE, is_applied).await?;
        let all = self.count().await?;
        ensure!(all == OBJECTS, "{all} of {OBJECTS} objects are there");
        Ok(())
    }
}
