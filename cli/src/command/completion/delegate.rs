//! Arguments of plugins: the plugin itself is asked for them, as programs with commands of cobra answer (CLI-PLG01).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use tokio::io::AsyncReadExt;
use tokio::process::Command as Process;
use tokio::time::timeout;

use super::names::longest_wait;

/// Word that asks a program for completions. The words of its command line stand behind it, the last one to be completed.
const ASK: &str = "__complete";
/// Largest answer that is read, in bytes.
const MAX_ANSWER: u64 = 1024 * 1024;
/// Start of lines that are hints for people.
const HINT: &str = "_activeHelp_ ";

// Bits of the number that ends an answer.
const FAILED: u32 = 1;
const NO_FILES: u32 = 4;
const ENDS_OF_FILES: u32 = 8;
const DIRECTORIES: u32 = 16;

/// A plugin, and its words before the one to complete.
pub(super) struct Call {
    pub(super) program: PathBuf,
    pub(super) words: Vec<OsString>,
}

/// Candidates with what is said of them, and the bits.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    candidates: Vec<(String, Option<String>)>,
    bits: u32,
}

/// Returns commands for a line that calls a plugin: whatever stands there, its words are the plugin's.
pub(super) fn commands(call: Call) -> Command {
    let words = Arg::new("words").num_args(0..).allow_hyphen_values(true).trailing_var_arg(true);
    let complete = move |current: &OsStr| call.candidates(current);
    Command::new("weir").disable_help_flag(true).arg(words.add(ArgValueCompleter::new(complete)))
}

impl Call {
    fn candidates(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let mut words = vec![OsString::from(ASK)];
        words.extend(self.words.iter().cloned());
        words.push(current.to_owned());
        let Ok(runtime) = weir_runtime::service::single_threaded_runtime() else { return Vec::new() };
        let answer = runtime.block_on(async { timeout(longest_wait(), asked(&self.program, &words)).await });
        answer.ok().flatten().map_or_else(Vec::new, |answer| answer.completed(current))
    }
}

/// Asks a plugin, which is killed when nobody waits for it any more.
async fn asked(program: &Path, words: &[OsString]) -> Option<Answer> {
    let mut plugin = Process::new(program);
    plugin.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut plugin = plugin.spawn().ok()?;
    let mut text = Vec::new();
    plugin.stdout.take()?.take(MAX_ANSWER).read_to_end(&mut text).await.ok()?;
    plugin.wait().await.ok().filter(ExitStatus::success)?;
    Some(Answer::read(&String::from_utf8_lossy(&text)))
}

impl Answer {
    /// Reads an answer: a candidate a line, with a description behind a tab, and the bits behind a colon in the last line.
    fn read(text: &str) -> Self {
        let mut lines: Vec<_> = text.trim_end_matches('\n').split('\n').collect();
        let last = lines.pop().filter(|line| !line.is_empty());
        let bits = match last {
            Some(last) => last.strip_prefix(':').and_then(|bits| bits.parse().ok()).unwrap_or_default(),
            None => FAILED,
        };
        let lines = lines.into_iter().filter(|line| !line.is_empty() && !line.starts_with(HINT));
        let candidates = lines.map(|line| match line.split_once('\t') {
            Some((candidate, description)) => (candidate.to_owned(), Some(description.to_owned())),
            None => (line.to_owned(), None),
        });
        Self { candidates: candidates.collect(), bits }
    }

    /// Returns what the shell is to offer. Files are offered where the plugin has nothing and does not say that there are none.
    fn completed(self, current: &OsStr) -> Vec<CompletionCandidate> {
        let has = |bit: u32| self.bits & bit != 0;
        if has(FAILED) {
            return Vec::new();
        }
        if has(DIRECTORIES) {
            return PathCompleter::dir().complete(current);
        }
        if has(ENDS_OF_FILES) {
            let ends: Vec<_> = self.candidates.into_iter().map(|(end, _)| end).collect();
            let has_end = move |path: &Path| {
                path.extension().is_some_and(|end| {
                    ends.iter().any(|known| OsStr::new(known.trim_start_matches('.')) == end)
                })
            };
            return PathCompleter::any().filter(has_end).complete(current);
        }
        if self.candidates.is_empty() && !has(NO_FILES) {
            return PathCompleter::any().complete(current);
        }
        let current = current.to_string_lossy();
        let fitting = self.candidates.into_iter().filter(|(candidate, _)| candidate.starts_with(&*current));
        let offered = fitting.map(|(candidate, description)| {
            CompletionCandidate::new(candidate).help(description.map(Into::into))
        });
        offered.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("a\tthe first\nb\n_activeHelp_ hint\n\n:4\n", &[("a", Some("the first")), ("b", None)], 4)]
    #[case("a\nb", &[("a", None)], 0)]
    #[case(":0\n", &[], 0)]
    #[case("\n", &[], FAILED)]
    #[case("", &[], FAILED)]
    fn answers_are_read(#[case] text: &str, #[case] candidates: &[(&str, Option<&str>)], #[case] bits: u32) {
        let owned = |&(candidate, description): &(&str, Option<&str>)| {
            (candidate.to_owned(), description.map(str::to_owned))
        };
        let candidates = candidates.iter().map(owned).collect();
        assert_eq!(Answer::read(text), Answer { candidates, bits });
    }

    #[rstest::rstest]
    #[case("x.yaml\n:1", "x", &[])]
    #[case("ab\nac\nb\n:4", "a", &["ab", "ac"])]
    #[case("--all\n:4", "--a", &["--all"])]
    #[case(":4", "", &[])]
    fn what_fits_is_offered(#[case] text: &str, #[case] current: &str, #[case] expected: &[&str]) {
        let offered = Answer::read(text).completed(OsStr::new(current));
        let offered: Vec<_> = offered.iter().map(|one| one.get_value().to_str().unwrap()).collect();
        assert_eq!(offered, expected);
    }

    #[rstest::rstest]
    #[case(":0", &["a.yaml", "b.json", "c/"])]
    #[case("yaml\n.yml\n:8", &["a.yaml", "c/"])]
    #[case(":16", &["c/"])]
    fn files_are_offered(#[case] text: &str, #[case] expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "b.json"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("c")).unwrap();
        let start = format!("{}/", folder.path().display());
        let offered = Answer::read(text).completed(OsStr::new(&start));
        let mut offered: Vec<_> =
            offered.iter().map(|one| one.get_value().to_str().unwrap().replace(&start, "")).collect();
        offered.sort();
        assert_eq!(offered, expected);
    }
}
