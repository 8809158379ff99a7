//! A cluster with a node: Pods run on it, and nothing of it stays (CP-05, CP-11).

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use weir_testkit::{Cluster, eventually, stand_in_image, wait_for};

const DEADLINE: Duration = Duration::from_secs(90);

/// Everything that a node makes on a machine, as far as it can be told from that of others.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    processes: usize,
    mounts: usize,
    networks: usize,
    control_groups: usize,
    devices: usize,
}

const NOTHING: Traces = Traces { processes: 0, mounts: 0, networks: 0, control_groups: 0, devices: 0 };

impl Traces {
    /// Counts what belongs to the node of a folder.
    fn of(folder: &Path, network: Option<u64>, device: &str) -> Self {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let processes: Vec<PathBuf> = all("/proc").filter(|path| path.join("ns/net").exists()).collect();
        let has_name = |path: &&PathBuf| {
            let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(name)
        };
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let is_in = |path: &&PathBuf| network.is_some() && network_of(path) == network;
        let hierarchies = all("/sys/fs/cgroup").chain([PathBuf::from("/sys/fs/cgroup")]);
        Self {
            processes: processes.iter().filter(has_name).count(),
            mounts: mounts.lines().filter(|line| line.contains(name)).count(),
            networks: processes.iter().filter(is_in).count(),
            control_groups: hierarchies.filter(|path| path.join(name).exists()).count(),
            devices: usize::from(Path::new("/sys/class/net").join(device).exists()),
        }
    }
}

fn all(folder: &str) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path())
}

/// The network namespace of a process.
fn network_of(process: &Path) -> Option<u64> {
    std::fs::metadata(process.join("ns/net")).ok().map(|namespace| namespace.ino())
}

/// The network namespace of the node of a folder: another one than this process's.
fn network_in(folder: &Path) -> Option<u64> {
    let own = network_of(Path::new("/proc/self"));
    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let is_of_node = |path: &PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&name)
    };
    all("/proc").filter(is_of_node).filter_map(|path| network_of(&path)).find(|network| Some(*network) != own)
}

/// This machine's end of the cable, by the address of the registry.
fn device_of(registry: &str) -> String {
    format!("weir{}", registry.split('.').nth(2).unwrap())
}

#[tokio::test]
async fn pods_run_and_nothing_of_a_cluster_stays() {
    if !Cluster::is_possible().await.unwrap() {
        return;
    }
    let cluster = Cluster::start().await.unwrap();
    let (folder, device) = (cluster.path().to_owned(), device_of(&cluster.registry_address()));
    let image = stand_in_image("app", "1.2.3", "app").unwrap();
    cluster.registry().push_made_image("app", "1.2.3", &image).await.unwrap();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app"},
        "spec": {"containers": [{
            "name": "app", "image": format!("{}/app:1.2.3", cluster.registry_address()),
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": 9898}, "periodSeconds": 1},
        }]},
    });
    cluster.plane().apply("default", pod).await.unwrap();
    let pods = cluster.plane().api("v1", "Pod", "default").await.unwrap();
    let is_ready = |pod: Option<&kube::api::DynamicObject>| {
        pod.is_some_and(|pod| pod.data["status"]["containerStatuses"][0]["ready"] == true)
    };
    let pod = wait_for(&pods, "app", "its readiness", DEADLINE, is_ready).await.unwrap().unwrap();
    let address = pod.data["status"]["podIP"].as_str().unwrap();
    let answer = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = answer.get(format!("http://{address}:9898/")).send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "1.2.3");

    let network = network_in(&folder);
    let during = Traces::of(&folder, network, &device);
    assert!(network.is_some() && during.processes > 5 && during.networks > 5, "{during:?}");
    assert!(during.control_groups > 0 && during.devices == 1, "{during:?}");
    assert_eq!(during.mounts, 0, "a mount of the node is seen outside");

    drop(cluster);
    assert_eq!(Traces::of(&folder, network, &device), NOTHING);
    assert!(!folder.exists());
}

#[tokio::test]
async fn killing_who_holds_a_cluster_leaves_nothing() {
    if !Cluster::is_possible().await.unwrap() {
        return;
    }
    let mut holder =
        Command::new(env!("CARGO_BIN_EXE_hold-cluster")).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("export KUBECONFIG="));
    let registry = lines.next().unwrap().unwrap();
    let folder = lines.next().unwrap().unwrap();
    let folder = PathBuf::from(folder.strip_prefix("# node: ").expect("the folder is printed"));
    let (network, device) = (network_in(&folder), device_of(&registry));
    assert!(network.is_some());
    assert!(Traces::of(&folder, network, &device).processes > 5);

    holder.kill().unwrap();
    holder.wait().unwrap();
    eventually("the end of everything", DEADLINE, async || {
        (Traces::of(&folder, network, &device) == NOTHING && !folder.exists()).then_some(())
    })
    .await
    .unwrap();
}
