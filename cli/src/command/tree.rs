//! `weir tree`: the objects that an object applies, and those that they apply (CLI-TRE01, CLI-TRE02).

mod labelled;
mod node;
mod release;
mod room;

use clap::{Args, Subcommand};
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::DynamicObject;
use serde_json::Value;
use weir_ssa::ObjectId;

use self::node::Node;
use self::release::Releases;
use self::room::{MAX_NODES, Room};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::kind::Kind;
use crate::output::{manifest, print};

/// Kustomizations below each other. A fleet has three or four levels; the cap ends trees that have no end.
const MAX_DEPTH: usize = 50;

/// Children of a Kustomization that are read at once.
const CHILDREN_AT_ONCE: usize = 8;

/// Groups that the compact tree shows have this in their names.
const FLUX_GROUP: &str = "toolkit.fluxcd.io";

/// The object at the root.
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  # All that a cluster's Kustomization applies
  weir tree kustomization flux-system

  # The artifacts of a generator
  weir tree artifact generator podinfo"
)]
pub(crate) struct Tree {
    #[command(subcommand)]
    root: Root,
}

#[derive(Subcommand, Debug)]
enum Root {
    /// Show the objects that a Kustomization applies.
    #[command(
        alias = "ks",
        after_help = "Examples:
  # All that it applies, and what that applies
  weir tree kustomization flux-system

  # Sources, Kustomizations and the like only
  weir tree kustomization flux-system --compact

  # For programs
  weir tree kustomization flux-system --output json"
    )]
    Kustomization(Kustomization),
    /// Show what an artifact generator makes.
    #[command(
        subcommand,
        disable_help_subcommand = true,
        after_help = "Examples:
  # The artifacts of a generator
  weir tree artifact generator podinfo"
    )]
    Artifact(Artifact),
}

#[derive(Subcommand, Debug)]
enum Artifact {
    /// Show the ExternalArtifacts of an ArtifactGenerator.
    #[command(after_help = "Examples:
  # The artifacts that it has made
  weir tree artifact generator podinfo")]
    Generator(Generator),
}

#[derive(Args, Debug)]
struct Kustomization {
    /// Name of the Kustomization.
    name: Option<String>,
    /// Show the toolkit's own kinds only.
    #[arg(long)]
    compact: bool,
    #[command(flatten)]
    form: Form,
}

#[derive(Args, Debug)]
struct Generator {
    /// Name of the ArtifactGenerator.
    name: Option<String>,
    #[command(flatten)]
    form: Form,
}

#[derive(Args, Debug)]
struct Form {
    /// Form of the output: json or yaml; anything else is a tree.
    #[arg(short, long, value_name = "FORM")]
    output: Option<String>,
}

impl Tree {
    /// Prints the tree.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        match self.root {
            Root::Kustomization(Kustomization { name, compact, form }) => {
                let name = name.ok_or(Error::NameRequired("kustomization"))?;
                let (cluster, kind) = (global.cluster().await?, Kind::named("Kustomization")?);
                let root = cluster.get(kind, &name).await?;
                let id = id(kind, &cluster.namespace, &name);
                let (releases, room) = (Releases::new(&cluster), Room::of(MAX_NODES));
                let walk = Walk { releases, cluster: &cluster, kind, compact, room };
                form.print(&walk.node(id, Some(root), Vec::new()).await?)
            }
            Root::Artifact(Artifact::Generator(Generator { name, form })) => {
                let name = name.ok_or(Error::NameRequired("generator"))?;
                let (cluster, kind) = (global.cluster().await?, Kind::named("ArtifactGenerator")?);
                let root = cluster.get(kind, &name).await?;
                let mut node = Node::leaf(id(kind, &cluster.namespace, &name));
                node.children = made_by(&root)?.into_iter().map(Node::leaf).collect();
                form.print(&node)
            }
        }
    }
}

impl Form {
    fn print(&self, root: &Node) -> Result<(), Error> {
        let text = match self.output.as_deref() {
            Some("json") => serde_json::to_string_pretty(&root.value()).map_err(std::io::Error::from)?,
            Some("yaml") => manifest::yaml(&root.value())?,
            _ => root.text(),
        };
        print(&format!("{text}\n"))
    }
}

fn id(kind: &Kind, namespace: &str, name: &str) -> ObjectId {
    let [namespace, name, group, kind] = [namespace, name, kind.group, kind.name].map(str::to_owned);
    ObjectId { namespace, name, group, kind }
}

/// A walk from a Kustomization down.
struct Walk<'a> {
    cluster: &'a Cluster,
    releases: Releases<'a>,
    kind: &'static Kind,
    compact: bool,
    room: Room,
}

impl Walk<'_> {
    /// Returns the tree of an object; `above` are the Kustomizations that lead to it. One that leads to itself is not shown
    /// again below itself.
    fn node(
        &self,
        id: ObjectId,
        object: Option<DynamicObject>,
        above: Vec<ObjectId>,
    ) -> BoxFuture<'_, Result<Node, Error>> {
        Box::pin(async move {
            let mut node = Node::leaf(id.clone());
            let Some(object) = object.filter(|_| above.len() < MAX_DEPTH && !above.contains(&id)) else {
                return Ok(node);
            };
            // The objects of another cluster are not to be found in this one.
            let is_remote = object.data.pointer("/spec/kubeConfig").is_some_and(|it| !it.is_null());
            let mut children = inventory(&object)?;
            children.retain(|child| *child != id && self.shows(child));
            self.room.take(children.len())?;
            if is_remote {
                node.children = children.into_iter().map(Node::leaf).collect();
                return Ok(node);
            }
            let mut listed = labelled::below(self.cluster, self.kind, &id, &children).await;
            let above: Vec<_> = above.into_iter().chain([id]).collect();
            let read = async |(child, object)| self.child(child, object, &above).await;
            let children: Vec<_> = children
                .into_iter()
                .map(|child| {
                    let object = listed.remove(&child);
                    read((child, object))
                })
                .collect();
            node.children = stream::iter(children).buffered(CHILDREN_AT_ONCE).try_collect().await?;
            Ok(node)
        })
    }

    async fn child(
        &self,
        id: ObjectId,
        listed: Option<DynamicObject>,
        above: &[ObjectId],
    ) -> Result<Node, Error> {
        if id.group == self.kind.group && id.kind == self.kind.name {
            let object = match listed {
                Some(object) => object,
                None => {
                    let got = self.cluster.in_namespace(&id.namespace).get(self.kind, &id.name).await;
                    got.map_err(|error| error.prefixed("failed to find object"))?
                }
            };
            return self.node(id, Some(object), above.to_vec()).await;
        }
        let mut node = Node::leaf(id);
        if release::is_one(&node.id) {
            let mut objects = self.releases.objects(&node.id.namespace, &node.id.name).await?;
            objects.retain(|id| self.shows(id));
            self.room.take(objects.len())?;
            node.children = objects.into_iter().map(Node::leaf).collect();
        }
        Ok(node)
    }

    fn shows(&self, id: &ObjectId) -> bool {
        !self.compact || id.group.contains(FLUX_GROUP)
    }
}

/// Returns the objects that the status of a Kustomization names, in its order.
fn inventory(object: &DynamicObject) -> Result<Vec<ObjectId>, Error> {
    let entries = object.data.pointer("/status/inventory/entries").and_then(Value::as_array);
    let ids = entries.into_iter().flatten().filter_map(|entry| entry.get("id")?.as_str());
    ids.map(|id| id.parse().map_err(|error: weir_ssa::ParseIdError| Error::Api(error.to_string()))).collect()
}

/// Returns the ExternalArtifacts that the status of an ArtifactGenerator names.
fn made_by(generator: &DynamicObject) -> Result<Vec<ObjectId>, Error> {
    let kind = Kind::named("ExternalArtifact")?;
    let entries = generator.data.pointer("/status/inventory").and_then(Value::as_array);
    let field =
        |entry: &'_ Value, name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let made = entries.into_iter().flatten();
    Ok(made.map(|entry| id(kind, &field(entry, "namespace"), &field(entry, "name"))).collect())
}
