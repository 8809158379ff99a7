use std::path::{Path, PathBuf};

use crate::control_plane::Program;
use crate::{Error, command};

/// Programs of the node and of its namespaces, each with the package of Debian that has it.
const PROGRAMS: [(&str, &str); 6] = [
    ("containerd", "containerd"),
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("ip", "iproute2"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
];

/// Places of the network plugins, in Debian and elsewhere.
const PLUGINS: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// Places of programs; those of administrators are not on everybody's PATH.
const ADMINISTRATION: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Returns the program whose applets are the node's parts, if this machine has everything else that a node needs, too.
///
/// # Errors
/// [`Error::NoNode`] with all that is missing.
pub(super) fn check(program: &Program) -> Result<PathBuf, Error> {
    let mut missing = Vec::new();
    if !may_make_namespaces() {
        missing.push("root".to_owned());
    }
    let mut packages: Vec<&str> =
        PROGRAMS.iter().filter(|(name, _)| !is_installed(name)).map(|(_, package)| *package).collect();
    if plugins().is_none() {
        packages.push("containernetworking-plugins");
    }
    if !packages.is_empty() {
        packages.dedup();
        missing.push(format!("packages (apt-get install {})", packages.join(" ")));
    }
    let applets = program.applets();
    if applets.is_none() {
        missing.push(
            "the program of e2e/control-plane (KUBEBUILDER_ASSETS names one without kubelet)".to_owned(),
        );
    }
    match applets {
        Some(applets) if missing.is_empty() => Ok(applets.to_owned()),
        _ => Err(Error::NoNode { missing: missing.join(" and ") }),
    }
}

/// True if this process may make the namespaces that a node lives in, as root may outside of containers.
pub(super) fn may_make_namespaces() -> bool {
    command::run("unshare", &["--net", "--mount", "--pid", "--fork", "true"], b"").is_ok()
}

/// The folder of the network plugins.
pub(super) fn plugins() -> Option<&'static Path> {
    PLUGINS.iter().map(Path::new).find(|folder| folder.join("ptp").is_file())
}

/// The PATH of everything in the namespaces.
pub(super) fn path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:{}", ADMINISTRATION.join(":"))
}

fn is_installed(name: &str) -> bool {
    path().split(':').any(|folder| Path::new(folder).join(name).is_file())
}
