//! One line on stderr for each thing that happens: a symbol, a space, a text.

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
