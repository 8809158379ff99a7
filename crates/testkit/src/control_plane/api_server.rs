//! The API server's process, which a test may end and start again.

use std::path::PathBuf;
use std::process::Command;

use parking_lot::Mutex;

use super::{ControlPlane, launch};
use crate::{Error, Process};

const NAME: &str = "kube-apiserver";

/// The process, and the command that starts another one in its place.
#[derive(Debug)]
pub(super) struct ApiServer(Mutex<Running>);

#[derive(Debug)]
struct Running {
    command: Command,
    log: PathBuf,
    process: Process,
}

impl ApiServer {
    pub(super) fn start(mut command: Command, log: PathBuf) -> Result<Self, Error> {
        let process = Process::start(NAME, &mut command, &log)?;
        Ok(Self(Mutex::new(Running { command, log, process })))
    }

    pub(super) fn pid(&self) -> u32 {
        self.0.lock().process.pid()
    }

    pub(super) fn check_running(&self) -> Result<(), Error> {
        self.0.lock().process.check_running()
    }

    pub(super) fn log_tail(&self) -> String {
        self.0.lock().process.log_tail()
    }

    fn start_again(&self) -> Result<(), Error> {
        let Running { command, log, process } = &mut *self.0.lock();
        *process = Process::start(NAME, command, log)?;
        Ok(())
    }
}

impl ControlPlane {
    /// Ends the API server by SIGKILL, as a crash does. Its objects stay in etcd.
    pub fn kill_api_server(&self) {
        self.api_server.0.lock().process.kill();
        self.clients.clear();
    }

    /// Starts the API server that was killed again, at the same address and over the same etcd, and waits until it serves.
    ///
    /// # Errors
    /// When it cannot be started, ends, or does not get ready in time.
    pub async fn start_api_server(&self) -> Result<(), Error> {
        self.api_server.start_again()?;
        launch::wait_until_served(&self.endpoint, &self.api_server, || Ok(())).await
    }
}
