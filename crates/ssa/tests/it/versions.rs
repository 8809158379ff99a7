//! Objects whose API has several versions: managers of fields in older ones, and versions that are no longer served.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use weir_kstatus::Status;
use weir_ssa::{Manifest, Settings};

use crate::world::{PATIENCE, World, lines};

/// A kind of a group of one's own, with two fields in each version. The last version is the one that is stored.
struct Gears<'w> {
    world: &'w World,
    group: String,
    /// Versions with the schemas of their second field.
    versions: [(&'static str, Value); 2],
}

impl<'w> Gears<'w> {
    fn new(world: &'w World, versions: [(&'static str, Value); 2]) -> Self {
        Self { world, group: format!("{}.example.com", world.ns), versions }
    }

    fn definition(&self, unserved: &str) -> Value {
        let stored = self.versions[1].0;
        let version = |(name, second): &(&str, Value)| {
            let mut fields = json!({"a": {"type": "string"}, "b": second});
            fields.as_object_mut().unwrap().retain(|_, schema| !schema.is_null());
            let schema =
                json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}});
            json!({"name": name, "served": *name != unserved, "storage": *name == stored,
                "schema": {"openAPIV3Schema": schema}})
        };
        let versions: Vec<Value> = self.versions.iter().map(version).collect();
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("gears.{}", self.group)},
            "spec": {"group": self.group, "scope": "Namespaced", "versions": versions,
                "names": {"plural": "gears", "singular": "gear", "kind": "Gear"}}})
    }

    fn gear(&self, version: &str) -> Value {
        json!({"apiVersion": format!("{}/{version}", self.group), "kind": "Gear",
            "metadata": {"name": "g", "namespace": self.world.ns}, "spec": {"a": "1"}})
    }

    async fn api(&self, version: &str) -> Api<DynamicObject> {
        self.world.api(&format!("{}/{version}", self.group), "Gear").await
    }

    /// The versions of the managers of a Gear's fields.
    async fn managers(&self) -> Vec<String> {
        let live = self.api(self.versions[1].0).await.get("g").await.unwrap();
        let entries = live.metadata.managed_fields.unwrap().into_iter();
        entries.map(|entry| entry.api_version.unwrap().replace(&format!("{}/", self.group), "")).collect()
    }

    /// Ends the service of a version.
    async fn unserve(&self, version: &str) {
        let old = self.api(version).await;
        let definitions = self.world.api("apiextensions.k8s.io/v1", "CustomResourceDefinition").await;
        let patch = Patch::Merge(json!({"spec": self.definition(version)["spec"]}));
        let name = format!("gears.{}", self.group);
        definitions.patch(&name, &PatchParams::default(), &patch).await.unwrap();
        weir_testkit::eventually("the version is no longer served", PATIENCE, async || {
            matches!(old.get("g").await, Err(kube::Error::Api(status)) if status.code == 404).then_some(())
        })
        .await
        .unwrap();
    }
}

fn text() -> Value {
    json!({"type": "string"})
}

/// KS-SSA-22: fields that were applied in a version of which they are no part are refused for ever otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn managers_of_another_version_are_migrated() {
    let world = World::new().await;
    let gears = Gears::new(&world, [("v1alpha1", text()), ("v1", text())]);
    world.apply(&[gears.definition(""), gears.gear("v1alpha1")]).await.unwrap();
    let edit = Patch::Merge(json!({"spec": {"b": "x"}}));
    gears.api("v1").await.patch("g", &PatchParams::apply("controller"), &edit).await.unwrap();
    assert!(gears.managers().await.contains(&"v1alpha1".to_owned()));
    let settings = Settings { migrates_versions: true, ..world.settings() };
    let changes = world.apply_with(&[gears.gear("v1")], &settings).await.unwrap();
    assert_eq!(lines(&changes), format!("Gear/{}/g configured", world.ns));
    assert_eq!(gears.managers().await, ["v1", "v1"]);
    let again = world.apply_with(&[gears.gear("v1")], &settings).await.unwrap();
    assert_eq!(again.changed_lines(), "");
}

/// KS-SSA-22: a field with a default that only the new version has. A preview, which writes nothing, shows the refusal.
#[tokio::test(flavor = "multi_thread")]
async fn managers_for_which_the_server_refuses_an_object_are_migrated_in_any_case() {
    let world = World::new().await;
    let gears =
        Gears::new(&world, [("v1alpha1", Value::Null), ("v1", json!({"type": "string", "default": "x"}))]);
    world.apply(&[gears.definition(""), gears.gear("v1alpha1")]).await.unwrap();
    let manifest = Manifest::try_from(gears.gear("v1")).unwrap();
    let refused = world.session.compare(manifest, &world.settings()).await.unwrap_err().to_string();
    assert!(refused.ends_with(".spec.b: field not declared in schema"), "{refused}");
    assert_eq!(gears.managers().await, ["v1alpha1"]);
    let changes = world.apply(&[gears.gear("v1")]).await.unwrap();
    assert_eq!(lines(&changes), format!("Gear/{}/g configured", world.ns));
    assert_eq!(gears.managers().await, ["v1"]);
    assert_eq!(world.apply(&[gears.gear("v1")]).await.unwrap().changed_lines(), "");
}

/// KS-GC-3: an inventory names the version in which an object was applied, which its definition may have lost since.
#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_version_that_is_no_longer_served_are_deleted() {
    let world = World::new().await;
    let gears = Gears::new(&world, [("v1alpha1", text()), ("v1", text())]);
    let applied = world.apply(&[gears.definition(""), gears.gear("v1alpha1")]).await.unwrap();
    let mut inventory = applied.inventory();
    inventory.retain(|entry| entry.id.kind == "Gear");
    gears.unserve("v1alpha1").await;
    let pruned = world.session.prune(&world.owner(), &inventory).await;
    assert_eq!(lines(&pruned.changes), format!("Gear/{}/g deleted", world.ns));
    assert!(gears.api("v1").await.get_opt("g").await.unwrap().is_none());
}

/// KS-HC-10
#[tokio::test(flavor = "multi_thread")]
async fn health_is_that_in_the_version_that_is_preferred_now() {
    let world = World::new().await;
    let gears = Gears::new(&world, [("v2", text()), ("v1", text())]);
    world.apply(&[gears.definition(""), gears.gear("v1")]).await.unwrap();
    let id = format!("{}_g_{}_Gear", world.ns, gears.group).parse().unwrap();
    let status = async || weir_ssa::probe(&world.session, &id).await.assessment.status;
    assert_eq!(status().await, Status::Current);
    gears.unserve("v2").await;
    assert_eq!(status().await, Status::Current);
}
