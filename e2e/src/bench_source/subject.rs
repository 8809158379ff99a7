//! A source controller as a process, started with the flags that Flux's has too.

use std::path::Path;

use anyhow::Result;
use weir_testkit::{ControlPlane, Controller, MemoryLimit, storage_flags};

use crate::bench::command;

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
        let limit = memory.map(MemoryLimit::new).transpose()?;
        let command = command(program, limit.as_ref())?;
        let mut flags = storage_flags()?;
        flags.extend(FLAGS.map(str::to_owned));
        let controller = Controller::start(command, plane, "flux-system", &flags).await?;
        Ok(Self { controller, _limit: limit })
    }
}
