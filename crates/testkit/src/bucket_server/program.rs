//! Where the servers' programs come from, and how they are started.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::BucketProgram;
use crate::{Error, repo_path};

/// Finds a program; Go's are built and azurite is installed once for this machine.
pub(super) async fn find(program: BucketProgram) -> Result<PathBuf, Error> {
    let name = match program {
        BucketProgram::Moto => "moto",
        BucketProgram::GoFakeS3 => "gofakes3",
        BucketProgram::FakeGcs => "fake-gcs-server",
        BucketProgram::Azurite => "azurite",
    };
    let script = repo_path("e2e/bucket-servers/find");
    let shown = format!("{} {name}", script.display());
    let output = tokio::process::Command::new(&script)
        .arg(name)
        .output()
        .await
        .map_err(|source| Error::Spawn { program: shown.clone(), source })?;
    let printed = String::from_utf8_lossy(&output.stdout);
    match printed.lines().last() {
        Some(path) if output.status.success() => Ok(PathBuf::from(path)),
        _ => Err(Error::Command {
            command: shown,
            status: output.status.to_string(),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        }),
    }
}

pub(super) fn command(program: BucketProgram, path: &Path, port: u16, folder: &Path) -> Command {
    let mut command = Command::new(path);
    let address = format!("127.0.0.1:{port}");
    let port = port.to_string();
    match program {
        BucketProgram::Moto => command.args(["-H", "127.0.0.1", "-p", &port]),
        BucketProgram::GoFakeS3 => command.args(["-quiet", "-backend", "memory", "-host", &address]),
        BucketProgram::FakeGcs => {
            let public = format!("-public-host={address}");
            command.args(["-scheme=http", "-host=127.0.0.1", "-backend=memory", "-log-level=error"]);
            command.arg(format!("-port={port}")).arg(public)
        }
        BucketProgram::Azurite => {
            command.args(["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--blobPort", &port]);
            command.arg("--location").arg(folder)
        }
    };
    command
}
