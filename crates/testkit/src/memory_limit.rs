use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::skip::{found_or_skipped, skipped};
use crate::{Error, keeper};

/// Places of the memory controller in the first and the second version of control groups, and names of the file with the limit.
const PLACES: [(&str, &str); 2] =
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];

/// Groups that this process has made, to name them apart.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A limit to the memory of a program, as a container has one: the pages of files that it uses count too, and who goes beyond it is
/// killed. It is a control group of its own, which goes with this value, after what ran in it.
#[derive(Debug)]
pub struct MemoryLimit(PathBuf);

impl MemoryLimit {
    /// A limit of so many MiB.
    ///
    /// # Errors
    /// When there are no control groups, or this user may make none: that takes root.
    pub fn new(mebibytes: usize) -> Result<Self, Error> {
        let found = PLACES.into_iter().find(|(root, _)| Path::new(root).is_dir());
        let (root, file) = found.unwrap_or(PLACES[0]);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-test-{}-{number}", std::process::id());
        keeper::cgroup(&name)?;
        let group = Path::new(root).join(name);
        std::fs::create_dir_all(&group).map_err(Error::file(&group))?;
        let limit = Self(group);
        let file = limit.0.join(file);
        std::fs::write(&file, (mebibytes << 20).to_string()).map_err(Error::file(&file))?;
        Ok(limit)
    }

    /// As [`MemoryLimit::new`]; nothing, and a line that says why, where there can be none. For users other than root the test is left
    /// out.
    ///
    /// # Errors
    /// When root may make none although no test may be left out.
    pub fn new_or_skipped(mebibytes: usize) -> Result<Option<Self>, Error> {
        let own = Path::new("/proc/self");
        let is_root = own.metadata().map_err(Error::file(own))?.uid() == 0;
        match Self::new(mebibytes) {
            Err(error) if !is_root => {
                skipped(&format!("needs root, to limit the memory of a program: {error}"));
                Ok(None)
            }
            made => found_or_skipped("a control group", made),
        }
    }

    /// A command that runs `program` within the limit.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        let script = "echo $$ > \"$0\" && exec \"$@\"";
        command.arg("-c").arg(script).arg(self.0.join("cgroup.procs")).arg(program);
        command
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // The kernel keeps a group for a moment after its last process; then the keeper removes it.
        let _ = std::fs::remove_dir(&self.0);
    }
}
