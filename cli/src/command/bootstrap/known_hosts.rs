//! The host keys that the person at this machine trusts: its own `known_hosts` files (CLI-G04).

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use weir_git::KnownHosts;

use crate::error::Error;
use crate::input;

/// Variable with the paths of `known_hosts` files, which stand in for the usual ones.
const VARIABLE: &str = "SSH_KNOWN_HOSTS";
/// File of all users of this machine.
const OF_MACHINE: &str = "/etc/ssh/ssh_known_hosts";
/// Largest file read, in bytes: a line has about 500, and files of many years some thousand lines.
const MAX_FILE: u64 = 1 << 20;

/// Reads the files that `SSH_KNOWN_HOSTS` names, or else those of the user and of the machine.
pub(super) fn of_person() -> Result<String, Error> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    let files = match variable(VARIABLE) {
        Some(paths) => env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => {
            let home = variable("HOME").map(|home| Path::new(&home).join(".ssh/known_hosts"));
            home.into_iter().chain([PathBuf::from(OF_MACHINE)]).collect()
        }
    };
    read(files)
}

/// Reads all of the files that exist, of which there must be one at least.
fn read(files: Vec<PathBuf>) -> Result<String, Error> {
    let mut read = Vec::new();
    for path in files {
        let refused = |reason: String| Error::Flags(format!("{}: {reason}", path.display()));
        let bytes = match input::bytes(&path, MAX_FILE) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => continue,
            bytes => bytes.map_err(|cause| refused(cause.to_string()))?,
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // Each by itself, so that an error names the line of its file.
        KnownHosts::parse(&text).map_err(|error| refused(error.to_string()))?;
        read.push(text);
    }
    if read.is_empty() {
        let reason = format!("unable to find any valid known_hosts file, set {VARIABLE} env variable");
        return Err(Error::Flags(reason));
    }
    Ok(read.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

    #[test]
    fn all_files_that_exist_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let lines = ["a.example", "b.example"].map(|host| format!("{host} {KEY}"));
        std::fs::write(path("one"), &lines[0]).unwrap();
        std::fs::write(path("two"), &lines[1]).unwrap();
        std::fs::write(path("broken"), format!("# hosts\nc.example {KEY}\nd.example\n")).unwrap();
        let read = |names: &[&str]| read(names.iter().map(|name| path(name)).collect());
        assert_eq!(read(&["one", "missing", "two"]).unwrap(), lines.join("\n"));
        let reason = |names| read(names).unwrap_err().to_string();
        let broken = format!("{}: knownhosts: missing host pattern", path("broken").display());
        assert_eq!(reason(&["one", "broken"]), broken);
        let none = "unable to find any valid known_hosts file, set SSH_KNOWN_HOSTS env variable";
        assert_eq!(reason(&["missing"]), none);
    }
}
