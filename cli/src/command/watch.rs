//! `weir watch`: the status of objects live, from the services' gRPC API, or from the API server for those who cannot use that.

mod direct;
mod fallback;
mod feed;
mod mirror;
mod outage;
mod services;
mod view;

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::{BoxStream, select_all};
use secrecy::SecretString;
use weir_proto::status::v1::WatchResponse;
use weir_runtime::args::Switch;

use self::feed::Feed;
use self::outage::Outages;
use self::services::Way;
use self::view::View;
use crate::cluster::{Cluster, Selection};
use crate::error::Error;
use crate::global::{Global, services_namespace};
use crate::kind::{KINDS, Kind};
use crate::output::progress;

/// The objects to follow.
#[derive(Args, Debug)]
#[command(after_help = "It goes on until Ctrl-C: --timeout is only for the first answer.

Examples:
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
    #[arg(short = 'A', long, switched_off())]
    all_namespaces: bool,
    /// Address of one service's gRPC API, as host:port or https://host:port (default: all services of the cluster, or its API
    /// server where there are none, and for users without a bearer token).
    #[arg(long, value_name = "ADDRESS")]
    grpc_addr: Option<String>,
    /// Namespace of the services.
    #[arg(long, default_value_t = services_namespace(), value_name = "NAMESPACE")]
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

/// The changes that one server tells of.
type Changes = BoxStream<'static, Result<WatchResponse, Error>>;

impl Watch {
    /// Follows until interrupted; `--timeout` is for the first answer only.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let kind = self.kind.as_deref().map(find).transpose()?;
        let feeds = self.feeds(kind, global).await?;
        let terminal = std::io::stdout().is_terminal();
        let form = self.output.unwrap_or(if terminal { Form::Table } else { Form::Line });
        let mut view = View::new(form, terminal, self.all_namespaces, feeds.len());
        let mut serving = feeds.len();
        let mut batches = select_all(feeds).ready_chunks(feed::BURST);
        while let Some(batch) = batches.next().await {
            for change in batch {
                match change {
                    Ok(change) => view.apply(change)?,
                    // Each service has kinds of its own, and not all kinds are in each cluster.
                    Err(error) if serving > 1 && may_be_left_out(&error) => {
                        if error.is_forbidden() {
                            progress::warning(&format!("not followed: {error}"));
                        }
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

    /// Returns who tells of changes: the given address, or else the services of the cluster, or else its API server.
    async fn feeds(&self, kind: Option<&'static Kind>, global: &Global) -> Result<Vec<Changes>, Error> {
        let config = global.access.config(global.access.kubeconfig()?.as_ref())?;
        let token = crate::global::bearer_token(&config);
        if let Some(address) = &self.grpc_addr {
            // A token that is given is for this address, however the API server is reached.
            let token = global.access.token().cloned().map_or(token, Ok)?;
            return self.of_services(&[Way::Address(address.clone())], token, kind, global);
        }
        let cluster = global.cluster().await?;
        let Ok(token) = token else {
            let reason = match config.cluster_url.scheme_str() {
                Some("https") => "the services want a bearer token (--token)",
                _ => "the services want a bearer token, and none is sent over plain HTTP",
            };
            progress::warning(&format!("following through the API server: {reason}"));
            return Ok(self.of_api_server(&cluster, &wanted(kind)));
        };
        let found = services::find(&cluster.in_namespace(&self.flux_namespace)).await;
        match usable(found, &self.flux_namespace)? {
            Ok(ways) => {
                let feeds = self.of_services(&ways, token, kind, global)?;
                Ok(self.reached(&ways, feeds, &cluster, kind).await)
            }
            Err(reason) => {
                progress::warning(&format!("following through the API server: {reason}"));
                Ok(self.of_api_server(&cluster, &wanted(kind)))
            }
        }
    }

    /// The changes of the services that can be reached; the API server tells of the objects of the others.
    async fn reached(
        &self,
        ways: &[Way],
        feeds: Vec<Changes>,
        cluster: &Cluster,
        kind: Option<&'static Kind>,
    ) -> Vec<Changes> {
        let feeds = join_all(feeds.into_iter().map(fallback::reached)).await;
        let mut followed = Vec::new();
        for (way, feed) in ways.iter().zip(feeds) {
            match feed {
                Ok(feed) => followed.push(feed),
                Err(error) => {
                    let mut kinds = fallback::kinds_of(&way.name(), ways.len() == 1);
                    kinds.retain(|own| kind.is_none_or(|kind| kind.name == own.name));
                    let instead =
                        if kinds.is_empty() { "not followed" } else { "following through the API server" };
                    progress::warning(&format!("{instead}: {error}"));
                    followed.extend(self.of_api_server(cluster, &kinds));
                }
            }
        }
        if followed.is_empty() { self.of_api_server(cluster, &wanted(kind)) } else { followed }
    }

    fn of_services(
        &self,
        ways: &[Way],
        token: SecretString,
        kind: Option<&Kind>,
        global: &Global,
    ) -> Result<Vec<Changes>, Error> {
        let namespace = if self.all_namespaces { String::new() } else { global.namespace()? };
        let selection = feed::Selection {
            kind: kind.map(|kind| kind.name.to_owned()).unwrap_or_default(),
            namespace,
            name: self.name.clone().unwrap_or_default(),
        };
        let feed = |way| Feed::connect(way, self.grpc_ca.as_deref(), token.clone(), selection.clone());
        let feeds = ways.iter().map(|way| Ok(feed(way)?.changes(global.timeout.to_std()).boxed()));
        feeds.collect()
    }

    fn of_api_server(&self, cluster: &Cluster, kinds: &[&'static Kind]) -> Vec<Changes> {
        let name = self.name.clone();
        let selection = Selection { all_namespaces: self.all_namespaces, name, labels: None };
        let outages = Outages::default();
        let changes = |kind| direct::changes(cluster.clone(), kind, &selection, outages.stream()).boxed();
        kinds.iter().copied().map(changes).collect()
    }
}

/// Returns the services to follow, or the reason for which the API server is followed in their place.
fn usable(found: Result<Vec<Way>, Error>, namespace: &str) -> Result<Result<Vec<Way>, String>, Error> {
    match found {
        Ok(ways) if ways.is_empty() => Ok(Err(format!("no services of Weir in namespace {namespace}"))),
        // Tenants see their own namespaces only.
        Err(error) if error.is_forbidden() => Ok(Err(error.to_string())),
        found => found.map(Ok),
    }
}

/// Returns true when the others are followed on: nothing is there of a kind, or the user may not see it.
fn may_be_left_out(error: &Error) -> bool {
    error.is_about_unknown_kind() || error.is_forbidden()
}

/// Returns the kinds to follow: the one that was asked for, or all.
fn wanted(kind: Option<&'static Kind>) -> Vec<&'static Kind> {
    kind.map_or_else(|| KINDS.iter().collect(), |kind| vec![kind])
}

fn find(word: &str) -> Result<&'static Kind, Error> {
    let known = || KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    Kind::find(word).ok_or_else(|| Error::UnknownKind { word: word.to_owned(), known: known() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of an API server or service with such a code.
    fn refused(code: u16) -> Error {
        let status = serde_json::json!({ "status": "Failure", "message": "no", "reason": "x", "code": code });
        Error::from(kube::Error::Api(serde_json::from_value(status).unwrap()))
    }

    #[test]
    fn tenants_follow_through_the_api_server() {
        let usable = |found| usable(found, "flux-system");
        assert_eq!(usable(Err(refused(403))).unwrap().err().unwrap(), "no");
        assert_eq!(
            usable(Ok(Vec::new())).unwrap().err().unwrap(),
            "no services of Weir in namespace flux-system"
        );
        assert!(usable(Err(refused(500))).is_err());
        assert_eq!(usable(Ok(vec![Way::Address("a:1".to_owned())])).unwrap().ok().unwrap().len(), 1);
    }

    #[test]
    fn a_kind_without_a_right_is_left_out() {
        let of_service =
            |code| Error::Grpc { address: String::new(), status: Box::new(tonic::Status::new(code, "no")) };
        assert!(
            may_be_left_out(&refused(403)) && may_be_left_out(&of_service(tonic::Code::PermissionDenied))
        );
        assert!(may_be_left_out(&of_service(tonic::Code::NotFound)));
        assert!(!may_be_left_out(&refused(500)) && !may_be_left_out(&of_service(tonic::Code::Unavailable)));
    }
}
