//! Pods, Namespaces and NetworkPolicies as rules of the packet filter.
//!
//! ```text
//!   FORWARD ─► WEIR-POLICIES ─┬─► WEIR-OUT-10.214.7.5   from a Pod that a policy for egress selects
//!                             └─► WEIR-IN-10.214.7.6    to a Pod that a policy for ingress selects
//! ```
//!
//! A Pod's chain returns what a policy allows, so that both ends are asked, and refuses the rest. Services are resolved before, so that
//! rules see Pods. A node may always talk to its Pods: its own packets are not forwarded, and those of this machine, where the API server
//! runs as on the node, are let through. So probes, `kubectl port-forward` and the API server's proxy pass.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ContainerPort, Namespace, Pod};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

use super::block::Block;

/// The filter before there are rules, in front of those of Services.
pub(super) fn first(host: Ipv4Addr) -> String {
    format!("*filter\n:WEIR-POLICIES - [0:0]\n-I {}\nCOMMIT\n", jump(host))
}

/// Leads everything that the node forwards to the rules, but what comes from this machine.
fn jump(host: Ipv4Addr) -> String {
    format!("FORWARD ! -s {host} -j WEIR-POLICIES")
}

/// Answers to what was allowed need no rule.
const ANSWERS: &str = "-A WEIR-POLICIES -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN";

/// A Pod that is connected to the node.
pub(super) struct PodAt {
    pub(super) address: Ipv4Addr,
    pub(super) pod: Arc<Pod>,
}

/// All rules of a moment, and the chains of Pods that they are in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    chains: BTreeSet<String>,
    lines: Vec<String>,
}

impl Rules {
    pub(super) fn new(
        pods: &[PodAt],
        namespaces: &[Arc<Namespace>],
        policies: &[Arc<NetworkPolicy>],
    ) -> Self {
        let mut rules = Self { chains: BTreeSet::new(), lines: vec![ANSWERS.to_owned()] };
        for own in pods {
            for direction in [Direction::Egress, Direction::Ingress] {
                let of_namespace = policies.iter().filter(|it| it.namespace() == own.pod.namespace());
                let specs = of_namespace.filter_map(|policy| policy.spec.as_ref());
                let selecting = specs.filter(|spec| matches(spec.pod_selector.as_ref(), own.pod.labels()));
                let allowed: Vec<_> = selecting.filter_map(|spec| direction.allowed(spec)).collect();
                if !allowed.is_empty() {
                    let scene = Scene { own, direction, pods, namespaces };
                    rules.add(&scene, allowed.into_iter().flatten());
                }
            }
        }
        rules
    }

    /// The input of `iptables-restore --noflush` that puts them in place of `former` ones, in front of what others have put in front.
    pub(super) fn text(&self, former: &Self, host: Ipv4Addr) -> String {
        let flushed = self.chains.union(&former.chains).map(|chain| format!(":{chain} - [0:0]"));
        let gone = former.chains.difference(&self.chains).map(|chain| format!("-X {chain}"));
        let all = ["*filter", ":WEIR-POLICIES - [0:0]"].map(str::to_owned).into_iter().chain(flushed);
        let jump = ["-D", "-I"].map(|action| format!("{action} {}", jump(host)));
        let all = all.chain(jump).chain(self.lines.iter().cloned()).chain(gone);
        all.chain(["COMMIT\n".to_owned()]).collect::<Vec<_>>().join("\n")
    }

    /// Adds the chain of a Pod. A Pod may always talk to itself, which it does over a Service.
    fn add<'a>(&mut self, scene: &Scene<'_>, allowed: impl Iterator<Item = Allowed<'a>>) {
        let (prefix, own_flag, peer_flag) = match scene.direction {
            Direction::Ingress => ("WEIR-IN", "-d", "-s"),
            Direction::Egress => ("WEIR-OUT", "-s", "-d"),
        };
        let address = scene.own.address;
        let chain = format!("{prefix}-{address}");
        self.lines.push(format!("-A WEIR-POLICIES {own_flag} {address} ! {peer_flag} {address} -j {chain}"));
        for allowed in allowed {
            for peer in scene.peers(&allowed) {
                let end = match &peer {
                    Peer::Anyone => String::new(),
                    Peer::Block(block) => format!(" {peer_flag} {block}"),
                    Peer::Pod(pod) => format!(" {peer_flag} {}", pod.address),
                };
                let ports = scene.ports(&allowed, &peer);
                self.lines.extend(ports.iter().map(|port| format!("-A {chain}{end}{port} -j RETURN")));
            }
        }
        self.lines.push(format!("-A {chain} -j REJECT"));
        self.chains.insert(chain);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Ingress,
    Egress,
}

impl Direction {
    /// Rules of a policy, or none where it is not about this direction. The API server has filled in `policyTypes`.
    fn allowed(self, spec: &NetworkPolicySpec) -> Option<Vec<Allowed<'_>>> {
        let is_about = |name| spec.policy_types.iter().flatten().any(|it| it == name);
        match self {
            Self::Ingress => is_about("Ingress").then(|| {
                let rules = spec.ingress.iter().flatten();
                rules.map(|rule| Allowed::new(rule.from.as_ref(), rule.ports.as_ref())).collect()
            }),
            Self::Egress => is_about("Egress").then(|| {
                let rules = spec.egress.iter().flatten();
                rules.map(|rule| Allowed::new(rule.to.as_ref(), rule.ports.as_ref())).collect()
            }),
        }
    }
}

/// One rule of a policy; nothing means all.
struct Allowed<'a> {
    peers: &'a [NetworkPolicyPeer],
    ports: &'a [NetworkPolicyPort],
}

impl<'a> Allowed<'a> {
    fn new(peers: Option<&'a Vec<NetworkPolicyPeer>>, ports: Option<&'a Vec<NetworkPolicyPort>>) -> Self {
        let (peers, ports) = (peers.map(Vec::as_slice), ports.map(Vec::as_slice));
        Self { peers: peers.unwrap_or_default(), ports: ports.unwrap_or_default() }
    }
}

/// The other end of a connection.
enum Peer<'a> {
    Anyone,
    Block(Block),
    Pod(&'a PodAt),
}

/// A Pod whose connections in one direction are filtered, among all others.
struct Scene<'a> {
    own: &'a PodAt,
    direction: Direction,
    pods: &'a [PodAt],
    namespaces: &'a [Arc<Namespace>],
}

impl<'a> Scene<'a> {
    fn peers(&self, allowed: &Allowed<'_>) -> Vec<Peer<'a>> {
        let is_named = |port: &NetworkPolicyPort| matches!(port.port, Some(IntOrString::String(_)));
        if !allowed.peers.is_empty() {
            return allowed.peers.iter().flat_map(|peer| self.matching(peer)).collect();
        }
        // A name is a number that each Pod has for itself.
        let needs_pods = self.direction == Direction::Egress && allowed.ports.iter().any(is_named);
        let pods = self.pods.iter().filter(|_| needs_pods).map(Peer::Pod);
        [Peer::Anyone].into_iter().chain(pods).collect()
    }

    fn matching(&self, peer: &NetworkPolicyPeer) -> Vec<Peer<'a>> {
        if let Some(block) = &peer.ip_block {
            let except = block.except.iter().flatten();
            let except: Vec<Block> = except.filter_map(|cidr| Block::parse(cidr)).collect();
            let blocks = Block::parse(&block.cidr).map(|block| block.without(&except));
            return blocks.into_iter().flatten().map(Peer::Block).collect();
        }
        let is_meant = |pod: &&PodAt| {
            let is_in_namespace = match &peer.namespace_selector {
                None => pod.pod.namespace() == self.own.pod.namespace(),
                selector => self.namespaces.iter().any(|it| {
                    it.metadata.name == pod.pod.namespace() && matches(selector.as_ref(), it.labels())
                }),
            };
            is_in_namespace && matches(peer.pod_selector.as_ref(), pod.pod.labels())
        };
        self.pods.iter().filter(is_meant).map(Peer::Pod).collect()
    }

    /// Protocols and ports at the end that is connected to, as a rule has them.
    fn ports(&self, allowed: &Allowed<'_>, peer: &Peer<'_>) -> Vec<String> {
        if allowed.ports.is_empty() {
            return vec![String::new()];
        }
        let server = match (self.direction, peer) {
            (Direction::Ingress, _) => Some(self.own),
            (Direction::Egress, Peer::Pod(pod)) => Some(*pod),
            (Direction::Egress, _) => None,
        };
        let mut all = Vec::new();
        for NetworkPolicyPort { port, end_port, protocol } in allowed.ports {
            let protocol = protocol.as_deref().unwrap_or("TCP");
            let flag = format!(" -p {}", protocol.to_lowercase());
            match port {
                None => all.push(flag),
                Some(IntOrString::Int(first)) => {
                    let last = end_port.map(|last| format!(":{last}")).unwrap_or_default();
                    all.push(format!("{flag} --dport {first}{last}"));
                }
                Some(IntOrString::String(name)) => {
                    let is_it = |port: &&ContainerPort| {
                        port.name.as_ref() == Some(name)
                            && port.protocol.as_deref().unwrap_or("TCP") == protocol
                    };
                    let containers = server.and_then(|it| it.pod.spec.as_ref()).map(|spec| &spec.containers);
                    let ports = containers.into_iter().flatten().flat_map(|it| it.ports.iter().flatten());
                    all.extend(
                        ports.filter(is_it).map(|port| format!("{flag} --dport {}", port.container_port)),
                    );
                }
            }
        }
        all
    }
}

/// True for all labels where there is no selector. The API server lets no other operators pass than the library knows.
fn matches(selector: Option<&LabelSelector>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else { return true };
    Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(labels))
}
