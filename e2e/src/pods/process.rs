//! Processes of Pods, as this machine sees them.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::DynamicObject;
use tokio::process::Command;

/// Finds the process of a program in a Pod: its folder below `/proc`.
pub(super) fn find(pod: &DynamicObject, program: &str) -> Result<PathBuf> {
    let uid = pod.uid().context("a Pod without an identity")?;
    let is_it = |process: &PathBuf| {
        let read = |file: &str| std::fs::read_to_string(process.join(file)).unwrap_or_default();
        read("cgroup").contains(&uid) && read("cmdline").starts_with(&format!("/usr/local/bin/{program}"))
    };
    let mut processes = std::fs::read_dir("/proc")?.flatten().map(|entry| entry.path());
    processes.find(is_it).with_context(|| format!("no process of {program} in {}", pod.name_any()))
}

/// Kills it: it can do nothing more.
pub(super) async fn kill(pod: &DynamicObject, program: &str) -> Result<()> {
    let process = find(pod, program)?;
    let pid = process.file_name().context("no process")?;
    let status = Command::new("kill").arg("-KILL").arg(pid).status().await?;
    ensure!(status.success(), "{program} in {} cannot be killed", pod.name_any());
    Ok(())
}
