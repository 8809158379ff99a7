//! The addresses at which the services of one process find each other, and the folders of their files.

use std::path::{Path, PathBuf};

use weir_runtime::args::{RuntimeArgs, listen_addr};

use crate::error::Error;

/// The addresses by which the services reach each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// `host:port` of the gRPC server of the process; empty when peers cannot use it and talk HTTP instead.
    pub(super) peer: String,
    /// URL that events are posted to when there is no `peer`.
    pub(super) events_url: String,
    /// Folder of the artifacts.
    pub(super) artifacts: PathBuf,
    /// Folder of the tag database.
    pub(super) tags: PathBuf,
    /// Folder of the events that are accepted and not delivered yet.
    pub(super) outbox: PathBuf,
}

impl Layout {
    /// Works the addresses and folders out of the flags.
    pub(super) fn new(
        runtime: &RuntimeArgs,
        events_addr: &str,
        artifacts: Option<&Path>,
        state: Option<&Path>,
    ) -> Result<Self, Error> {
        let grpc = reachable("--grpc-addr", &runtime.grpc_addr)?;
        let events = reachable("--events-addr", events_addr)?;
        // Peers speak plain text; with a certificate they use HTTP among themselves.
        let peer = grpc.filter(|_| runtime.grpc_tls_cert.is_none()).unwrap_or_default();
        let events_url = match events {
            Some(address) if peer.is_empty() => format!("http://{address}/"),
            _ => String::new(),
        };
        let folder = |given: Option<&Path>, name| match given {
            Some(folder) => Ok(folder.to_owned()),
            None => data_folder().map(|data| data.join(name)),
        };
        let state = folder(state, "state")?;
        Ok(Self {
            peer,
            events_url,
            artifacts: folder(artifacts, "artifacts")?,
            tags: state.join("tags"),
            outbox: state.join("events"),
        })
    }

    /// Makes sure that the folders are there.
    pub(super) fn make_folders(&self) -> Result<(), Error> {
        for folder in [&self.artifacts, &self.tags, &self.outbox] {
            std::fs::create_dir_all(folder)
                .map_err(|cause| Error::File { path: folder.display().to_string(), cause })?;
        }
        Ok(())
    }
}

/// The address by which this process reaches a listener of its own; `None` when it is off.
fn reachable(flag: &str, listen: &str) -> Result<Option<String>, Error> {
    let address = listen_addr(listen).map_err(weir_runtime::ServiceError::from)?;
    let Some(mut address) = address else { return Ok(None) };
    if address.port() == 0 {
        return Err(Error::Flags(format!(
            "{flag} needs a port other than 0: other services have to find it"
        )));
    }
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    Ok(Some(address.to_string()))
}

/// `weir` in the user's data folder (XDG base directories).
fn data_folder() -> Result<PathBuf, Error> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")));
    let data = data.ok_or_else(|| {
        Error::Flags("no HOME to keep files in: give --storage-path and --state-dir".to_owned())
    })?;
    Ok(data.join("weir"))
}
