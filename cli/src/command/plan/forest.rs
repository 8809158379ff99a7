//! The Kustomizations that a revision is about: those of the cluster that use the source, and those that come out of their
//! builds, with the specs that they would have then.
//!
//! A Kustomization that another one applies is built with the spec that comes out of the build of that one. So parents are
//! built before their children, and what nobody applies is built as it is in the cluster.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::Value;
use weir_api::Kustomization;
use weir_ignore::Matcher;
use weir_kustomize::{Remote, Stop};
use weir_kustomize_controller::build::directory;
use weir_kustomize_controller::{ArtifactFiles, Metered, deletes};

use super::revision::{Files, MAX_BUILD_BYTES};
use crate::changes::{MAX_DEPTH, inventory, owner};
use crate::cluster::Cluster;
use crate::command::build::kustomization::{
    Data, MAX_KUSTOMIZATIONS, Place, Specs, build, kustomization, source_of,
};
use crate::command::why;
use crate::error::Error;
use crate::kind::Kind;
use crate::output::progress::Ticker;

/// Builds of a Kustomization that changes its own spec, until the spec is the one that it was built with; and of all, until
/// their variables are those that come out of the builds.
const MAX_BUILDS: usize = 3;

/// Namespace and name.
type Key = (String, String);

/// A Kustomization, with the spec that it would have, and the status that it has.
pub(super) struct Planned {
    pub(super) kustomization: Arc<Kustomization>,
    pub(super) fate: Fate,
    /// True when it is in the cluster.
    pub(super) is_live: bool,
}

/// The thing that happens to a Kustomization.
pub(super) enum Fate {
    /// These objects are applied.
    Built(Vec<Value>),
    /// It is pruned by another one.
    Pruned,
    /// It is not reconciled, or not from here, for this reason.
    Skipped(&'static str),
    /// It cannot be built.
    Failed(String),
}

/// The place that has said what the spec of a Kustomization is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Cluster,
    Build,
}

/// Builds Kustomizations over the files of the revision.
pub(super) struct Builder {
    specs: Specs<'static>,
    files: Arc<ArtifactFiles>,
    is_strict: bool,
    remote: Option<Arc<dyn Remote>>,
}

impl Builder {
    pub(super) fn new(
        cluster: &Cluster,
        files: Files,
        is_strict: bool,
        remote: Option<Arc<dyn Remote>>,
    ) -> Self {
        Self { specs: Specs::of_cluster(cluster.clone()), files: files.files, is_strict, remote }
    }

    async fn build(&self, kustomization: &Kustomization) -> Result<Vec<Value>, Error> {
        let (files, path) = (Arc::clone(&self.files), kustomization.spec.path.clone().unwrap_or_default());
        let place = move || {
            let files = Metered::new(files, MAX_BUILD_BYTES, Stop::default());
            let missing = || {
                let message = format!("kustomization path not found: stat {path}: no such file or directory");
                Error::Build(message)
            };
            let directory = directory(&files, &path).ok_or_else(missing)?;
            Ok(Place { files, directory, ignored: Matcher::default() })
        };
        // A plan is about what changes, not about how it is written.
        build(&self.specs, kustomization.clone(), place, self.is_strict, self.remote.clone(), |_| {}).await
    }
}

/// The Kustomizations found so far.
pub(super) struct Forest<'a> {
    builder: Builder,
    /// `Kind/namespace/name`
    source: &'a str,
    ticker: &'a Ticker,
    live: BTreeMap<Key, Kustomization>,
    seen: BTreeMap<Key, Origin>,
    pending: VecDeque<(Kustomization, Origin, usize)>,
    planned: Vec<Planned>,
    /// Kustomizations, with the values that were there for their builds.
    read: Vec<(Kustomization, Vec<Option<Data>>)>,
}

impl<'a> Forest<'a> {
    /// Lists the Kustomizations of the cluster, of all namespaces.
    pub(super) async fn new(
        cluster: &Cluster,
        source: &'a str,
        builder: Builder,
        ticker: &'a Ticker,
    ) -> Result<Self, Error> {
        let all: Api<Kustomization> = Api::all(cluster.client.clone());
        let keyed = |kustomization: Kustomization| (key(&kustomization), kustomization);
        let kind = Kind::named("Kustomization")?;
        let listed = cluster.each(all.resource_url(), ListParams::default(), keyed).await?;
        let live = listed.map_err(|error| Error::api(kind, error))?;
        let live = live.into_iter().collect();
        let (seen, pending) = (BTreeMap::new(), VecDeque::new());
        let (planned, read) = (Vec::new(), Vec::new());
        Ok(Self { builder, source, ticker, live, seen, pending, planned, read })
    }

    /// Builds all that the revision is about, once more where variables come from the objects of a later build.
    pub(super) async fn grown(mut self) -> Result<Vec<Planned>, Error> {
        for _ in 0..MAX_BUILDS {
            self.seen.clear();
            self.planned.clear();
            self.read.clear();
            self.grow().await?;
            let values = &self.builder.specs.values;
            if self.read.iter().all(|(kustomization, read)| *read == values.of(kustomization)) {
                break;
            }
        }
        Ok(self.planned)
    }

    /// Builds parents before their children.
    async fn grow(&mut self) -> Result<(), Error> {
        let is_child = |kustomization: &Kustomization| {
            let parent = why::owner(kustomization).and_then(|owner| self.live.get(&owner));
            parent.is_some_and(|parent| self.is_concerned(parent))
        };
        let concerned = self.live.values().filter(|kustomization| self.is_concerned(kustomization));
        let (children, roots): (Vec<_>, Vec<_>) = concerned.cloned().partition(is_child);
        self.pending.extend(roots.into_iter().map(|root| (root, Origin::Cluster, 0)));
        self.build_pending().await?;
        // The rest stays as it is: parents that are suspended, fail or do not prune leave their children alone.
        for child in children {
            self.pending.push_back((child, Origin::Cluster, 0));
            self.build_pending().await?;
        }
        Ok(())
    }

    fn is_concerned(&self, kustomization: &Kustomization) -> bool {
        source_of(kustomization) == self.source
    }

    async fn build_pending(&mut self) -> Result<(), Error> {
        while let Some((kustomization, origin, depth)) = self.pending.pop_front() {
            let key = key(&kustomization);
            if origin == Origin::Cluster && self.seen.contains_key(&key) {
                continue;
            }
            self.seen.insert(key, origin);
            if self.planned.len() >= MAX_KUSTOMIZATIONS {
                return Err(Error::Build(format!("more than {MAX_KUSTOMIZATIONS} Kustomizations")));
            }
            self.plan(kustomization, depth).await?;
        }
        Ok(())
    }

    async fn plan(&mut self, mut kustomization: Kustomization, depth: usize) -> Result<(), Error> {
        let (namespace, name) = key(&kustomization);
        self.ticker.show(&format!("building Kustomization/{namespace}/{name}"));
        let fate = if kustomization.spec.suspend {
            Fate::Skipped("it is suspended")
        } else if kustomization.spec.kube_config.is_some() {
            Fate::Skipped("plan not supported for remote clusters")
        } else {
            match self.build(&mut kustomization).await {
                Ok(objects) => Fate::Built(objects),
                Err(error @ (Error::Deadline | Error::Unreachable(_))) => return Err(error),
                Err(error) => Fate::Failed(error.to_string()),
            }
        };
        let values = &mut self.builder.specs.values;
        self.read.push((kustomization.clone(), values.of(&kustomization)));
        let Fate::Built(objects) = &fate else {
            self.add(kustomization, fate);
            return Ok(());
        };
        values.extend(objects);
        let children = kustomizations(objects).collect();
        let parent = self.add(kustomization, fate);
        self.add_children(&parent, children, depth)
    }

    fn add(&mut self, kustomization: Kustomization, fate: Fate) -> Arc<Kustomization> {
        let is_live = self.live.contains_key(&key(&kustomization));
        let kustomization = Arc::new(kustomization);
        self.planned.push(Planned { kustomization: Arc::clone(&kustomization), fate, is_live });
        kustomization
    }

    /// Builds a Kustomization, once more with the spec that it gives itself.
    async fn build(&self, kustomization: &mut Kustomization) -> Result<Vec<Value>, Error> {
        let own = key(kustomization);
        let mut objects = self.builder.build(kustomization).await?;
        for _ in 1..MAX_BUILDS {
            let itself = kustomizations(&objects).find(|built| key(built) == own);
            let Some(itself) = itself.filter(|built| built.spec != kustomization.spec) else { break };
            if !self.is_concerned(&itself) {
                break;
            }
            kustomization.spec = itself.spec;
            objects = self.builder.build(kustomization).await?;
        }
        Ok(objects)
    }

    /// Adds the Kustomizations that come out of a build, and those that no longer do.
    fn add_children(
        &mut self,
        parent: &Kustomization,
        children: Vec<Kustomization>,
        depth: usize,
    ) -> Result<(), Error> {
        let mut built = BTreeSet::new();
        for mut child in children.into_iter().filter(|child| key(child) != key(parent)) {
            let key = key(&child);
            built.insert(key.clone());
            if depth >= MAX_DEPTH || !self.claim(&key) {
                continue;
            }
            if let Some(live) = self.live.get(&key) {
                child.status.clone_from(&live.status);
                // An apply leaves it suspended, unless its manifest says something else.
                child.spec.suspend |= live.spec.suspend;
                // So do annotations that people have set, such as a limit to what is pruned. One that the commit takes out is taken for theirs.
                let annotations = child.metadata.annotations.get_or_insert_default();
                for (key, value) in live.metadata.annotations.iter().flatten() {
                    annotations.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            if self.is_concerned(&child) {
                self.pending.push_back((child, Origin::Build, depth + 1));
            }
        }
        built.insert(key(parent));
        if parent.spec.prune { self.add_pruned(parent, &built, depth) } else { Ok(()) }
    }

    /// Adds the Kustomizations that another one prunes, and those that go with them.
    fn add_pruned(
        &mut self,
        parent: &Kustomization,
        kept: &BTreeSet<Key>,
        depth: usize,
    ) -> Result<(), Error> {
        let owner = owner(parent);
        for entry in inventory(parent)? {
            let key = (entry.id.namespace, entry.id.name);
            let is_one = entry.id.kind == "Kustomization" && entry.id.group == owner.group;
            let Some(live) = self.live.get(&key).filter(|_| is_one && !kept.contains(&key)) else { continue };
            let live = live.clone();
            if depth >= MAX_DEPTH || !owner.may_prune(&live.metadata) || !self.claim(&key) {
                continue;
            }
            let live = self.add(live, Fate::Pruned);
            if deletes(&live) {
                self.add_pruned(&live, &BTreeSet::from([key]), depth + 1)?;
            }
        }
        Ok(())
    }

    /// Takes a Kustomization for its parent; false when another one has it. A plan that was made with the spec of the cluster
    /// counts no longer.
    fn claim(&mut self, wanted: &Key) -> bool {
        match self.seen.insert(wanted.clone(), Origin::Build) {
            Some(Origin::Build) => false,
            Some(Origin::Cluster) => {
                self.planned.retain(|planned| key(&planned.kustomization) != *wanted);
                true
            }
            None => true,
        }
    }
}

/// Returns the Kustomizations among objects. One that cannot be read is left to the API server to refuse.
fn kustomizations(objects: &[Value]) -> impl Iterator<Item = Kustomization> {
    objects.iter().filter_map(|object| kustomization(object).ok().flatten())
}

fn key(kustomization: &Kustomization) -> Key {
    (kustomization.namespace().unwrap_or_default(), kustomization.name_any())
}
