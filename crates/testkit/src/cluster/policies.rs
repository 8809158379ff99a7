//! NetworkPolicies that hold on the node: a packet filter follows Pods, Namespaces and NetworkPolicies.
//!
//! ```text
//!   containerd ─► plugin `policed` ─► address of a Pod ──┐
//!   API server ─► Pods, Namespaces, NetworkPolicies ─────┴─► rules ─► `iptables-restore` in the node's network
//! ```
//!
//! Invariant: the rules about a Pod, and those that let it through to others, hold before its first process starts. So the address
//! comes from the plugin, which waits; the Pod's status has it a second later.

mod block;
mod rules;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;

use futures::stream::{BoxStream, Stream, StreamExt, select_all};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;

use self::rules::{PodAt, Rules};
use super::namespaces::Namespaces;
use super::network::Network;
use crate::connection::listen;
use crate::{Error, command};

/// Changes that are taken together: a rollout's, say.
const MAX_CHANGES: usize = 1_000;

/// The filter's task, and the address at which plugins ask for it. Dropping it ends the task; the filter goes with the node.
#[derive(Debug)]
pub(super) struct Policies {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl Policies {
    /// Puts the filter in front of everything that the node forwards, and follows the cluster from then on.
    pub(super) async fn start(
        client: &Client,
        network: Network,
        namespaces: &Namespaces,
    ) -> Result<Self, Error> {
        let host = network.host();
        let (listener, address) = listen(host).await?;
        let mut filter = Command::from(namespaces.enter(Path::new("iptables-restore")));
        filter.args(["-w", "--noflush"]).kill_on_drop(true);
        filter.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        restore(&mut filter, &rules::first(host)).await?;

        let (pods, of_pods) = watched(client);
        let (namespaces, of_namespaces) = watched(client);
        let (policies, of_policies) = watched(client);
        let changes = select_all([of_pods, of_namespaces, of_policies]);
        let follower = Follower {
            pods,
            namespaces,
            policies,
            addresses: BTreeMap::new(),
            waiting: Vec::new(),
            host,
            filter,
            held: Rules::default(),
        };
        let mut task = JoinSet::new();
        task.spawn(follower.follow(listener, changes));
        Ok(Self { address, _task: task })
    }

    /// Address at which plugins tell of Pods; each is answered when the rules about its Pod hold.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A plugin's line: its arguments and what `ptp` printed.
struct Attached {
    uid: String,
    address: Ipv4Addr,
}

impl Attached {
    fn parse(line: &str) -> Option<Self> {
        let (arguments, result) = line.split_once(' ')?;
        let uid = arguments.split(';').find_map(|it| it.strip_prefix("K8S_POD_UID="))?;
        let result: serde_json::Value = serde_json::from_str(result).ok()?;
        let address = result.pointer("/ips/0/address")?.as_str()?.split('/').next()?;
        Some(Self { uid: uid.to_owned(), address: address.parse().ok()? })
    }
}

struct Follower {
    pods: Store<Pod>,
    namespaces: Store<Namespace>,
    policies: Store<NetworkPolicy>,
    /// UIDs by address: an address that is given anew is the newer Pod's.
    addresses: BTreeMap<Ipv4Addr, String>,
    /// Plugins whose Pods may not start yet, by their UIDs.
    waiting: Vec<(String, TcpStream)>,
    host: Ipv4Addr,
    filter: Command,
    held: Rules,
}

impl Follower {
    async fn follow(mut self, listener: TcpListener, changes: impl Stream<Item = ()> + Send) {
        let mut changes = pin!(changes.ready_chunks(MAX_CHANGES));
        loop {
            tokio::select! {
                Some(_) = changes.next() => {}
                Ok((plugin, _)) = listener.accept() => self.attach(plugin).await,
                else => return,
            }
            self.hold().await;
        }
    }

    /// Takes note of a Pod's address. A plugin that is not understood sees the end of the connection and fails.
    async fn attach(&mut self, plugin: TcpStream) {
        let (mut plugin, mut line) = (BufReader::new(plugin), String::new());
        // It writes at once.
        let _ = plugin.read_line(&mut line).await;
        if let Some(Attached { uid, address }) = Attached::parse(&line) {
            self.addresses.insert(address, uid.clone());
            self.waiting.push((uid, plugin.into_inner()));
        }
    }

    /// Applies the rules of this moment, and lets the Pods start that they are about.
    async fn hold(&mut self) {
        let (pods, namespaces, policies) =
            (self.pods.state(), self.namespaces.state(), self.policies.state());
        if namespaces.is_empty() {
            return; // Not listed yet: each cluster has some.
        }
        let pod_of = |uid: &String| pods.iter().find(|pod| pod.metadata.uid.as_ref() == Some(uid));
        let there = self.addresses.iter().filter_map(|(address, uid)| {
            Some(PodAt { address: *address, pod: pod_of(uid).filter(|pod| !is_finished(pod))?.clone() })
        });
        let rules = Rules::new(&there.collect::<Vec<_>>(), &namespaces, &policies);
        let mut answer = "held\n".to_owned();
        if rules != self.held {
            match restore(&mut self.filter, &rules.text(&self.held, self.host)).await {
                Ok(()) => self.held = rules,
                Err(error) => {
                    answer = format!("{}\n", error.to_string().replace('\n', " "));
                    eprint!("The node's NetworkPolicies do not hold: {answer}");
                }
            }
        }
        for (uid, mut plugin) in std::mem::take(&mut self.waiting) {
            if pod_of(&uid).is_none() {
                self.waiting.push((uid, plugin));
            } else {
                // A plugin that is gone has been given up with its Pod.
                let _ = plugin.write_all(answer.as_bytes()).await;
            }
        }
    }
}

fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// All objects of a kind, and a stream that keeps them up to date while it is polled. A watch that breaks is begun anew.
fn watched<K>(client: &Client) -> (Store<K>, BoxStream<'static, ()>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (store, writer) = reflector::store();
    let events = watcher(Api::<K>::all(client.clone()), watcher::Config::default()).default_backoff();
    (store, events.reflect(writer).map(drop).boxed())
}

/// Replaces the rules in one transaction.
async fn restore(filter: &mut Command, text: &str) -> Result<(), Error> {
    let failed = |source| Error::Spawn { program: "iptables-restore".into(), source };
    let mut restore = filter.spawn().map_err(failed)?;
    if let Some(mut pipe) = restore.stdin.take() {
        // When it ends without reading, its exit status has the reason.
        let _ = pipe.write_all(text.as_bytes()).await;
    }
    let output = restore.wait_with_output().await.map_err(failed)?;
    command::printed(format!("iptables-restore of\n{text}"), output).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_tells_of_a_pod() {
        let line = "K8S_POD_NAMESPACE=a;K8S_POD_UID=12-34;IgnoreUnknown=1 \
                    {\"cniVersion\": \"0.4.0\", \"ips\": [{\"address\": \"10.214.7.5/24\"}]}\n";
        let attached = Attached::parse(line).unwrap();
        assert_eq!((attached.uid.as_str(), attached.address), ("12-34", Ipv4Addr::new(10, 214, 7, 5)));
        for other in
            ["", "\n", "K8S_POD_UID=1 {}", "IgnoreUnknown=1 {\"ips\": [{\"address\": \"10.0.0.1/24\"}]}"]
        {
            assert!(Attached::parse(other).is_none(), "{other}");
        }
    }
}
