//! Tables, byte for byte as Flux prints them (CLI-G12).

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::plain;

/// Rows of cells below a header.
#[derive(Debug, Default)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows. An empty header prints none.
    pub(crate) fn new(header: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let title = |cell: &str| cell.to_uppercase().replace(['_', '.'], " ");
        Self { header: header.into_iter().map(|cell| title(cell.as_ref())).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row.iter().map(|cell| plain(cell)).collect());
    }

    /// Every cell is padded to its column and followed by a tab; the last one of the header by a space. A cell of several
    /// lines makes a row of several lines. On a terminal of `width` columns the last cell is cut so that no row is
    /// longer.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        match width {
            Some(width) => self.cut(width).aligned(),
            None => self.aligned(),
        }
    }

    /// The same table with last cells that end where the terminal does.
    fn cut(&self, width: usize) -> Self {
        let widths = self.widths();
        let Some((_, before)) = widths.split_last() else { return Self::default() };
        // A tab leads to the next multiple of eight.
        let start = before.iter().fold(0, |start, width| (start + width) / TAB * TAB + TAB);
        let room = width.saturating_sub(start + 1).max(SHORTEST);
        let rows = self.rows.iter().map(|row| match row.split_last() {
            Some((last, rest)) if row.len() == widths.len() => {
                let last =
                    last.split('\n').next().map_or_else(String::new, |line| shortened(line, last, room));
                rest.iter().cloned().chain([last]).collect()
            }
            _ => row.clone(),
        });
        Self { header: self.header.clone(), rows: rows.collect() }
    }

    fn aligned(&self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        if !self.header.is_empty() {
            let cells: Vec<_> =
                self.header.iter().zip(&widths).map(|(cell, width)| pad(cell, *width)).collect();
            out.push_str(&cells.join("\t"));
            out.push_str(" \n");
        }
        for row in &self.rows {
            let height = row.iter().map(|cell| cell.split('\n').count()).max().unwrap_or_default();
            for line in 0..height {
                for (cell, width) in row.iter().zip(&widths) {
                    out.push_str(&pad(cell.split('\n').nth(line).unwrap_or(NO_LINE), *width));
                    out.push('\t');
                }
                out.push('\n');
            }
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).chain([self.header.len()]).max().unwrap_or_default();
        let mut widths = vec![0; columns];
        for row in self.rows.iter().chain([&self.header]) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.split('\n').map(span).fold(*width, usize::max);
            }
        }
        widths
    }
}

/// Text of a cell that has fewer lines than its row, however narrow its column is.
const NO_LINE: &str = "  ";

/// Columns between two stops of a terminal's tabs.
const TAB: usize = 8;

/// Columns that are left of a last cell, however narrow the terminal is.
const SHORTEST: usize = 16;

/// Returns the first line of a cell, cut to `room` columns; an ellipsis stands for what is left out.
fn shortened(line: &str, cell: &str, room: usize) -> String {
    if line == cell && cell.width() <= room {
        return cell.to_owned();
    }
    let mut short = String::new();
    for character in line.chars() {
        if short.width() + character.width().unwrap_or_default() >= room {
            break;
        }
        short.push(character);
    }
    short + "…"
}

/// Returns the columns that a cell takes. As in Flux, a tab takes none.
fn span(cell: &str) -> usize {
    cell.width().saturating_sub(cell.matches('\t').count())
}

fn pad(cell: &str, width: usize) -> String {
    format!("{cell}{}", " ".repeat(width.saturating_sub(span(cell))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(header: &[&str], rows: &[&[&str]]) -> String {
        let mut table = Table::new(header);
        for row in rows {
            table.push(row.iter().map(|cell| (*cell).to_owned()).collect());
        }
        table.render(None).replace('\t', "→").replace(" \n", "·\n")
    }

    #[test]
    fn the_header_has_no_tab_at_its_end_and_rows_have() {
        let table = render(
            &["name", "last_scan", "ready"],
            &[&["podinfo", "2022-02-03T10:37:54Z", "True"], &["x", "", "False"]],
        );
        insta::assert_snapshot!(table, @r"
        NAME   →LAST SCAN           →READY·
        podinfo→2022-02-03T10:37:54Z→True →
        x      →                    →False→
        ");
    }

    #[test]
    fn regression_14_a_forged_message_does_not_steer_the_terminal() {
        let table = render(&["message"], &[&["a\x1b]0;title\x07\x1b[2Jb\u{9b}1m\rc"]]);
        assert_eq!(table.lines().nth(1), Some("a\u{fffd}]0;title\u{fffd}\u{fffd}[2Jb\u{fffd}1m\u{fffd}c→"));
    }

    #[test]
    fn width_is_what_a_terminal_shows() {
        insta::assert_snapshot!(render(&["name", "message"], &[&["日本", "é"], &["abc", "x"]]), @r"
        NAME→MESSAGE·
        日本→é      →
        abc →x      →
        ");
    }

    #[test]
    fn a_tab_in_a_cell_takes_no_column() {
        let table = render(&["name", "message"], &[&["a\tb", "x"], &["abc", "y"]]);
        assert_eq!(table.lines().nth(1), Some("a→b  →x      →"));
    }

    #[test]
    fn a_cell_of_several_lines_makes_a_row_of_several_lines() {
        insta::assert_snapshot!(render(&[], &[&["a", "one\nthree", "True"]]), @r"
        a→one  →True→
          →three→    →
        ");
        let narrow = render(&[], &[&["", "one\ntwo"]]);
        assert_eq!(narrow, "→one→\n  →two→\n");
    }

    #[rstest::rstest]
    #[case(40, "a        \tThis is a message that…\t")]
    #[case(10, "a        \tThis is a messa…\t")]
    #[case(80, "a        \tThis is a message that goes on and on\t")]
    fn the_last_cell_ends_with_the_terminal(#[case] width: usize, #[case] expected: &str) {
        let mut table = Table::new(["namespace", "message"]);
        table.push(vec!["a".to_owned(), "This is a message that goes on and on".to_owned()]);
        let rendered = table.render(Some(width));
        assert_eq!(rendered.lines().nth(1), Some(expected));
    }

    #[test]
    fn an_empty_table_is_its_header() {
        insta::assert_snapshot!(render(&["name", "ready"], &[]), @"NAME→READY·");
    }
}
