//! `weir events`: the Kubernetes events of the kinds, and of what one object refers to (CLI-EVT01).

mod row;

use std::convert::identity;

use clap::Args;
use futures::future::try_join_all;
use futures::stream::{StreamExt, TryStreamExt, select_all};
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams};
use kube::runtime::watcher;
use weir_runtime::args::Switch;

use crate::cluster::Cluster;
use crate::csv::Record;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{KINDS, Kind, Reference, Role, references};
use crate::output::{Table, print, print_next, progress, terminal_width};

/// Types of Kubernetes events.
const TYPES: [&str; 2] = ["Normal", "Warning"];

/// The events to show.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Events of all objects
  weir events --all-namespaces

  # Events of one object and of its source
  weir events --for Kustomization/podinfo

  # Warnings, live
  weir events --types Warning --watch")]
pub(crate) struct Events {
    /// Show the events of all namespaces.
    #[arg(short = 'A', long, switched_off())]
    all_namespaces: bool,
    /// Show the events of one kind or one object.
    #[arg(long = "for", value_name = "KIND[/NAME]")]
    object: Option<String>,
    /// Show only events of these types: Normal, Warning.
    #[arg(long, value_name = "TYPES")]
    types: Vec<Record>,
    /// Print later events too, until --timeout.
    #[arg(short, long, switched_off())]
    watch: bool,
}

/// A request for events: a namespace, or all of them, and a field selector.
struct Query {
    namespace: Option<String>,
    fields: Option<String>,
}

impl Events {
    /// Prints the events.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let is_type = |name: &&str| TYPES.iter().any(|type_| type_.eq_ignore_ascii_case(name));
        if let Some(name) = self.types().find(|name| !is_type(name)) {
            let message = format!("type '{name}' not supported. Supported types are Normal, Warning");
            return Err(Error::Flags(message));
        }
        let cluster = &global.cluster().await?;
        let (queries, shows_namespace) = self.queries(cluster).await?;
        if self.watch {
            return self.follow(cluster, &queries, shows_namespace).await;
        }
        let lists = try_join_all(queries.iter().map(|query| query.list(cluster))).await?;
        let mut events: Vec<_> = lists.into_iter().flatten().filter(|event| self.shows(event)).collect();
        events.sort_by_key(row::time);
        if events.is_empty() {
            progress::failure(&match self.all_namespaces {
                true => "No events found.".to_owned(),
                false => format!("No events found in {} namespace.", cluster.namespace),
            });
            return Ok(());
        }
        let mut table = Table::new(header(shows_namespace));
        let now = jiff::Timestamp::now();
        events.iter().for_each(|event| table.push(row::cells(event, shows_namespace, now)));
        print(&table.render(terminal_width()))
    }

    /// The requests to make, and true when the namespace of each event is to be shown.
    async fn queries(&self, cluster: &Cluster) -> Result<(Vec<Query>, bool), Error> {
        let namespace = (!self.all_namespaces).then(|| cluster.namespace.clone());
        let mut query = Query { namespace: namespace.clone(), fields: None };
        let Some(object) = self.object.as_deref().filter(|object| !object.is_empty()) else {
            return Ok((vec![query], self.all_namespaces));
        };
        let (kind, name) = match object.split_once('/') {
            Some(("", kind)) if !kind.contains('/') => (kind, ""),
            Some((kind, name)) if !name.contains('/') => (kind, name),
            _ => (object, ""),
        };
        let found = Kind::find(kind).and_then(|kind| has_events(kind.name));
        let kind = found.ok_or_else(|| {
            let known = KINDS.iter().filter_map(|kind| has_events(kind.name)).map(|kind| kind.name);
            let known = known.collect::<Vec<_>>().join(", ");
            // One that there is has no events.
            let similar = Kind::find(kind).map_or_else(|| Kind::similar(kind), |_| String::new());
            Error::Flags(format!("'{kind}' is not a recognized Flux kind\n  kinds are: {known}{similar}"))
        })?;
        query.fields = Some(selector(kind.name, name));
        let references = match name {
            "" => Vec::new(),
            name => explaining(cluster, kind, name).await?,
        };
        let is_elsewhere = |reference: &Reference| Some(&reference.namespace) != namespace.as_ref();
        let shows_namespace = self.all_namespaces || references.iter().any(is_elsewhere);
        let of_references = references.into_iter().map(|Reference { kind, name, namespace, .. }| Query {
            namespace: Some(namespace),
            fields: Some(selector(&kind, &name)),
        });
        Ok(([query].into_iter().chain(of_references).collect(), shows_namespace))
    }

    async fn follow(&self, cluster: &Cluster, queries: &[Query], shows_namespace: bool) -> Result<(), Error> {
        let mut events = select_all(queries.iter().map(|query| query.watch(cluster)));
        let mut header = Some(header(shows_namespace));
        loop {
            // The time that a watch may take is no failure.
            let Ok(next) = cluster.in_time(events.next()).await else { return Ok(()) };
            let Some(event) = next.transpose()? else { return Ok(()) };
            if self.shows(&event) {
                let mut table = Table::new(header.take().unwrap_or_default());
                table.push(row::cells(&event, shows_namespace, jiff::Timestamp::now()));
                print_next(&table.render(terminal_width()))?;
            }
        }
    }

    fn types(&self) -> impl Iterator<Item = &str> {
        Record::items(&self.types).map(String::as_str)
    }

    fn shows(&self, event: &Event) -> bool {
        let type_ = event.type_.as_deref().unwrap_or_default();
        let is_wanted =
            self.types().next().is_none() || self.types().any(|wanted| wanted.eq_ignore_ascii_case(type_));
        is_wanted && has_events(event.involved_object.kind.as_deref().unwrap_or_default()).is_some()
    }
}

impl Query {
    fn api(&self, cluster: &Cluster) -> Api<Event> {
        match &self.namespace {
            Some(namespace) => Api::namespaced(cluster.client.clone(), namespace),
            None => Api::all(cluster.client.clone()),
        }
    }

    async fn list(&self, cluster: &Cluster) -> Result<Vec<Event>, Error> {
        let params = ListParams { field_selector: self.fields.clone(), ..ListParams::default() };
        let listed = cluster.each(self.api(cluster).resource_url(), params, identity).await?;
        listed.map_err(|error| Error::from(error).prefixed("error getting events"))
    }

    /// The events that are there, then every new one and every change of one.
    fn watch(&self, cluster: &Cluster) -> futures::stream::BoxStream<'static, Result<Event, Error>> {
        let config = watcher::Config { field_selector: self.fields.clone(), ..watcher::Config::default() };
        watcher(self.api(cluster), config)
            .try_filter_map(|event| {
                std::future::ready(Ok(match event {
                    watcher::Event::Apply(event) | watcher::Event::InitApply(event) => Some(event),
                    watcher::Event::Delete(_) | watcher::Event::Init | watcher::Event::InitDone => None,
                }))
            })
            .map_err(|error| Error::Api(crate::error::chain(&error)))
            .boxed()
    }
}

/// The kinds whose events are explained by those of the objects that they refer to.
const EXPLAINED: [&str; 5] = ["Kustomization", "HelmRelease", "HelmChart", "Alert", "ImagePolicy"];

/// Returns the objects whose events explain those of an object: its source or provider; of a HelmRelease also the chart that
/// is made for it.
async fn explaining(cluster: &Cluster, kind: &'static Kind, name: &str) -> Result<Vec<Reference>, Error> {
    if !EXPLAINED.contains(&kind.name) {
        return Ok(Vec::new());
    }
    let object = cluster.get(kind, name).await?;
    let mut found = references(kind, &object);
    found.retain(|reference| reference.role != Role::Dependency);
    if let Some(source) = found.first().filter(|_| object.data.pointer("/spec/chart/spec").is_some()) {
        let (kind, name) = ("HelmChart".to_owned(), format!("{}-{name}", cluster.namespace));
        found.push(Reference { kind, name, ..source.clone() });
    }
    Ok(found)
}

/// The kind of a name, in any case, if services write events about it. ExternalArtifacts have none.
fn has_events(name: &str) -> Option<&'static Kind> {
    let kind = KINDS.iter().find(|kind| kind.name.eq_ignore_ascii_case(name))?;
    (kind.name != "ExternalArtifact").then_some(kind)
}

fn selector(kind: &str, name: &str) -> String {
    let of_kind = format!("involvedObject.kind={kind}");
    if name.is_empty() { of_kind } else { format!("{of_kind},involvedObject.name={name}") }
}

fn header(shows_namespace: bool) -> Vec<&'static str> {
    let namespace = shows_namespace.then_some("Namespace");
    namespace.into_iter().chain(["Last seen", "Type", "Reason", "Object", "Message"]).collect()
}
