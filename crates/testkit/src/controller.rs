use std::path::Path;
use std::process::Command;

use crate::{ControlPlane, Error, Folder, Process, free_port};

/// A controller as a process, started with the flags that Flux's controllers and ours have in common.
#[derive(Debug)]
pub struct Controller {
    // Fields drop in order: the process ends before its folder goes.
    process: Process,
    _folder: Folder,
}

impl Controller {
    /// Starts a program in an empty folder of its own, as the user of [`ControlPlane::weir_kubeconfig_path`] in a
    /// runtime namespace, and waits until it is ready.
    ///
    /// # Errors
    /// When it cannot be started, ends, or does not get ready in time.
    pub async fn start(
        mut command: Command,
        plane: &ControlPlane,
        namespace: &str,
        arguments: &[String],
    ) -> Result<Self, Error> {
        let folder = Folder::new("controller")?;
        let (health, metrics) = (free_port()?, free_port()?);
        let name =
            Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        command
            .current_dir(folder.path())
            .env("KUBECONFIG", plane.weir_kubeconfig_path())
            .env("RUNTIME_NAMESPACE", namespace)
            .env("TMPDIR", folder.path())
            .arg(format!("--health-addr=127.0.0.1:{health}"))
            .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
            .args(arguments);
        let mut process = Process::start(&name, &mut command, &folder.join("log"))?;
        process.becomes_ready(health).await?;
        Ok(Self { process, _folder: folder })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// All of its output so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The last lines of its output, for messages.
    #[must_use]
    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }
}

/// Flags of a source controller that keeps its artifacts in its own folder and serves them on a free port.
///
/// # Errors
/// When no port is free.
pub fn storage_flags() -> Result<Vec<String>, Error> {
    let port = free_port()?;
    Ok(vec![
        "--storage-path=.".into(),
        format!("--storage-addr=127.0.0.1:{port}"),
        format!("--storage-adv-addr=127.0.0.1:{port}"),
    ])
}
