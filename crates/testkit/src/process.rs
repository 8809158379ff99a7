use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::{Error, eventually, keeper};

/// Lines of output shown when a process ends early: enough for a Go panic's head or a flag error.
const TAIL_LINES: usize = 30;

/// A service is ready in a second; the rest is for a machine that compiles on every core meanwhile.
const READY_DEADLINE: Duration = Duration::from_secs(120);

/// A child process in a process group of its own, killed with its children when the handle goes.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    /// Set as soon as it has been waited for: the system gives its number to others from then on.
    is_over: bool,
}

impl Process {
    /// Starts `command` with its output going to the file `log`.
    ///
    /// # Errors
    /// When the program cannot be started or the log cannot be written.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self, Error> {
        keeper::ready()?;
        let output =
            std::fs::OpenOptions::new().create(true).append(true).open(log).map_err(Error::file(log))?;
        let errors = output.try_clone().map_err(Error::file(log))?;
        let child =
            command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0).spawn().map_err(
                |source| Error::Spawn { program: command.get_program().to_string_lossy().into(), source },
            )?;
        let process = Self { name: name.into(), child, log: log.into(), is_over: false };
        keeper::started(process.pid())?;
        Ok(process)
    }

    /// Waits until something listens on a port of loopback, as long as the process runs.
    ///
    /// # Errors
    /// When the process has ended, or nothing listens in time.
    pub(crate) async fn listens(&mut self, port: u16, deadline: Duration) -> Result<(), Error> {
        let what = format!("{} to listen", self.name);
        eventually(&what, deadline, || {
            let running = self.check_running();
            async move {
                match running {
                    Err(error) => Some(Err(error)),
                    Ok(()) => TcpStream::connect(("127.0.0.1", port)).await.ok().map(|_| Ok(())),
                }
            }
        })
        .await?
    }

    /// Waits until a URL of the process answers, with any status.
    ///
    /// # Errors
    /// When the process has ended, or nothing answers in time.
    pub(crate) async fn answers(
        &mut self,
        url: &str,
        client: &reqwest::Client,
        deadline: Duration,
    ) -> Result<(), Error> {
        let what = format!("{} to answer", self.name);
        eventually(&what, deadline, || {
            let running = self.check_running();
            let request = client.get(url).send();
            async {
                if let Err(error) = running { Some(Err(error)) } else { request.await.ok().map(|_| Ok(())) }
            }
        })
        .await?
    }

    /// Waits until the probe of a service says that it is ready.
    ///
    /// # Errors
    /// When the process has ended, or is not ready in time.
    pub async fn becomes_ready(&mut self, health_port: u16) -> Result<(), Error> {
        let client = reqwest::Client::builder().no_proxy().build().map_err(Error::http("make a client"))?;
        let url = format!("http://127.0.0.1:{health_port}/readyz");
        eventually(&format!("{} to be ready", self.name), READY_DEADLINE, || {
            let running = self.check_running();
            let request = client.get(&url).send();
            async {
                match running {
                    Err(error) => Some(Err(error)),
                    Ok(()) => {
                        request.await.is_ok_and(|answer| answer.status().is_success()).then_some(Ok(()))
                    }
                }
            }
        })
        .await?
    }

    /// Its process id, which is also its group's.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// File for its output.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// All of its output so far.
    #[must_use]
    pub fn log(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The last lines of its output, for messages. Checks of what it wrote or did not write look at [`Self::log`].
    #[must_use]
    pub fn log_tail(&self) -> String {
        let text = self.log();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
    }

    /// The exit status if it has ended. Children that it has left behind are killed then.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten()?;
        self.signal("KILL");
        self.forget_number();
        Some(status)
    }

    /// Fails when it has ended, with the end of its output.
    ///
    /// # Errors
    /// [`Error::Exited`] when it has ended.
    pub fn check_running(&mut self) -> Result<(), Error> {
        match self.ended() {
            None => Ok(()),
            Some(status) => Err(self.exited(status)),
        }
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    /// [`Error::Deadline`] when it still runs then.
    pub async fn wait(&mut self, deadline: Duration) -> Result<ExitStatus, Error> {
        let since = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Ok(status);
            }
            if since.elapsed() > deadline {
                let what = format!("{} to end", self.name);
                return Err(Error::Deadline { what, deadline, last: self.log_tail() });
            }
            // There is no portable way to await a child of std; the process ends in milliseconds.
            #[expect(clippy::disallowed_methods, reason = "a test waits, no run does")]
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks it to stop with SIGTERM and waits for its end.
    ///
    /// # Errors
    /// [`Error::Deadline`] when it does not stop in time.
    pub async fn stop(&mut self, deadline: Duration) -> Result<ExitStatus, Error> {
        self.signal("TERM");
        self.wait(deadline).await
    }

    /// Waits for its end, however long that takes: for a process that is sure to end.
    pub(crate) fn join(&mut self) {
        let _ = self.child.wait();
        self.forget_number();
    }

    /// Kills it and its children with SIGKILL and waits for its end.
    pub fn kill(&mut self) {
        self.signal("KILL");
        self.join();
    }

    fn forget_number(&mut self) {
        if !self.is_over {
            self.is_over = true;
            keeper::ended(self.pid());
        }
    }

    /// Sends a signal to the process and its children, unless they are gone: another test's process may have the number then.
    fn signal(&self, signal: &str) {
        if self.is_over {
            return;
        }
        // The program `kill` of sh, since a signal to a group needs libc, which needs unsafe.
        let command = format!("kill -s {signal} -- -{}", self.pid());
        let mut sh = Command::new("sh");
        // In a group of its own: Ctrl-C and `timeout` signal ours, and would end it before it has sent anything.
        sh.args(["-c", &command]).stderr(Stdio::null()).process_group(0);
        while sh.status().is_ok_and(|status| status.signal().is_some()) {}
    }

    fn exited(&self, status: ExitStatus) -> Error {
        let status = match status.signal() {
            Some(signal) => format!("signal {signal}"),
            None => status.to_string(),
        };
        Error::Exited { name: self.name.clone(), status, tail: self.log_tail() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folder;
    use crate::keeper::watched_processes;
    use crate::skip::skipped;

    const DEADLINE: Duration = Duration::from_secs(60);
    /// Says which number the next process gets, to whoever may say so.
    const LAST_NUMBER: &str = "/proc/sys/kernel/ns_last_pid";

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn children_of_a_process_end_when_it_is_seen_to_have_ended() {
        let folder = Folder::new("process").unwrap();
        let mut process = Process::start("sh", &mut sh("sleep 1000 & echo $!"), &folder.join("log")).unwrap();
        assert!(process.wait(DEADLINE).await.unwrap().success());
        assert!(!watched_processes().contains(&process.pid()));
        let child = format!("/proc/{}/cmdline", process.log_tail().trim());
        let gone = || async { std::fs::read(&child).unwrap_or_default().is_empty().then_some(()) };
        eventually("the end of the child", DEADLINE, gone).await.unwrap();
    }

    /// Numbers come back after some 30,000 processes, which a busy machine starts in minutes.
    #[tokio::test]
    async fn another_process_that_gets_the_number_lives_on() {
        let folder = Folder::new("process").unwrap();
        let mut first = Process::start("sh", &mut sh("exit 0"), &folder.join("log")).unwrap();
        first.wait(DEADLINE).await.unwrap();
        for _ in 0..1000 {
            if let Err(error) = std::fs::write(LAST_NUMBER, (first.pid() - 1).to_string()) {
                return skipped(&format!("{LAST_NUMBER} cannot be written: {error}"));
            }
            let mut other = sh("read word; exit 7").stdin(Stdio::piped()).process_group(0).spawn().unwrap();
            if other.id() == first.pid() {
                drop(first);
                // It waits for the end of its input.
                return assert_eq!(other.wait().unwrap().code(), Some(7));
            }
            other.kill().unwrap();
            other.wait().unwrap();
        }
        panic!("other processes were faster a thousand times");
    }
}
