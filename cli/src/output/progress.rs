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
    line("✗", text);
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
    eprintln!("{}", super::plain(text));
}

fn line(symbol: &str, text: &str) {
    eprintln!("{symbol} {}", super::plain(text));
}
