use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::command::output_of;
use crate::{Error, Folder, Process, eventually};

/// The agent listens at once; the rest is for a busy machine.
const READY_DEADLINE: Duration = Duration::from_secs(30);

/// OpenSSH's `ssh-agent` with a socket of its own.
#[derive(Debug)]
pub struct SshAgent {
    _process: Process,
    folder: Folder,
}

impl SshAgent {
    /// Starts an agent without keys.
    ///
    /// # Errors
    /// When `ssh-agent` is not installed or does not get ready in time.
    pub async fn start() -> Result<Self, Error> {
        let folder = Folder::new("agent")?;
        let socket = folder.join("socket");
        let mut command = Command::new("ssh-agent");
        command.arg("-D").arg("-a").arg(&socket);
        let process = Process::start("ssh-agent", &mut command, &folder.join("agent.log"))?;
        let agent = Self { _process: process, folder };
        // The socket may be there before anybody listens.
        eventually("ssh-agent", READY_DEADLINE, || async { agent.ssh_add(&["-D"], b"").ok() }).await?;
        Ok(agent)
    }

    /// Returns the path of its socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Gives the agent a private key, with arguments of `ssh-add`.
    ///
    /// # Errors
    /// When `ssh-add` refuses the key.
    pub fn add(&self, private_key: &str, arguments: &[&str]) -> Result<(), Error> {
        self.ssh_add(&[arguments, &["-q", "-"]].concat(), private_key.as_bytes())
    }

    fn ssh_add(&self, arguments: &[&str], input: &[u8]) -> Result<(), Error> {
        let mut command = Command::new("ssh-add");
        output_of(command.env("SSH_AUTH_SOCK", self.socket()).args(arguments), input).map(drop)
    }
}
