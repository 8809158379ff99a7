use std::process::Command;
use std::time::Duration;

use super::GitRepo;
use crate::program::find_or_skip;
use crate::{Error, Folder, Process, free_port};

/// Python takes a second to start; the rest is for a busy machine.
const READY_DEADLINE: Duration = Duration::from_secs(60);

/// One repository served over smart HTTP by dulwich, so that not only Git's own habits are relied on.
#[derive(Debug)]
pub struct DulwichServer {
    _process: Process,
    port: u16,
    repository: GitRepo,
    _folder: Folder,
}

impl DulwichServer {
    /// Starts the server with an empty repository; nothing, and a line with the reason, when this machine cannot have
    /// dulwich.
    ///
    /// # Errors
    /// When it does not get ready in time, or is missing where tests must not be skipped.
    pub async fn start() -> Result<Option<Self>, Error> {
        let Some(program) = find_or_skip("dulwich").await? else { return Ok(None) };
        let folder = Folder::new("dulwich")?;
        let repository = GitRepo::create(&folder.join("served.git"))?;
        let port = free_port()?;
        let mut command = Command::new(program);
        command.args(["web-daemon", "-l", "127.0.0.1", "-p", &port.to_string()]).arg(folder.path());
        let mut process = Process::start("dulwich", &mut command, &folder.join("log"))?;
        process.listens(port, READY_DEADLINE).await?;
        Ok(Some(Self { _process: process, port, repository, _folder: folder }))
    }

    /// The repository that is served.
    #[must_use]
    pub fn repository(&self) -> &GitRepo {
        &self.repository
    }

    /// The URL of the repository, whose path is that of the folder.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.repository.path().display())
    }
}
