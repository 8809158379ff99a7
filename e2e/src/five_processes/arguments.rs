//! Arguments of a Deployment as they are on this host: addresses of Services become ports of loopback, folders of volumes
//! folders of the process.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};

use super::process::PEER_TOKEN;
use super::{Links, of};
use crate::ports::Ports;

/// The network of the cluster: names of Services, each with its address on this machine.
#[derive(Debug)]
pub(super) struct Surroundings {
    names: Vec<(String, String)>,
}

impl Surroundings {
    pub(super) fn new(links: &Links, ports: &BTreeMap<&'static str, Ports>) -> Result<Self> {
        let host = |service: &str| format!("{service}.$(RUNTIME_NAMESPACE).svc.cluster.local.");
        let (source, reflector, notification) =
            (host("source-controller"), host("image-reflector-controller"), host("notification-controller"));
        let loopback = |port: u16| format!("127.0.0.1:{port}");
        let events = loopback(of(ports, "notification-controller")?.events);
        let storage = loopback(of(ports, "source-controller")?.storage);
        // Longer names first: an address over gRPC begins like one over HTTP.
        Ok(Self {
            names: vec![
                (format!("{source}:9393"), links.artifacts.address()),
                (format!("{reflector}:9393"), links.resolutions.address()),
                (format!("{notification}:9393"), links.events.address()),
                (format!("http://{notification}/"), format!("http://{events}/")),
                (source, storage),
            ],
        })
    }

    /// An argument with what is different here; one that still leads into a cluster is an error.
    pub(super) fn argument(&self, argument: &str, folder: &Path) -> Result<String> {
        let mut text = argument.to_owned();
        for (name, here) in &self.names {
            text = text.replace(name, here);
        }
        // Volumes of the Pod lie in the folder of the process.
        if let Some((flag, path)) = text.split_once("=/") {
            text = format!("{flag}={}", folder.join(path).display());
        }
        if text.contains("$(") || text.contains("cluster.local") {
            bail!("{argument} leads to something that is not known here");
        }
        Ok(text)
    }
}

/// Flags that are not in the manifests, since their defaults suit a Pod and not a host that all services share.
pub(super) fn of_host(service: &str, ports: Ports, folder: &Path) -> Vec<String> {
    let loopback = |flag: &str, port: u16| format!("--{flag}=127.0.0.1:{port}");
    let mut arguments = vec![
        loopback("grpc-addr", ports.grpc),
        loopback("metrics-addr", ports.metrics),
        loopback("health-addr", ports.health),
        format!("--peer-token-file={}", folder.join(PEER_TOKEN).display()),
    ];
    match service {
        "source-controller" => arguments.push(loopback("storage-addr", ports.storage)),
        "image-reflector-controller" => {
            arguments.push(format!("--storage-path={}", folder.join("data").display()));
        }
        "notification-controller" => {
            arguments
                .extend([loopback("events-addr", ports.events), loopback("receiverAddr", ports.receiver)]);
        }
        _ => {}
    }
    arguments
}

/// Returns true for flags that Flux's programs do not know, and for the election, which they hold in Pods only.
pub(super) fn is_of_weir(argument: &str) -> bool {
    let flag = argument.split('=').next().unwrap_or(argument);
    let flags = ["--enable-leader-election", "--peer-token-file", "--outbox-path"];
    flags.contains(&flag) || flag.ends_with("grpc-addr")
}
