//! Names of the servers' programs, and how they are started.

use std::path::Path;
use std::process::Command;

use super::BucketProgram;

/// The name by which `e2e/servers/find` knows a program.
pub(super) fn name(program: BucketProgram) -> &'static str {
    match program {
        BucketProgram::Moto => "moto",
        BucketProgram::GoFakeS3 => "gofakes3",
        BucketProgram::FakeGcs => "fake-gcs-server",
        BucketProgram::Azurite => "azurite",
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
