//! Runs the command and shows all that it prints.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use weir_testkit::Folder;

/// Folder for the temporary files of all commands. It goes with the test process, and with it what a killed command has left.
static TEMPORARY: LazyLock<Folder> = LazyLock::new(|| Folder::new("commands").unwrap());

/// No command takes longer, except on a machine that compiles on every core meanwhile.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// The command, with an environment of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Weir {
    /// Another program than ours.
    program: Option<PathBuf>,
    kubeconfig: Option<PathBuf>,
    folder: Option<PathBuf>,
    environment: Vec<(&'static str, String)>,
}

impl Weir {
    pub(crate) fn with_kubeconfig(mut self, path: &Path) -> Self {
        self.kubeconfig = Some(path.to_owned());
        self
    }

    /// The same with another program.
    pub(crate) fn with_program(mut self, program: &Path) -> Self {
        self.program = Some(program.to_owned());
        self
    }

    pub(crate) fn in_folder(mut self, path: &Path) -> Self {
        self.folder = Some(path.to_owned());
        self
    }

    pub(crate) fn with_env(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = match &self.program {
            Some(program) => Command::new(program),
            None => Command::new(env!("CARGO_BIN_EXE_weir")),
        };
        command.args(words(arguments)).env_clear().env("HOME", "/nonexistent").env("TZ", "UTC");
        command.env("TMPDIR", TEMPORARY.path());
        if let Some(path) = &self.kubeconfig {
            command.env("KUBECONFIG", path);
        }
        if self.program.is_some() {
            // Flux keeps the kinds of clusters, and would make the home folder for that.
            command.env("KUBECACHEDIR", TEMPORARY.join("flux"));
        }
        if let Some(path) = &self.folder {
            command.current_dir(path);
        }
        command.envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    pub(crate) fn start(&self, arguments: &str) -> Running {
        Running { arguments: arguments.to_owned(), child: self.command(arguments).spawn().unwrap() }
    }

    /// Runs commands one after the other and shows what a terminal would: lines of stderr are marked, tabs and trailing
    /// spaces made visible.
    pub(crate) async fn transcript(&self, commands: &[&str]) -> String {
        let mut transcript = String::new();
        for command in commands {
            transcript.push_str(&self.start(command).end().await);
            transcript.push('\n');
        }
        transcript
    }

    /// Flux's own command line in the same environment; nothing, and a line that says why, unless `FLUX_CLI` names it.
    pub(crate) fn as_flux(&self) -> Option<Self> {
        let program = weir_testkit::flux_program("FLUX_CLI").unwrap()?;
        Some(Self { program: Some(program), ..self.clone() })
    }

    /// Runs commands with Flux's own command line too, where `FLUX_CLI` names it: what they print on stdout is the same, and
    /// so is the exit code.
    pub(crate) async fn agrees_with_flux(&self, commands: &[&str]) {
        self.compare(commands, |output| format!("{}{}", visible(&output.stdout, ""), output.status)).await;
    }

    /// As [`Weir::agrees_with_flux`], and stderr is the same, too.
    pub(crate) async fn agrees_wholly_with_flux(&self, commands: &[&str]) {
        let shown = |output: &Output| {
            format!("{}{}{}", visible(&output.stdout, ""), visible(&output.stderr, "2> "), output.status)
        };
        self.compare(commands, shown).await;
    }

    async fn compare(&self, commands: &[&str], shown: impl Fn(&Output) -> String) {
        let Some(flux) = self.as_flux() else { return };
        let mut differences = Vec::new();
        for command in commands {
            let (ours, theirs) = (self.start(command).output().await, flux.start(command).output().await);
            if shown(&ours) != shown(&theirs) {
                differences.push(format!("$ {command}\n{}\n--- Flux:\n{}", shown(&ours), shown(&theirs)));
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    }

    /// Returns the stdout of a command as it is.
    pub(crate) async fn stdout(&self, arguments: &str) -> String {
        let output = self.start(arguments).output().await;
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Reads what a command prints, unless a test reads it itself.
async fn read(pipe: Option<impl AsyncRead + Unpin>, printed: &mut Vec<u8>) -> std::io::Result<()> {
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(printed).await?;
    }
    Ok(())
}

/// A command at work.
pub(crate) struct Running {
    arguments: String,
    pub(crate) child: Child,
}

impl Running {
    async fn output(mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let ended =
            async { tokio::try_join!(read(out, &mut stdout), read(err, &mut stderr), self.child.wait()) };
        let ended = tokio::time::timeout(DEADLINE, ended).await;
        match ended {
            Ok(ended) => Output { status: ended.unwrap().2, stdout, stderr },
            Err(_) => panic!(
                "`weir {}` does not end, and has printed\n{}{}",
                self.arguments,
                visible(&stdout, ""),
                visible(&stderr, "2> ")
            ),
        }
    }

    /// Waits for its end and shows what it printed.
    pub(crate) async fn end(self) -> String {
        let arguments = self.arguments.clone();
        let output = self.output().await;
        let mut text = format!("$ weir {arguments}\n{}", visible(&output.stdout, ""));
        text.push_str(&own_lines(&visible(&output.stderr, "2> ")));
        if !output.status.success() {
            text.push_str(&format!("[{}]\n", output.status));
        }
        text
    }
}

/// Leaves out hints at objects of other namespaces: which there are depends on the tests that run beside this one. The test of
/// the hint has objects that no other test has.
fn own_lines(stderr: &str) -> String {
    let is_own =
        |line: &&str| !line.contains("there is one in another namespace") || line.ends_with("-n forms");
    stderr.lines().filter(is_own).map(|line| format!("{line}\n")).collect()
}

/// Tabs as arrows, spaces at the end of a line as dots.
pub(crate) fn visible(bytes: &[u8], prefix: &str) -> String {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let line = |line: &str| {
        let kept = line.trim_end_matches(' ');
        let dots = "·".repeat(line.len() - kept.len());
        format!("{prefix}{}{dots}\n", kept.replace('\t', "→"))
    };
    text.lines().map(line).collect()
}

/// Words as a shell splits them; only single quotes are known.
fn words(arguments: &str) -> Vec<String> {
    let mut words = vec![];
    for (index, part) in arguments.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
