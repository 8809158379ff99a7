use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::network::Network;
use super::requirements;
use crate::{Error, Folder, Process, command, eventually, keeper};

/// Namespaces are made in milliseconds; the rest is for a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// The first process of the namespaces. It puts folders of its own over those that a node writes to, says that it is ready, and
/// collects orphans.
const FIRST: &str = r#"
set -e
mount --make-rshared /
for name in run var/lib var/log; do
  mkdir -p "$1/$name"
  mount --bind "$1/$name" "/$name"
done
# Only names of the cluster are there: a pull from anywhere else fails at once.
: > "$1/resolv.conf"
mount --bind "$1/resolv.conf" /etc/resolv.conf
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
touch "$1/ready"
while :; do sleep 3600; done
"#;

/// Mount point of control groups.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Namespaces of the network, of mounts and of processes, which end with their first process.
#[derive(Debug)]
pub(super) struct Namespaces {
    outer: Process,
    /// Process id of the first process, as this machine sees it.
    first: u32,
    cgroup: String,
}

impl Namespaces {
    /// Makes namespaces, and a cable to this machine.
    pub(super) async fn start(folder: &Folder, network: Network) -> Result<Self, Error> {
        let cgroup = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        keeper::cgroup(&cgroup)?;
        for root in cgroup_roots() {
            let path = root.join(&cgroup);
            std::fs::create_dir_all(&path).map_err(Error::file(&path))?;
        }
        let mut unshare = Command::new("unshare");
        unshare.args([
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            FIRST,
        ]);
        unshare.arg("weir-node").arg(folder.path()).env("PATH", requirements::path());
        let outer = Process::start("namespaces", &mut unshare, &folder.join("namespaces.log"))?;
        let mut namespaces = Self { outer, first: 0, cgroup };
        namespaces.wait_until_ready(folder).await?;
        namespaces.connect(network)?;
        Ok(namespaces)
    }

    /// A command that runs in the namespaces, with nothing of this machine's environment but the PATH.
    pub(super) fn enter(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", self.first))
            .args(["--net", "--mount", "--pid", "--"])
            .arg(program);
        command.env_clear().env("PATH", requirements::path()).env("HOME", "/run");
        command
    }

    /// The name of the control group above all of the node's.
    pub(super) fn cgroup(&self) -> &str {
        &self.cgroup
    }

    async fn wait_until_ready(&mut self, folder: &Folder) -> Result<(), Error> {
        let (ready, outer) = (folder.join("ready"), &mut self.outer);
        let pid = outer.pid();
        let children = format!("/proc/{pid}/task/{pid}/children");
        self.first = eventually("the namespaces", DEADLINE, || {
            let running = outer.check_running();
            let child = std::fs::read_to_string(&children).unwrap_or_default();
            let found = ready.exists().then(|| child.trim().parse().ok()).flatten();
            async move { running.map(|()| found).transpose() }
        })
        .await??;
        Ok(())
    }

    /// Lays the cable. It goes with the namespaces, and the route to the Pods with the cable.
    fn connect(&self, network: Network) -> Result<(), Error> {
        let (device, host, node) = (network.device(), network.host(), network.node());
        let here = |line: &str| command::run("ip", &line.split(' ').collect::<Vec<_>>(), b"").map(drop);
        here(&format!("link add {device} type veth peer name eth0 netns {}", self.first))?;
        here(&format!("addr add {host}/30 dev {device}"))?;
        here(&format!("link set {device} up"))?;
        here(&format!("route add {} via {node} dev {device}", network.pods()))?;
        for line in [
            format!("addr add {node}/30 dev eth0"),
            "link set eth0 up".to_owned(),
            format!("route add default via {host}"),
        ] {
            command::output_of(self.enter(Path::new("ip")).args(line.split(' ')), b"")?;
        }
        Ok(())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        if self.first > 0 && self.outer.ended().is_none() {
            // It ends after all others, and the outer process after it; then their control groups are empty.
            let _ = command::run("sh", &["-c", &format!("kill -s KILL {}", self.first)], b"");
            self.outer.join();
        }
        let since = Instant::now();
        for group in cgroup_roots().into_iter().map(|root| root.join(&self.cgroup)) {
            // The kernel lets go of a group some time after its last process.
            while group.exists() && since.elapsed() < DEADLINE {
                remove_cgroups(&group);
                std::thread::yield_now();
            }
        }
    }
}

/// The hierarchies of control groups: one, or one for each controller on machines of the older kind.
fn cgroup_roots() -> Vec<PathBuf> {
    let root = Path::new(CGROUPS);
    if root.join("cgroup.controllers").is_file() {
        return vec![root.to_owned()];
    }
    let controllers = std::fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    controllers.filter(|path| path.join("cgroup.procs").is_file()).collect()
}

/// Removes a control group and those in it. One that is gone already is fine, and one that is not empty stays.
fn remove_cgroups(group: &Path) {
    let entries = std::fs::read_dir(group).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_cgroups(&entry.path());
    }
    let _ = std::fs::remove_dir(group);
}
