//! Tables, byte for byte as Flux prints them (CLI-G12).

use unicode_width::UnicodeWidthStr;

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

    /// Every cell is padded to its column and followed by a tab; only the header has none after its last cell. A cell of
    /// several lines makes a row of several lines.
    pub(crate) fn render(&self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        if !self.header.is_empty() {
            let cells: Vec<_> =
                self.header.iter().zip(&widths).map(|(cell, width)| pad(cell, *width)).collect();
            out.push_str(&cells.join("\t"));
            out.push('\n');
        }
        for row in &self.rows {
            let height = row.iter().map(|cell| cell.split('\n').count()).max().unwrap_or_default();
            for line in 0..height {
                for (cell, width) in row.iter().zip(&widths) {
                    out.push_str(&pad(cell.split('\n').nth(line).unwrap_or_default(), *width));
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
                *width = cell.split('\n').map(UnicodeWidthStr::width).fold(*width, usize::max);
            }
        }
        widths
    }
}

fn pad(cell: &str, width: usize) -> String {
    format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(header: &[&str], rows: &[&[&str]]) -> String {
        let mut table = Table::new(header);
        for row in rows {
            table.push(row.iter().map(|cell| (*cell).to_owned()).collect());
        }
        table.render().replace('\t', "→")
    }

    #[test]
    fn the_header_has_no_tab_at_its_end_and_rows_have() {
        let table = render(
            &["name", "last_scan", "ready"],
            &[&["podinfo", "2022-02-03T10:37:54Z", "True"], &["x", "", "False"]],
        );
        insta::assert_snapshot!(table, @r"
        NAME   →LAST SCAN           →READY
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
        NAME→MESSAGE
        日本→é      →
        abc →x      →
        ");
    }

    #[test]
    fn a_cell_of_several_lines_makes_a_row_of_several_lines() {
        insta::assert_snapshot!(render(&[], &[&["a", "one\nthree", "True"]]), @r"
        a→one  →True→
         →three→    →
        ");
    }

    #[test]
    fn an_empty_table_is_its_header() {
        insta::assert_snapshot!(render(&["name", "ready"], &[]), @"NAME→READY");
    }
}
