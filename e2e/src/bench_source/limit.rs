//! A memory limit for the program that is measured, as a container has one: the pages of files that it uses count too.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Where the first and the second version of control groups have their memory controller, and their file of the limit.
const PLACES: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

/// A control group of its own; it goes with this value, after what ran in it.
pub(super) struct Limit(PathBuf);

impl Limit {
    pub(super) fn new(mebibytes: usize) -> Result<Self> {
        let (root, file) =
            PLACES.into_iter().find(|(root, _)| Path::new(root).is_dir()).context("no control groups")?;
        let group = Path::new(root).join(format!("weir-bench-{}", std::process::id()));
        std::fs::create_dir_all(&group).context("a memory limit takes root")?;
        std::fs::write(group.join(file), (mebibytes << 20).to_string())?;
        Ok(Self(group))
    }

    /// A command that runs `program` within the limit.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        let script = "echo $$ > \"$0\" && exec \"$@\"";
        command.arg("-c").arg(script).arg(self.0.join("cgroup.procs")).arg(program);
        command
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // A folder that is left over does no harm.
        let _ = std::fs::remove_dir(&self.0);
    }
}
