//! `weir why`: what an object waits for, since when, and what would unblock it, on one screen.
//!
//! ```text
//! object ─► what it refers to, what it applies, who applies it ─► findings (pure) ─► report
//! ```

mod finding;
mod health;
mod report;

use std::cell::RefCell;
use std::collections::BTreeSet;

use clap::Args;
use futures::future::LocalBoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;

use self::finding::{Finding, State};
use crate::cluster::{Cluster, Selection};
use crate::error::Error;
use crate::global::Global;
use crate::kind::{KINDS, Kind, Reference, Role, references};
use crate::output::print;

/// Objects that lead to each other. A release has a chart, that a repository, and there it ends; Kustomizations that
/// depend on each other are longer chains, whose first links are of interest.
const MAX_DEPTH: usize = 12;

/// Image policies that are looked at at once.
const CONCURRENCY: usize = 8;

/// The object to explain.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # What is wrong with a Kustomization, and what mends it?
  weir why kustomization/apps

  # Kind and name as two words
  weir why helmrelease podinfo --namespace apps")]
pub(crate) struct Why {
    /// Kind of the object, or its kind and name: kustomization/apps.
    #[arg(value_name = "KIND/NAME")]
    object: String,
    /// Name of the object, if the first argument is its kind alone.
    name: Option<String>,
}

impl Why {
    /// Looks at the object and at all that it depends on, and prints what is found.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let (kind, name) = self.parts()?;
        let cluster = global.cluster().await?;
        let object = cluster.get(kind, &name).await?;
        let walk = Walk { cluster: &cluster, now: Timestamp::now(), seen: RefCell::default() };
        let mut found = walk.finding(kind, &object, 0).await?;
        let parents = walk.parents(&object).await?;
        found.below.splice(0..0, parents);
        print(&report::of(&found))
    }

    fn parts(&self) -> Result<(&'static Kind, String), Error> {
        let (kind, name) = match (self.object.split_once('/'), &self.name) {
            (Some((kind, name)), None) if !name.is_empty() => (kind, name.to_owned()),
            (None, Some(name)) => (self.object.as_str(), name.clone()),
            _ => {
                let message = "KIND/NAME is required, such as kustomization/apps";
                return Err(Error::Flags(message.to_owned()));
            }
        };
        let known = || KINDS.iter().map(|kind| kind.name.to_lowercase()).collect::<Vec<_>>().join(", ");
        let unknown = || Error::UnknownKind { word: kind.to_owned(), known: known() + &Kind::similar(kind) };
        Ok((Kind::find(kind).ok_or_else(unknown)?, name))
    }
}

/// A walk over a cluster.
struct Walk<'a> {
    cluster: &'a Cluster,
    now: Timestamp,
    /// Objects that were explained. Each is explained once: a chain of diamonds has more ways down than anyone can walk.
    seen: RefCell<BTreeSet<String>>,
}

impl Walk<'_> {
    /// Returns what there is to say about an object and about all that it waits for; `depth` objects lead to it.
    fn finding<'a>(
        &'a self,
        kind: &'static Kind,
        object: &'a DynamicObject,
        depth: usize,
    ) -> LocalBoxFuture<'a, Result<Finding, Error>> {
        Box::pin(async move {
            let mut found = Finding::of(kind, object, self.now);
            if depth >= MAX_DEPTH {
                return Ok(found);
            }
            let references = references(kind, object);
            let is_new = self.seen.borrow_mut().insert(found.subject.clone());
            if !is_new && !references.is_empty() {
                return Ok(found.repeated());
            }
            let mut below = Vec::new();
            // One after the other, so that the first way to an object is the one that explains it.
            for reference in references {
                below.push(self.referenced(reference, depth + 1).await?);
            }
            if kind.name == "ImageUpdateAutomation" {
                below.extend(self.policies(object).await?);
            }
            if kind.name == "Kustomization" && found.state != State::Ready {
                below.extend(health::of(self.cluster, object, self.now).await?);
            }
            // A ready object is shown only right below the object that was asked about.
            below.retain(|finding| depth == 0 || finding.is_of_note());
            found.below = below;
            Ok(found)
        })
    }

    async fn referenced(&self, reference: Reference, depth: usize) -> Result<Finding, Error> {
        let role = match reference.role {
            Role::Source => "its source",
            Role::Dependency => "it depends on",
            Role::Provider => "it sends by",
        };
        let Some(kind) = Kind::find(&reference.kind) else {
            return Ok(Finding::missing(&reference, "no such kind").with_role(role));
        };
        let cluster = self.cluster.in_namespace(&reference.namespace);
        let selection = Selection { name: Some(reference.name.clone()), ..Selection::default() };
        match cluster.list(kind, &selection).await {
            Ok(list) => match list.first() {
                Some(object) => Ok(self.finding(kind, object, depth).await?.with_role(role)),
                None => Ok(Finding::missing(&reference, "it does not exist").with_role(role)),
            },
            Err(error @ (Error::Deadline | Error::Unreachable(_))) => Err(error),
            Err(error) if error.is_forbidden() => {
                let Reference { kind, namespace, name, .. } = reference;
                Ok(Finding::hidden(format!("{kind}/{namespace}/{name}"), &error).with_role(role))
            }
            Err(error) => Ok(Finding::missing(&reference, &error.to_string()).with_role(role)),
        }
    }

    /// The image policies that an automation sets images by.
    async fn policies(&self, automation: &DynamicObject) -> Result<Vec<Finding>, Error> {
        let namespace = automation.namespace().unwrap_or_default();
        let kind = Kind::named("ImagePolicy")?;
        let role = "its policy";
        let policies = match self.cluster.in_namespace(&namespace).list(kind, &Selection::default()).await {
            Err(error) if error.is_forbidden() => {
                return Ok(vec![Finding::hidden(format!("ImagePolicy/{namespace}"), &error).with_role(role)]);
            }
            listed => listed?,
        };
        let findings = policies.iter().map(|policy| self.finding(kind, policy, 1));
        let findings: Vec<_> = stream::iter(findings).buffered(CONCURRENCY).try_collect().await?;
        Ok(findings.into_iter().filter(Finding::is_of_note).map(|found| found.with_role(role)).collect())
    }

    /// The Kustomizations that apply the object, the nearest first, as far as they are in the way: a suspended one brings no
    /// change to it.
    async fn parents(&self, object: &DynamicObject) -> Result<Vec<Finding>, Error> {
        let kind = Kind::named("Kustomization")?;
        let (mut found, mut child, mut seen) = (Vec::new(), object.clone(), Vec::new());
        while let Some((namespace, name)) = owner(&child).filter(|owner| !seen.contains(owner)) {
            seen.push((namespace.clone(), name.clone()));
            let role = "it is applied by";
            let subject = format!("{}/{namespace}/{name}", kind.name);
            let selection = Selection { name: Some(name), ..Selection::default() };
            let listed = match self.cluster.in_namespace(&namespace).list(kind, &selection).await {
                Err(error) if error.is_forbidden() => {
                    found.push(Finding::hidden(subject, &error).with_role(role));
                    break;
                }
                listed => listed?,
            };
            let Some(parent) = listed.into_iter().next().filter(|_| seen.len() <= MAX_DEPTH) else { break };
            found.push(Finding::of(kind, &parent, self.now).with_role(role));
            child = parent;
        }
        found.retain(Finding::is_of_note);
        Ok(found)
    }
}

/// Returns namespace and name of the Kustomization that applies an object; one that applies itself has none.
pub(crate) fn owner(object: &impl ResourceExt) -> Option<(String, String)> {
    let label = |key: &str| object.labels().get(&format!("kustomize.toolkit.fluxcd.io/{key}")).cloned();
    let owner = (label("namespace")?, label("name")?);
    let itself = (object.namespace().unwrap_or_default(), object.name_any());
    (owner != itself).then_some(owner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;

    /// An API server that this user may ask nothing.
    fn forbidding() -> Cluster {
        let server = tower::service_fn(|_: http::Request<Body>| {
            let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
                "message": "it is forbidden", "code": 403 });
            let answer =
                http::Response::builder().status(403).body(Body::from(status.to_string().into_bytes()));
            std::future::ready(Ok::<_, Infallible>(answer.unwrap()))
        });
        let client = kube::Client::new(server, "default");
        let deadline = Instant::now() + Duration::from_secs(30);
        Cluster { client, namespace: "default".to_owned(), deadline }
    }

    fn object(kind: &str, labels: Value, spec: Value) -> DynamicObject {
        let conditions =
            json!([{ "type": "Ready", "status": "True", "reason": "Succeeded", "message": "done" }]);
        let metadata = json!({ "name": "apps", "namespace": "prod", "labels": labels });
        serde_json::from_value(
            json!({ "apiVersion": "x/v1", "kind": kind, "metadata": metadata, "spec": spec,
            "status": { "conditions": conditions } }),
        )
        .unwrap()
    }

    fn shown(found: &[Finding]) -> Vec<(&str, &str, State)> {
        found.iter().map(|found| (found.role, found.subject.as_str(), found.state)).collect()
    }

    #[tokio::test]
    async fn objects_that_may_not_be_read_are_not_in_the_way() {
        let cluster = forbidding();
        let walk = Walk { cluster: &cluster, now: Timestamp::now(), seen: RefCell::default() };
        let owner = json!({ "kustomize.toolkit.fluxcd.io/name": "parent", "kustomize.toolkit.fluxcd.io/namespace": "flux-system" });
        let source = json!({ "sourceRef": { "kind": "GitRepository", "name": "fleet" } });
        let applied = object("Kustomization", owner, source.clone());
        let parents = walk.parents(&applied).await.unwrap();
        assert_eq!(
            shown(&parents),
            [("it is applied by", "Kustomization/flux-system/parent", State::Hidden)]
        );
        let found = walk.finding(Kind::named("Kustomization").unwrap(), &applied, 0).await.unwrap();
        assert_eq!(shown(&found.below), [("its source", "GitRepository/prod/fleet", State::Hidden)]);
        assert_eq!(found.below[0].message, "it is forbidden");
        assert!(!found.is_blocked() && found.hints().is_empty());
        let automation = object("ImageUpdateAutomation", json!({}), source);
        let found =
            walk.finding(Kind::named("ImageUpdateAutomation").unwrap(), &automation, 0).await.unwrap();
        assert!(shown(&found.below).contains(&("its policy", "ImagePolicy/prod", State::Hidden)));
        assert!(!found.is_blocked() && found.hints().is_empty());
    }
}
