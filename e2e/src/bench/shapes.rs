//! Shapes that clusters have beside many equal units: rows of dependencies, many folders of one repository, and Kustomizations of
//! many objects.

use std::fmt::Write;

use anyhow::Result;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use weir_testkit::GitRepo;
use weir_testkit::object::git_repository;

use super::Options;
use super::fleet::{KUSTOMIZE_API, SOURCE_API};
use super::measure::{Meter, Phase};
use super::stage::Stage;
use super::steps::{create, delete, is_ready, number, request, wait_for_all};

/// Name of the Git repository and of its object.
const SOURCE: &str = "unit-0";

/// Measurement of shapes in a cluster.
pub(super) struct Shapes<'a> {
    pub(super) stage: &'a Stage,
    pub(super) meter: Meter<'a>,
}

/// A namespace with one Git repository for all its Kustomizations.
struct Space {
    repository: GitRepo,
    sources: Api<DynamicObject>,
    kustomizations: Api<DynamicObject>,
}

impl Shapes<'_> {
    /// Plays all shapes.
    pub(super) async fn play(mut self, options: &Options) -> Result<Vec<Phase>> {
        self.chain(options.chain).await?;
        self.siblings(options.siblings).await?;
        for &objects in &options.objects {
            self.large(objects).await?;
        }
        Ok(self.meter.into_phases())
    }

    /// Each Kustomization of a row depends on the one before; as many beside it depend on nothing.
    async fn chain(&mut self, length: usize) -> Result<()> {
        let files = folders(length, "1");
        let alone = Space::new(self.stage, "alone", &files).await?;
        let chain = Space::new(self.stage, "chain", &files).await?;
        let beside = Space::new(self.stage, "beside", &files).await?;
        self.meter
            .measure(format!("{length} without dependencies"), length, alone.install(length, single))
            .await?;
        self.meter.measure(format!("a chain of {length}"), length, chain.install(length, link)).await?;
        chain.delete(length).await?;
        let rest = chain.install(length, link);
        let mut rest = std::pin::pin!(rest);
        let work = async {
            let work = beside.install(length, single);
            let mut work = std::pin::pin!(work);
            tokio::select! {
                done = &mut work => done,
                done = &mut rest => { done?; work.await }
            }
        };
        self.meter.measure(format!("{length} beside a chain"), length, work).await
    }

    /// Pushes to the repository of many Kustomizations, each of which has a folder.
    async fn siblings(&mut self, count: usize) -> Result<()> {
        let space = Space::new(self.stage, "siblings", &folders(count, "1")).await?;
        self.meter.measure(format!("{count} of one repository"), count, space.install(count, single)).await?;
        let all = space.push(count, folders(count, "2"));
        self.meter.measure(format!("a push that changes {count}"), count, all).await?;
        let one = space.push(count, folders(1, "3"));
        self.meter.measure(format!("a push that changes 1 of {count}"), count, one).await
    }

    /// One Kustomization of many objects.
    async fn large(&mut self, objects: usize) -> Result<()> {
        let file = |changed: &str| vec![("unit-0/objects.yaml".to_owned(), config_maps(objects, changed))];
        let space = Space::new(self.stage, &format!("objects-{objects}"), &file("1")).await?;
        self.meter.measure(format!("one of {objects} objects"), objects, space.install(1, single)).await?;
        let unchanged = request(&space.kustomizations, 1);
        self.meter.measure(format!("{objects} objects, unchanged"), objects, unchanged).await?;
        let changed = space.push(1, file("2"));
        self.meter.measure(format!("{objects} objects, one changed"), objects, changed).await?;
        self.meter.measure(format!("{objects} objects deleted"), objects, space.delete(1)).await
    }
}

impl Space {
    async fn new(stage: &Stage, namespace: &str, files: &[(String, String)]) -> Result<Self> {
        stage.plane.namespace(namespace).await?;
        let space = Self {
            repository: stage.git.repo(namespace)?,
            sources: stage.plane.api(SOURCE_API, "GitRepository", namespace).await?,
            kustomizations: stage.plane.api(KUSTOMIZE_API, "Kustomization", namespace).await?,
        };
        space.commit(files)?;
        let source = git_repository(SOURCE, &stage.git.url(namespace));
        space.sources.create(&PostParams::default(), &serde_json::from_value(source)?).await?;
        wait_for_all(&space.sources, 1, is_ready).await?;
        Ok(space)
    }

    fn commit(&self, files: &[(String, String)]) -> Result<String> {
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
        Ok(self.repository.commit("main", "the next one", &files)?)
    }

    /// Makes Kustomizations of folders, and waits until all are Ready.
    async fn install(&self, count: usize, spec: impl Fn(&str) -> Value) -> Result<()> {
        let object = |name: &str| json!({"apiVersion": KUSTOMIZE_API, "kind": "Kustomization", "metadata": {"name": name}, "spec": spec(name)});
        create(&self.kustomizations, count, object).await?;
        wait_for_all(&self.kustomizations, count, is_ready).await
    }

    /// Commits, has the source look at once, as a webhook does, and waits until all Kustomizations have applied the commit.
    async fn push(&self, count: usize, files: Vec<(String, String)>) -> Result<()> {
        let commit = self.commit(&files)?;
        let look = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": commit}}});
        self.sources.patch(SOURCE, &PatchParams::default(), &Patch::Merge(look)).await?;
        let has = |object: &DynamicObject| {
            let applied = object.data.pointer("/status/lastAppliedRevision").and_then(Value::as_str);
            applied.is_some_and(|revision| revision.ends_with(&commit)) && is_ready(object)
        };
        wait_for_all(&self.kustomizations, count, has).await
    }

    async fn delete(&self, count: usize) -> Result<()> {
        delete(&self.kustomizations, count).await
    }
}

/// The spec of a Kustomization that depends on nothing.
fn single(name: &str) -> Value {
    json!({"interval": "1h", "path": format!("./{name}"), "prune": true, "timeout": "10m",
        "sourceRef": {"kind": "GitRepository", "name": SOURCE}})
}

/// The spec of one that depends on the one before.
fn link(name: &str) -> Value {
    let mut spec = single(name);
    if let (Some(before), Some(spec)) = (number(name).checked_sub(1), spec.as_object_mut()) {
        spec.insert("dependsOn".into(), json!([{"name": format!("unit-{before}")}]));
    }
    spec
}

/// Folders `unit-0` and so on, each with a ConfigMap.
fn folders(count: usize, content: &str) -> Vec<(String, String)> {
    let file = |number: usize| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("unit-{number}"), "namespace": "default"}, "data": {"content": content}});
        (format!("unit-{number}/object.yaml"), object.to_string())
    };
    (0..count).map(file).collect()
}

/// ConfigMaps, the first of which has other content.
fn config_maps(count: usize, first: &str) -> String {
    let mut text = String::new();
    for number in 0..count {
        let content = if number == 0 { first } else { "same" };
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: object-{number}\n  namespace: default\ndata:\n  content: \"{content}\"\n"
        );
    }
    text
}
