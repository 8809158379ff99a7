//! A source controller as a process, started with the flags that Flux's has too.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use weir_testkit::{ControlPlane, Controller, MemoryLimit, storage_flags};

/// As many objects of a kind at once as in Flux's published benchmark.
const FLAGS: [&str; 3] = ["--concurrent=20", "--log-level=error", "--helm-cache-max-size=10"];

/// The program that is measured.
pub(super) struct Subject {
    // Fields drop in order: the group goes after what runs in it.
    pub(super) controller: Controller,
    _limit: Option<MemoryLimit>,
}

impl Subject {
    pub(super) async fn start(program: &Path, plane: &ControlPlane, memory: Option<usize>) -> Result<Self> {
        // The program runs in another folder.
        let found = program.canonicalize();
        let program = found.with_context(|| format!("{} (--weir, --flux)", program.display()))?;
        let limit = memory.map(MemoryLimit::new).transpose()?;
        let mut command =
            limit.as_ref().map_or_else(|| Command::new(&program), |limit| limit.command(&program));
        command.env("MALLOC_TRIM_THRESHOLD_", "131072"); // as the Deployment (docs/adr/0004)
        let mut flags = storage_flags()?;
        flags.extend(FLAGS.map(str::to_owned));
        let controller = Controller::start(command, plane, "flux-system", &flags).await?;
        Ok(Self { controller, _limit: limit })
    }
}
