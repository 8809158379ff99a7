//! A real NATS server on loopback.

use std::process::Command;
use std::time::Duration;

use crate::program::find_or_skip;
use crate::{Error, Folder, Process, free_port};

/// The server is up in a tenth of a second; the rest is for a busy machine.
const READY_DEADLINE: Duration = Duration::from_secs(60);

/// A running NATS server.
#[derive(Debug)]
pub struct NatsServer {
    _process: Process,
    address: String,
    _folder: Folder,
}

impl NatsServer {
    /// Starts a server with a configuration that names no address; nothing, and a line with the reason, when this machine
    /// cannot have its program.
    ///
    /// # Errors
    /// When it does not get ready in time, or its program is missing where tests must not be skipped.
    pub async fn start(config: &str) -> Result<Option<Self>, Error> {
        let Some(path) = find_or_skip("nats-server").await? else { return Ok(None) };
        let folder = Folder::new("nats")?;
        let port = free_port()?;
        let address = format!("127.0.0.1:{port}");
        let config = folder.write("nats.conf", format!("listen: \"{address}\"\n{config}\n"))?;
        let mut command = Command::new(path);
        command.arg("-c").arg(&config);
        let mut process = Process::start("nats-server", &mut command, &folder.join("log"))?;
        process.listens(port, READY_DEADLINE).await?;
        Ok(Some(Self { _process: process, address, _folder: folder }))
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}
