//! Nothing stays when a control plane, or the process that started it, is gone (CP-09).

use std::future::ready;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use weir_testkit::{ControlPlane, eventually, watched_processes};

const DEADLINE: Duration = Duration::from_secs(90);

#[tokio::test]
async fn dropping_a_control_plane_ends_its_processes_and_removes_its_folder() {
    let plane = ControlPlane::start().await.unwrap();
    let (pids, folder) = (plane.pids(), plane.path().to_owned());
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| watched_processes().contains(pid)));
    assert!(processes_of(&folder) >= 3);

    drop(plane);

    assert_eq!(processes_of(&folder), 0);
    assert!(!folder.exists());
    assert!(!pids.iter().any(|pid| watched_processes().contains(pid)));
}

#[tokio::test]
async fn a_panic_in_a_test_ends_its_control_plane() {
    let panicked = tokio::spawn(async {
        let plane = ControlPlane::start().await.unwrap();
        std::panic::panic_any(plane.path().to_owned());
    });
    let payload = panicked.await.unwrap_err().into_panic();
    let folder = payload.downcast::<std::path::PathBuf>().unwrap();
    assert_eq!(processes_of(&folder), 0);
    assert!(!folder.exists());
}

#[tokio::test]
async fn killing_the_test_process_leaves_nothing() {
    let (mut holder, folder) = held_control_plane();
    assert!(processes_of(&folder) >= 3);

    holder.kill().unwrap();
    assert_eq!(holder.wait().unwrap().signal(), Some(9));

    eventually("the end of everything", DEADLINE, async || {
        (processes_of(&folder) == 0 && !folder.exists()).then_some(())
    })
    .await
    .unwrap();
}

/// People press Ctrl-C more than once, and `timeout` signals the process and its group.
#[tokio::test]
async fn signals_that_go_on_do_not_keep_the_processes_from_being_ended() {
    let (mut holder, folder) = held_control_plane();
    let signals = format!("while kill -s TERM -- -{} 2>/dev/null; do :; done", holder.id());
    let mut sender = Command::new("sh").args(["-c", &signals]).process_group(0).spawn().unwrap();
    let ended = eventually("the end of the holder", DEADLINE, || ready(holder.try_wait().unwrap())).await;
    sender.kill().unwrap();
    sender.wait().unwrap();
    if ended.is_err() {
        holder.kill().unwrap();
        holder.wait().unwrap();
    }
    assert!(ended.unwrap().success());
    assert_eq!(processes_of(&folder), 0);
    assert!(!folder.exists());
}

/// Starts a process with a control plane in a process group of its own; with the control plane's folder.
fn held_control_plane() -> (Child, PathBuf) {
    let mut holder = Command::new(env!("CARGO_BIN_EXE_hold-control-plane"))
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("the binary of this crate starts");
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let kubeconfig = line.trim().strip_prefix("export KUBECONFIG=").expect("the kubeconfig is printed");
    (holder, Path::new(kubeconfig).parent().unwrap().to_owned())
}

/// Number of processes that have the folder in their command line.
fn processes_of(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let command_lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    command_lines.filter(|line| String::from_utf8_lossy(line).contains(folder)).count()
}
