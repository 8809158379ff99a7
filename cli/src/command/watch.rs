//! `weir watch`: the status of objects live, from the services' gRPC API.

mod feed;
mod mirror;
mod view;

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use futures::StreamExt;

use self::feed::Feed;
use self::view::View;
use crate::error::Error;
use crate::global::Global;
use crate::kind::{KINDS, Kind};

/// The objects to follow.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # All objects of all namespaces, through a service or `weir run` on this machine
  weir watch --all-namespaces

  # One object, a line for every change
  weir watch kustomization apps --output line

  # Services in a cluster, with a token for them
  kubectl -n flux-system port-forward deployment/kustomize-controller 9393 &
  weir watch kustomizations --token \"$(kubectl create token default)\"")]
pub(crate) struct Watch {
    /// Kind of the objects; all kinds without one.
    kind: Option<String>,
    /// Name of the object; all objects without one.
    #[arg(requires = "kind")]
    name: Option<String>,
    /// Follow the objects of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Where the services' gRPC API is, as host:port or https://host:port.
    #[arg(long, default_value = "127.0.0.1:9393", value_name = "ADDRESS")]
    grpc_addr: String,
    /// PEM file with the certificate authority of an https:// address.
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
        let terminal = std::io::stdout().is_terminal();
        let form = self.output.unwrap_or(if terminal { Form::Table } else { Form::Line });
        let feed = Feed::connect(&self.grpc_addr, self.grpc_ca.as_deref(), token, selection)?;
        let mut view = View::new(form, terminal, self.all_namespaces);
        let mut batches = std::pin::pin!(feed.changes(global.timeout.to_std()).ready_chunks(feed::BURST));
        while let Some(batch) = batches.next().await {
            for change in batch {
                view.apply(change?)?;
            }
            view.draw()?;
        }
        Ok(())
    }
}

fn find(word: &str) -> Result<&'static Kind, Error> {
    let served = || KINDS.iter().filter(|kind| kind.is_served);
    let known = || served().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    Kind::find(word)
        .filter(|kind| kind.is_served)
        .ok_or_else(|| Error::UnknownKind { word: word.to_owned(), known: known() })
}
