//! The folder of a demo and the programs that run in it; all of it goes at the end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::error::Error;

/// Pause between two looks at a program that gets ready; nothing tells when it is.
const PAUSE: Duration = Duration::from_millis(50);
/// Lines of a log that an error shows: enough for the head of a panic or a refused flag.
const TAIL: usize = 15;
/// Last bytes of a log that are read for them.
const TAIL_BYTES: u64 = 16 * 1024;

/// A folder and the programs that were started in it.
pub(super) struct Stage {
    folder: TempDir,
    programs: Vec<Program>,
}

struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Stage {
    pub(super) fn new() -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("weir-demo-").tempdir()?;
        Ok(Self { folder, programs: Vec::new() })
    }

    /// Returns the path of a file or folder of the stage.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.path(name);
        std::fs::write(&path, text).map_err(|cause| file_error(&path, cause))?;
        Ok(path)
    }

    /// Starts a program, which ends with the stage.
    pub(super) fn start(&mut self, name: &'static str, mut command: Command) -> Result<(), Error> {
        let log = self.path(&format!("{name}.log"));
        let output = std::fs::File::create(&log).map_err(|cause| file_error(&log, cause))?;
        let errors = output.try_clone()?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors).kill_on_drop(true);
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|cause| file_error(Path::new(&program), cause))?;
        self.programs.push(Program { name, child, log });
        Ok(())
    }

    /// Looks until there is an answer; ends early when one of the programs has ended.
    pub(super) async fn until<T>(&mut self, look: impl AsyncFn() -> Option<T>) -> Result<T, Error> {
        loop {
            if let Some(found) = look().await {
                return Ok(found);
            }
            for program in &mut self.programs {
                if let Some(status) = program.child.try_wait()? {
                    let (name, tail) = (program.name, tail(&program.log));
                    return Err(Error::Demo(format!("{name} has ended ({status})\n{tail}")));
                }
            }
            #[expect(clippy::disallowed_methods, reason = "a command is no run")]
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns the last lines of a program's log.
    pub(super) fn log(&self, name: &str) -> String {
        tail(&self.path(&format!("{name}.log")))
    }

    /// Ends all programs, the last one first, and removes the folder.
    pub(super) async fn end(mut self) -> Result<(), Error> {
        for program in self.programs.iter_mut().rev() {
            if program.child.try_wait()?.is_none() {
                program.child.kill().await?;
            }
        }
        Ok(self.folder.close()?)
    }
}

/// Finds ports of loopback that nobody listens on.
pub(super) fn free_ports<const N: usize>() -> Result<[u16; N], Error> {
    // All at once, so that none is found twice.
    let mut listeners = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn tail(log: &Path) -> String {
    let bytes = last_bytes(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().collect();
    lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n")
}

fn last_bytes(log: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn file_error(path: &Path, cause: std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_long_log_are_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines: Vec<_> = (0..10_000).map(|number| format!("line {number}")).collect();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        assert_eq!(tail(file.path()), lines[lines.len() - TAIL..].join("\n"));
        assert_eq!(last_bytes(file.path()).unwrap().len() as u64, TAIL_BYTES);
        assert_eq!(tail(Path::new("/nonexistent")), "");
    }
}
