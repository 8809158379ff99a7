//! One line on stderr for each thing that happens: a symbol, a space, a text.

use std::io::{IsTerminal, Write};

/// Goes to the start of a line and clears it.
const CLEAR: &str = "\r\x1b[2K";

/// A line about what is going on, which the next one takes the place of. Only a terminal has it.
pub(crate) struct Ticker {
    is_shown: bool,
}

impl Ticker {
    /// Makes a line that is shown on a terminal, if it is wanted.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { is_shown: is_wanted && std::io::stderr().is_terminal() }
    }

    /// Shows a text, cut to the width of the terminal.
    pub(crate) fn show(&self, text: &str) {
        if !self.is_shown {
            return;
        }
        let columns = terminal_size::terminal_size_of(std::io::stderr());
        let columns = columns.map_or(80, |(terminal_size::Width(width), _)| usize::from(width));
        let line: String =
            super::plain(&format!("◎ {text}")).chars().take(columns.saturating_sub(1)).collect();
        self.write(&line);
    }

    fn write(&self, line: &str) {
        let mut stderr = std::io::stderr().lock();
        // A terminal that has gone away shows no progress.
        let _shown = write!(stderr, "{CLEAR}{line}").and_then(|()| stderr.flush());
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        if self.is_shown {
            self.write("");
        }
    }
}

/// An action is being started.
pub(crate) fn action(text: &str) {
    line("►", text);
}

/// Something is done.
pub(crate) fn success(text: &str) {
    line("✔", text);
}

/// Something has failed.
pub(crate) fn failure(text: &str) {
    line("✗", &without_codes(text));
}

/// Leaves out the numbers of the system's errors, which the words before them say to people.
fn without_codes(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// Something is waited for.
pub(crate) fn waiting(text: &str) {
    line("◎", text);
}

/// An object is being made.
pub(crate) fn generating(text: &str) {
    line("✚", text);
}

/// Something is odd.
pub(crate) fn warning(text: &str) {
    line("⚠️", text);
}

/// A line without a symbol, one of many below an action.
pub(crate) fn detail(text: &str) {
    write_line(&super::plain(text));
}

fn line(symbol: &str, text: &str) {
    write_line(&format!("{symbol} {}", super::plain(text)));
}

/// Writes a line. Whoever does not read it any more (`weir install 2>&1 | head`) does not stop the command half-way.
fn write_line(line: &str) {
    let _read = writeln!(std::io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("a: No such file or directory (os error 2)", "a: No such file or directory")]
    #[case("b: gone (os error 2); c: gone (os error 2)!", "b: gone; c: gone!")]
    #[case("nothing of that (sort)", "nothing of that (sort)")]
    fn people_are_not_told_numbers(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(without_codes(text), expected);
    }
}
