//! Ends what a test process started, even when the process is killed and no destructor runs.
//!
//! One `sh` per test process reads from a pipe which process groups live and which folders exist. The pipe closes
//! when the test process is gone, in whatever way; then the keeper kills those groups and removes those folders.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::Error;

/// Reads `start PGID`, `end PGID`, `folder PATH`, `cgroup NAME` lines. It ignores the terminal's signals, since Ctrl-C reaches the
/// test process and closes the pipe.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups=' '
cgroups=' '
while read -r what name; do
  case $what in
    start) groups="$groups$name " ;;
    end) case $groups in *" $name "*) groups="${groups%%" $name "*} ${groups#*" $name "}" ;; esac ;;
    folder) set -- "$@" "$name" ;;
    cgroup) cgroups="$cgroups$name " ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
for folder in "$@"; do
  # A process that is just being killed may still write once.
  rm -rf -- "$folder" || { sleep 0.2; rm -rf -- "$folder"; }
done
for cgroup in $cgroups; do
  # The kernel keeps a control group for as long as a killed process takes to end.
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" -exec rmdir {} + 2>/dev/null
    find /sys/fs/cgroup -type d -name "$cgroup" | grep -q . || break
    sleep 0.2
  done
done
"#;

static KEEPER: OnceLock<Option<Mutex<Keeper>>> = OnceLock::new();

struct Keeper {
    pipe: ChildStdin,
    groups: Vec<u32>,
}

fn keeper() -> Result<&'static Mutex<Keeper>, Error> {
    KEEPER.get_or_init(|| start().ok().map(Mutex::new)).as_ref().ok_or_else(|| Error::ProgramMissing {
        program: "sh".into(),
        hint: "a POSIX shell is needed in PATH",
    })
}

fn start() -> std::io::Result<Keeper> {
    let mut child = Command::new("sh")
        .args(["-c", SCRIPT, "weir-testkit-keeper"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let pipe = child.stdin.take().ok_or_else(|| std::io::Error::other("no pipe"))?;
    Ok(Keeper { pipe, groups: Vec::new() })
}

fn tell(line: &str, group: Option<(u32, bool)>) -> Result<(), Error> {
    let mut keeper = keeper()?.lock();
    match group {
        Some((group, true)) => keeper.groups.push(group),
        Some((group, false)) => keeper.groups.retain(|known| *known != group),
        None => {}
    }
    keeper
        .pipe
        .write_all(line.as_bytes())
        .map_err(|source| Error::Spawn { program: "weir-testkit-keeper".into(), source })
}

/// Starts the keeper if it does not run yet, so that a child never runs unwatched for as long as a shell starts.
pub(crate) fn ready() -> Result<(), Error> {
    keeper().map(|_| ())
}

/// Hands a new process group to the keeper.
pub(crate) fn started(group: u32) -> Result<(), Error> {
    tell(&format!("start {group}\n"), Some((group, true)))
}

/// Takes an ended process group away from the keeper, since the number may be used again by someone else.
pub(crate) fn ended(group: u32) {
    // When the keeper is gone there is nobody to notify.
    let _ = tell(&format!("end {group}\n"), Some((group, false)));
}

/// Hands a folder to the keeper. Folders removed earlier are fine.
pub(crate) fn folder(path: &Path) -> Result<(), Error> {
    tell(&format!("folder {}\n", path.display()), None)
}

/// Hands the name of control groups to the keeper. Groups removed earlier are fine.
pub(crate) fn cgroup(name: &str) -> Result<(), Error> {
    tell(&format!("cgroup {name}\n"), None)
}

/// Process groups that the kit has started in this process and that have not been ended yet.
#[must_use]
pub fn watched_processes() -> Vec<u32> {
    KEEPER.get().and_then(Option::as_ref).map(|keeper| keeper.lock().groups.clone()).unwrap_or_default()
}
