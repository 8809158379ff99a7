//! A source controller as a process, started with the flags that Flux's has too.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use weir_testkit::{ControlPlane, Folder, Process, eventually, free_port};

use super::limit::Limit;

/// Objects of a kind at once, as in Flux's published benchmark.
const CONCURRENT: usize = 20;
/// The start takes a second; the rest is for a busy machine.
const READY_DEADLINE: Duration = Duration::from_secs(120);

/// The program that is measured.
pub(super) struct Subject {
    // Fields drop in order: the group goes after what runs in it.
    process: Process,
    _limit: Option<Limit>,
    _folder: Folder,
}

impl Subject {
    pub(super) async fn start(
        program: &Path,
        name: &str,
        plane: &ControlPlane,
        memory: Option<usize>,
    ) -> Result<Self> {
        let folder = Folder::new("subject")?;
        for sub in ["data", "tmp"] {
            std::fs::create_dir(folder.join(sub))?;
        }
        let (storage, health, metrics) = (free_port()?, free_port()?, free_port()?);
        // The program runs in another folder.
        let program = program.canonicalize()?;
        let limit = memory.map(Limit::new).transpose()?;
        let mut command =
            limit.as_ref().map_or_else(|| Command::new(&program), |limit| limit.command(&program));
        command
            .current_dir(folder.path())
            .env("KUBECONFIG", plane.weir_kubeconfig_path())
            .env("RUNTIME_NAMESPACE", "flux-system")
            .env("MALLOC_TRIM_THRESHOLD_", "131072") // as the Deployment (docs/adr/0004)
            .env("TMPDIR", folder.join("tmp"))
            .arg(format!("--storage-path={}", folder.join("data").display()))
            .arg(format!("--storage-addr=127.0.0.1:{storage}"))
            .arg(format!("--storage-adv-addr=127.0.0.1:{storage}"))
            .arg(format!("--health-addr=127.0.0.1:{health}"))
            .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
            .arg(format!("--concurrent={CONCURRENT}"))
            .args(["--log-level=error", "--helm-cache-max-size=10"]);
        let process = Process::start(name, &mut command, &folder.join("log"))?;
        let url = format!("http://127.0.0.1:{health}/readyz");
        eventually("the source controller to be ready", READY_DEADLINE, async || {
            let answer = reqwest::get(&url).await.ok()?;
            answer.status().is_success().then_some(())
        })
        .await?;
        Ok(Self { process, _limit: limit, _folder: folder })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn log_tail(&self) -> String {
        self.process.log_tail()
    }
}
