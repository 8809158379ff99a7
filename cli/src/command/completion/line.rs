use std::ffi::{OsStr, OsString};

use clap::{ArgMatches, Command, FromArgMatches};

use crate::global::Global;

/// Environment variable with the number of the word to complete. Shells that do not set it complete the last word.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

/// A command line that a shell completes.
pub(super) struct Line {
    words: Vec<OsString>,
    /// Number of the word to complete.
    index: usize,
}

impl Line {
    /// Reads the words behind `--` of this process's arguments.
    pub(super) fn of_process() -> Self {
        let words: Vec<_> = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
        let index = std::env::var(INDEX).ok().and_then(|index| index.parse().ok());
        Self { index: index.unwrap_or(words.len().saturating_sub(1)), words }.without_signs()
    }

    /// Takes away the `=` of `--namespace=apps`: bash makes three words of it, and completes the last one only.
    fn without_signs(mut self) -> Self {
        let mut kept: Vec<OsString> = Vec::with_capacity(self.words.len());
        let current = self.index;
        for (place, word) in self.words.drain(..).enumerate() {
            let follows_flag = kept.last().is_some_and(|last| last.as_encoded_bytes().starts_with(b"--"));
            if word == "=" && follows_flag && place < current {
                self.index -= 1;
            } else {
                kept.push(word);
            }
        }
        self.words = kept;
        self
    }

    /// The words, and the number of the one to complete.
    pub(super) fn words(&self) -> (Vec<OsString>, usize) {
        (self.words.clone(), self.index)
    }

    /// The beginning of the word to complete.
    pub(super) fn current(&self) -> &OsStr {
        self.words.get(self.index).map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// Reads the flags of all other words, as far as they can be read, and the arguments of the last subcommand.
    pub(super) fn flags(&self, command: Command) -> Option<(Global, ArgMatches)> {
        let others = self.words.iter().enumerate().filter(|(index, _)| *index != self.index);
        let others = others.map(|(_, word)| word);
        let mut matches = command.ignore_errors(true).try_get_matches_from(others).ok()?;
        let mut global = Global::from_arg_matches(&matches).ok()?;
        global.access.asks_nobody = true;
        while let Some((_, inner)) = matches.remove_subcommand() {
            matches = inner;
        }
        Some((global, matches))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[rstest::rstest]
    #[case(&["weir", "get", "ks", ""], 3, "flux-system", "")]
    #[case(&["weir", "get", "ks", "po", "-n", "apps", "-A"], 3, "apps", "po")]
    #[case(&["weir", "--namespace=apps", "get", "ks", "--wrong", ""], 5, "apps", "")]
    #[case(&["weir", "get", "ks", "-n", "apps", "--context", "x"], 6, "apps", "x")]
    #[case(&["weir", "get", "ks", "--namespace", "=", "apps", "po"], 6, "apps", "po")]
    #[case(&["weir", "get", "ks", "--namespace", "=", "ap"], 5, "flux-system", "ap")]
    #[case(&["weir", "why", "ks/po"], 2, "flux-system", "ks/po")]
    #[case(&["weir"], 1, "flux-system", "")]
    fn flags_are_those_of_the_other_words(
        #[case] words: &[&str],
        #[case] index: usize,
        #[case] namespace: &str,
        #[case] current: &str,
    ) {
        let line = Line { words: words.iter().map(OsString::from).collect(), index }.without_signs();
        let (global, _) = line.flags(Cli::command()).unwrap();
        assert_eq!(global.namespace().unwrap(), namespace);
        assert_eq!(line.current(), current);
    }
}
