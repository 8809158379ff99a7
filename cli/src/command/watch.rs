//! `weir watch`: the status of objects live, from the services' gRPC API.

mod feed;
mod mirror;
mod services;
mod view;

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use futures::StreamExt;

use self::feed::Feed;
use self::services::Way;
use self::view::View;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{KINDS, Kind};
use crate::output::progress;

/// Address of `weir run`, unless a flag gives it another.
const HERE: &str = "127.0.0.1:9393";

/// The objects to follow.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # All objects of all namespaces, from all services of the cluster
  weir watch --all-namespaces

  # One object, a line for every change
  weir watch kustomization apps --output line

  # `weir run` on this machine, with a token for it
  weir watch kustomizations --grpc-addr 127.0.0.1:9393 --token \"$(kubectl create token default)\"")]
pub(crate) struct Watch {
    /// Kind of the objects; all kinds without one.
    kind: Option<String>,
    /// Name of the object; all objects without one.
    #[arg(requires = "kind")]
    name: Option<String>,
    /// Follow the objects of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Address of one service's gRPC API, as host:port or https://host:port (default: all services of the cluster, or
    /// 127.0.0.1:9393 where it has none).
    #[arg(long, value_name = "ADDRESS")]
    grpc_addr: Option<String>,
    /// Namespace of the services.
    #[arg(long, default_value = "flux-system", value_name = "NAMESPACE")]
    flux_namespace: String,
    /// PEM file with the certificate authority of the services, where they speak TLS.
    #[arg(long, value_name = "FILE")]
    grpc_ca: Option<std::path::PathBuf>,
    /// Form of the output; a table on a terminal, else lines.
    #[arg(short, long, value_enum)]
    output: Option<Form>,
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The objects as they are now, drawn again at every change.
    Table,
    /// A line for every object that is there and for every change.
    Line,
    /// The same as JSON.
    Json,
}

impl Watch {
    /// Follows until interrupted; `--timeout` is for the first answer only.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let kind = self.kind.as_deref().map(find).transpose()?;
        let config = global.access.config(global.access.kubeconfig()?).await?;
        let token = crate::global::bearer_token(&config)?;
        let namespace = if self.all_namespaces { String::new() } else { global.namespace()? };
        let selection = feed::Selection {
            kind: kind.map(|kind| kind.name.to_owned()).unwrap_or_default(),
            namespace,
            name: self.name.clone().unwrap_or_default(),
        };
        let ways = self.ways(global).await?;
        let terminal = std::io::stdout().is_terminal();
        let form = self.output.unwrap_or(if terminal { Form::Table } else { Form::Line });
        let mut view = View::new(form, terminal, self.all_namespaces, ways.len());
        let mut serving = ways.len();
        let mut feeds = Vec::new();
        for way in &ways {
            let feed = Feed::connect(way, self.grpc_ca.as_deref(), token.clone(), selection.clone())?;
            feeds.push(feed.changes(global.timeout.to_std()).boxed());
        }
        let mut batches = futures::stream::select_all(feeds).ready_chunks(feed::BURST);
        while let Some(batch) = batches.next().await {
            for change in batch {
                match change {
                    Ok(change) => view.apply(change)?,
                    // Each service has kinds of its own.
                    Err(error) if serving > 1 && error.is_kind_of_others() => {
                        serving -= 1;
                        view.has_synced();
                    }
                    Err(error) => return Err(error),
                }
            }
            view.draw()?;
        }
        Ok(())
    }

    /// Returns the given address, or else the services of the cluster, or else the usual address on this machine.
    async fn ways(&self, global: &Global) -> Result<Vec<Way>, Error> {
        if let Some(address) = &self.grpc_addr {
            return Ok(vec![Way::Address(address.clone())]);
        }
        let cluster = global.cluster().await?.in_namespace(&self.flux_namespace);
        let found = services::find(&cluster).await?;
        if !found.is_empty() {
            return Ok(found);
        }
        progress::warning(&format!(
            "no services of Weir in namespace {}: asking {HERE}",
            self.flux_namespace
        ));
        Ok(vec![Way::Address(HERE.to_owned())])
    }
}

fn find(word: &str) -> Result<&'static Kind, Error> {
    let served = || KINDS.iter().filter(|kind| kind.is_served);
    let known = || served().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    Kind::find(word)
        .filter(|kind| kind.is_served)
        .ok_or_else(|| Error::UnknownKind { word: word.to_owned(), known: known() })
}
