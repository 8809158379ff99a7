//! `weir get`: objects and their status, in Flux's tables (cli.md 3).

mod form;
mod layout;
mod status_selector;

use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use futures::stream::{FuturesOrdered, Stream, StreamExt};
use kube::api::DynamicObject;
use tokio::sync::Semaphore;
use weir_runtime::args::Switch;

use self::form::Form;
use self::layout::Layout;
use self::status_selector::StatusSelector;
use crate::cluster::{Cluster, Selection};
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Column, Group, Kind};
use crate::output::{print, print_next, progress};
use crate::verb::{Target, Verb, is_on};

/// Kinds that are listed at once. More would keep the API server from others, and the objects of more kinds in memory.
const LISTS_AT_ONCE: usize = 4;

/// The objects to show.
#[derive(Debug)]
pub(crate) struct Get {
    target: Target,
    name: Option<String>,
    show_source: bool,
    flags: Flags,
}

#[derive(Args, Debug)]
struct Flags {
    /// List the objects of all namespaces.
    #[arg(short = 'A', long, switched_off())]
    all_namespaces: bool,
    /// Leave out the header.
    #[arg(long)]
    no_header: bool,
    /// Show only objects with a condition of this status, such as ready=false or Ready!=True.
    #[arg(long, value_name = "TYPE=STATUS")]
    status_selector: Option<String>,
    /// Show only objects with these labels, such as 'team=apps' or 'tier notin (test, dev)'.
    #[arg(short, long, value_name = "SELECTOR")]
    label_selector: Option<String>,
    /// Form of the output; a table without it.
    #[arg(short, long, value_enum, value_name = "FORM")]
    output: Option<Form>,
    /// Print every later change too, until --timeout.
    #[arg(short, long, switched_off())]
    watch: bool,
}

#[derive(Args, Debug)]
struct Name {
    /// Name of the objects to show; without it, all objects.
    name: Option<String>,
}

#[derive(Args, Debug)]
struct WithSource {
    /// Show the source of each object.
    #[arg(long)]
    show_source: bool,
}

impl Verb for Get {
    const WORD: &'static str = "get";
    const PLURAL: bool = true;
    const EXAMPLES: &'static str = "  # Everything, in all namespaces
  weir get all --all-namespaces

  # Kustomizations that are not ready
  weir get kustomizations --status-selector ready=false

  # Names of the Git sources, for scripts
  weir get sources git --output name";

    fn about(target: Target) -> String {
        match target {
            Target::Kind(kind) => format!("Show {} objects and their status", kind.name),
            Target::Group(group) => format!("Show {} and their status", group.about()),
            Target::All => "Show all objects and their status".to_owned(),
        }
    }

    fn examples(target: Target, command: &str) -> String {
        let noun = target.noun();
        let mut text = format!(
            "  # Each {noun}, in all namespaces\n  {command} --all-namespaces\n\n  \
               # Those that are not ready\n  {command} --status-selector ready=false"
        );
        if let Target::Kind(_) = target {
            text.push_str(&format!("\n\n  # One, and its changes as they come\n  {command} podinfo --watch"));
        }
        text
    }

    fn common_flags(group: Option<Group>, command: Command) -> Command {
        if group.is_none() { Flags::augment_args(command) } else { command }
    }

    fn arguments(target: Target, command: Command) -> Command {
        let command = Name::augment_args(command);
        match target {
            Target::Kind(kind) if kind.columns.contains(&Column::Source) => WithSource::augment_args(command),
            _ => command,
        }
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let name = matches.try_get_one::<String>("name").ok().flatten().cloned();
        let show_source = is_on(matches, "show_source");
        Ok(Self { target, name, show_source, flags: Flags::from_arg_matches(matches)? })
    }
}

impl Get {
    /// Prints the wanted objects.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let selector = self.flags.status_selector.as_deref().filter(|text| !text.is_empty());
        let selector = selector.map(StatusSelector::parse).transpose()?;
        if self.flags.watch && !matches!(self.target, Target::Kind(_)) {
            return Err(Error::WatchAll);
        }
        let cluster = &global.cluster().await?;
        let Target::Kind(kind) = self.target else {
            return self.print_kinds(cluster, selector).await;
        };
        if self.flags.watch {
            return self.follow(cluster, kind, selector.as_ref()).await;
        }
        let selection = &self.selection();
        let Some(form) = self.flags.output else {
            let layout = self.layout(false);
            let rows = cluster.rows(kind, selection, row(layout, kind, selector)).await?;
            let rows = self.found(cluster, kind, rows).await?;
            return print(&layout.table(kind, rows.into_iter().flatten()));
        };
        let mut objects = self.found(cluster, kind, cluster.list(kind, selection).await?).await?;
        objects.retain(|object| selected(selector.as_ref(), kind, object));
        match self.name {
            Some(_) => objects.iter().try_for_each(|object| print(&form.one(kind, object)?)),
            None => print(&form.list(objects.iter().map(|object| (kind, object)))?),
        }
    }

    /// The objects or rows that were listed of a kind; an error if there are none.
    async fn found<T>(
        &self,
        cluster: &Cluster,
        kind: &'static Kind,
        listed: Vec<T>,
    ) -> Result<Vec<T>, Error> {
        if listed.is_empty() {
            let hint = cluster.similar(kind, self.name.as_deref().unwrap_or_default()).await;
            return Err(self.nothing_found(cluster, kind, &hint));
        }
        Ok(listed)
    }

    async fn print_kinds(&self, cluster: &Cluster, selector: Option<StatusSelector>) -> Result<(), Error> {
        let selection = &self.selection();
        let Some(form) = self.flags.output else {
            let layout = self.layout(true);
            let list = |kind| cluster.rows(kind, selection, row(layout, kind, selector.clone()));
            let mut tables = std::pin::pin!(self.each_kind(list));
            while let Some((kind, rows)) = tables.next().await {
                self.report_missing(cluster, kind, &rows);
                let rows: Vec<_> = rows.into_iter().flatten().collect();
                if !rows.is_empty() {
                    print(&format!("{}\n", layout.table(kind, rows)))?;
                }
            }
            return Ok(());
        };
        let lists: Vec<_> = self.each_kind(|kind| cluster.list(kind, selection)).collect().await;
        lists.iter().for_each(|(kind, objects)| self.report_missing(cluster, kind, objects));
        let all = lists.iter().flat_map(|(kind, objects)| objects.iter().map(|object| (*kind, object)));
        print(&form.list(all.filter(|(kind, object)| selected(selector.as_ref(), kind, object)))?)
    }

    /// Tells, of several kinds, that one has no object of the wanted name.
    fn report_missing<T>(&self, cluster: &Cluster, kind: &Kind, listed: &[T]) {
        if self.name.is_some() && listed.is_empty() {
            progress::failure(&self.nothing_found(cluster, kind, "").to_string());
        }
    }

    /// Lists the kinds, several at once. Those that the cluster does not know are left out; what else fails is told.
    fn each_kind<T, F: Future<Output = Result<Vec<T>, Error>>>(
        &self,
        list: impl Fn(&'static Kind) -> F,
    ) -> impl Stream<Item = (&'static Kind, Vec<T>)> {
        // A long list does not keep those behind it from their turn, as `buffered` would.
        let turns = Arc::new(Semaphore::new(LISTS_AT_ONCE));
        let list = move |kind| {
            let (turns, listed) = (turns.clone(), list(kind));
            async move {
                let _turn = turns.acquire().await;
                (kind, listed.await)
            }
        };
        let lists: FuturesOrdered<_> = self.target.kinds().into_iter().map(list).collect();
        lists.filter_map(async |(kind, listed)| match listed {
            Ok(listed) => Some((kind, listed)),
            Err(Error::NoSuchKind(_)) => None,
            Err(error) => {
                progress::failure(&error.to_string());
                None
            }
        })
    }

    /// Prints each change as a row of its own (CLI-GET05).
    async fn follow(
        &self,
        cluster: &Cluster,
        kind: &'static Kind,
        selector: Option<&StatusSelector>,
    ) -> Result<(), Error> {
        let mut changes = cluster.watch(kind, &self.selection());
        let mut layout = self.layout(false);
        loop {
            let next = cluster.in_time(changes.next()).await.map_err(|_| Error::WatchEnded)?;
            let Some(object) = next.transpose()? else { return Ok(()) };
            let is_shown = selected(selector, kind, &object);
            print_next(&match self.flags.output {
                Some(form) if is_shown => form.one(kind, &object)?,
                Some(_) => String::new(),
                // The header comes with the first change, be it shown or not.
                None => layout.table(kind, is_shown.then(|| layout.row(kind, &object))),
            })?;
            layout.header = false;
        }
    }

    fn selection(&self) -> Selection {
        Selection {
            all_namespaces: self.flags.all_namespaces,
            name: self.name.clone(),
            labels: self.flags.label_selector.clone(),
        }
    }

    fn layout(&self, qualified: bool) -> Layout {
        let (namespace, header) = (self.flags.all_namespaces, !self.flags.no_header);
        Layout { namespace, source: self.show_source, qualified, header }
    }

    fn nothing_found(&self, cluster: &Cluster, kind: &Kind, hint: &str) -> Error {
        let namespace = match self.flags.all_namespaces {
            true => "any".to_owned(),
            false => format!("\"{}\"", cluster.namespace),
        };
        Error::NothingFound(match &self.name {
            Some(name) => format!("{} object '{name}' not found in {namespace} namespace{hint}", kind.name),
            None => format!("no {} objects found in {namespace} namespace", kind.name),
        })
    }
}

fn selected(selector: Option<&StatusSelector>, kind: &Kind, object: &DynamicObject) -> bool {
    selector.is_none_or(|selector| selector.matches(kind, object))
}

/// Makes cells of the selected objects, and of others nothing.
fn row(
    layout: Layout,
    kind: &'static Kind,
    selector: Option<StatusSelector>,
) -> impl Fn(DynamicObject) -> Option<Vec<String>> + Clone {
    move |object| selected(selector.as_ref(), kind, &object).then(|| layout.row(kind, &object))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_list_keeps_no_other_from_its_turn() {
        let flags = Line::parse_from(["get"]).flags;
        let get = Get { target: Target::All, name: None, show_source: false, flags };
        let kinds = Target::All.kinds();
        let (first, last) = (kinds.first().unwrap().name, kinds.last().unwrap().name);
        let last_began = &Notify::new();
        let lists = get.each_kind(async |kind: &'static Kind| {
            match kind.name {
                name if name == first => last_began.notified().await,
                name if name == last => last_began.notify_one(),
                _ => {}
            }
            Ok(vec![kind.name])
        });
        let names = timeout(Duration::from_secs(5), lists.map(|(_, names)| names).concat()).await.unwrap();
        assert_eq!(names, kinds.iter().map(|kind| kind.name).collect::<Vec<_>>());
    }
}
