//! Colours of what a terminal shows.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

/// First and last character of a code that changes the colour.
const CODE: (char, char) = ('\x1b', 'm');

/// Code that ends all others.
const RESET: &str = "\x1b[0m";

/// A colour, or another kind of emphasis.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Colour {
    /// Something is new.
    Green,
    /// Something is gone.
    Red,
    /// Something is another one.
    Yellow,
    /// The place of something.
    Bold,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::Green => "\x1b[32m",
            Self::Red => "\x1b[31m",
            Self::Yellow => "\x1b[33m",
            Self::Bold => "\x1b[1m",
        }
    }
}

/// A painter, which leaves texts as they are where nobody would see the colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// Makes the painter of stdout. Files, pipes and terminals without colours get none, nor do users who set `NO_COLOR`.
    pub(crate) fn of_stdout() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
        Self { is_on: std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb }
    }

    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { is_on: false }
    }

    #[cfg(test)]
    pub(crate) fn always() -> Self {
        Self { is_on: true }
    }

    /// Returns a text in a colour, each line by itself, so that lines can stand beside others.
    pub(crate) fn paint(self, colour: Colour, text: &str) -> String {
        if !self.is_on {
            return text.to_owned();
        }
        let line = |line: &str| match line.trim().is_empty() {
            true => line.to_owned(),
            false => format!("{}{line}{RESET}", colour.code()),
        };
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the columns that a line takes on a terminal; colours take none.
pub(crate) fn width(line: &str) -> usize {
    let (start, end) = CODE;
    let mut parts = line.split(start);
    let first = parts.next().map_or(0, UnicodeWidthStr::width);
    let rest = parts.map(|part| part.split_once(end).map_or(part, |(_, text)| text).width());
    first + rest.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_set_for_each_line_and_take_no_room() {
        let painted = Paint::always().paint(Colour::Red, "a\n  \nbc");
        assert_eq!(painted, "\x1b[31ma\x1b[0m\n  \n\x1b[31mbc\x1b[0m");
        assert_eq!(painted.split('\n').map(width).collect::<Vec<_>>(), [1, 2, 2]);
        assert_eq!(Paint::none().paint(Colour::Red, "a"), "a");
        assert_eq!(width("±📁"), 3);
    }
}
