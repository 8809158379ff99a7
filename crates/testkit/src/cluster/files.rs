//! Configuration of the node's programs. Each setting that is not the default is there for a machine without some rights (CP-05).

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::network::Network;
use super::requirements;
use crate::{Error, Folder};

/// The node's name.
pub(super) const NODE: &str = "node";

/// Folder of the network plugins.
const PLUGINS: &str = "plugins";

/// Our own network plugin.
const POLICED: &str = "policed";

const CONTAINERD_SOCKET: &str = "/run/containerd/containerd.sock";

/// The socket of containerd, as this machine sees it.
pub(super) fn containerd_socket(folder: &Folder) -> PathBuf {
    folder.join(CONTAINERD_SOCKET.trim_start_matches('/'))
}

/// Images come from the registry over plain HTTP. Without `restrict_oom_score_adj` runc fails where a process may not lower its score.
pub(super) fn containerd(folder: &Folder, registry: &str) -> Result<PathBuf, Error> {
    let hosts = folder.join("registries");
    let of_registry = hosts.join(registry);
    std::fs::create_dir_all(&of_registry).map_err(Error::file(&of_registry))?;
    let place = of_registry.join("hosts.toml");
    let text = format!("[host.\"http://{registry}\"]\ncapabilities = [\"pull\", \"resolve\"]\n");
    std::fs::write(&place, text).map_err(Error::file(&place))?;
    let plugins = folder.join(PLUGINS).display().to_string();
    folder.write(
        "containerd.toml",
        format!(
            "version = 2\n\
             [grpc]\naddress = \"{CONTAINERD_SOCKET}\"\n\
             [plugins.\"io.containerd.grpc.v1.cri\"]\n\
             sandbox_image = \"{registry}/pause:1\"\nrestrict_oom_score_adj = true\n\
             [plugins.\"io.containerd.grpc.v1.cri\".containerd]\nsnapshotter = \"overlayfs\"\n\
             [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\nruntime_type = \"io.containerd.runc.v2\"\n\
             [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = false\n\
             [plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"{plugins}\"\nconf_dir = \"{}\"\n\
             [plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = \"{}\"\n",
            folder.join("networks").display(),
            hosts.display(),
        ),
    )
}

/// Each Pod has a cable to the node, so that Services work without a bridge. Its processes start once the NetworkPolicies about it
/// hold, for which the plugin asks at the address of [`super::policies::Policies`].
pub(super) fn container_network(
    folder: &Folder,
    network: Network,
    policies: SocketAddr,
) -> Result<(), Error> {
    let networks = folder.join("networks");
    std::fs::create_dir_all(&networks).map_err(Error::file(&networks))?;
    let addresses = json!({
        "type": "host-local", "ranges": [[{"subnet": network.pods()}]], "routes": [{"dst": "0.0.0.0/0"}],
    });
    let plugins = json!([
        {"type": POLICED, "ipam": addresses},
        {"type": "portmap", "capabilities": {"portMappings": true}},
    ]);
    let list = json!({"cniVersion": "0.4.0", "name": "pods", "plugins": plugins});
    folder.write("networks/pods.conflist", list.to_string())?;
    install_plugins(folder, policies)
}

/// Puts the machine's plugins and our own into one folder, as the container runtime looks into one only.
fn install_plugins(folder: &Folder, policies: SocketAddr) -> Result<(), Error> {
    let (own, plugins) = (folder.join(PLUGINS), requirements::plugins().unwrap_or(Path::new("")));
    std::fs::create_dir_all(&own).map_err(Error::file(&own))?;
    for entry in std::fs::read_dir(plugins).map_err(Error::file(plugins))?.flatten() {
        let link = own.join(entry.file_name());
        std::os::unix::fs::symlink(entry.path(), &link).map_err(Error::file(&link))?;
    }
    let text = include_str!("policies/policed")
        .replace("HOST/PORT", &format!("{}/{}", policies.ip(), policies.port()));
    let policed = folder.write(&format!("{PLUGINS}/{POLICED}"), text)?;
    std::fs::set_permissions(&policed, Permissions::from_mode(0o755)).map_err(Error::file(&policed))
}

pub(super) fn kubelet(folder: &Folder, network: Network, cgroup: &str) -> Result<PathBuf, Error> {
    let configuration = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": network.node(),
        // Only this machine reaches it, and nothing of the cluster outlives a test.
        "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{cgroup}"),
        "clusterDNS": [network.node()],
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD_SOCKET}"),
        "enforceNodeAllocatable": [],
        "evictionHard": {"memory.available": "50Mi"},
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        "oomScoreAdj": 0,
        "resolvConf": "",
        "serializeImagePulls": false,
    });
    folder.write("kubelet.json", configuration.to_string())
}

pub(super) fn kube_proxy(folder: &Folder, network: Network, kubeconfig: &Path) -> Result<PathBuf, Error> {
    let configuration = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig},
        "clusterCIDR": network.pods(),
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "hostnameOverride": NODE,
        "mode": "iptables",
        "oomScoreAdj": 0,
    });
    folder.write("kube-proxy.json", configuration.to_string())
}

pub(super) fn coredns(folder: &Folder, network: Network, kubeconfig: &Path) -> Result<PathBuf, Error> {
    let (node, kubeconfig) = (network.node(), kubeconfig.display());
    folder.write(
        "Corefile",
        format!(
            ".:53 {{\n  bind {node}\n  errors\n  cache 5\n  kubernetes cluster.local {{\n    kubeconfig {kubeconfig}\n  }}\n}}\n"
        ),
    )
}
