//! Blocks of text beside each other, or below each other where the line is too short.

use crate::output::width;

/// Text between two blocks.
const SEPARATOR: &str = "   ";

/// Returns blocks as columns; as rows, if a line would be longer than `limit`.
pub(super) fn arrange(indent: usize, blocks: &[String], limit: usize) -> String {
    let longest = |block: &String| block.split('\n').map(width).max().unwrap_or_default();
    let gaps = blocks.len().saturating_sub(1) * SEPARATOR.len();
    let total = indent + gaps + blocks.iter().map(longest).sum::<usize>();
    if total <= limit {
        return columns(SEPARATOR, indent, blocks);
    }
    let lines = blocks.iter().flat_map(|block| block.split('\n'));
    lines.map(|line| format!("{}{line}\n", " ".repeat(indent))).collect()
}

/// Returns blocks as columns, each padded to its longest line; spaces at the end of lines are cut.
pub(super) fn columns(separator: &str, indent: usize, blocks: &[String]) -> String {
    let columns: Vec<Vec<&str>> = blocks.iter().map(|block| block.split('\n').collect()).collect();
    let widths: Vec<_> =
        columns.iter().map(|lines| lines.iter().copied().map(width).max().unwrap_or_default()).collect();
    let height = columns.iter().map(Vec::len).max().unwrap_or_default();
    let row = |index: usize| {
        let cells = columns.iter().zip(&widths).map(|(lines, widest)| {
            let line = lines.get(index).copied().unwrap_or_default();
            format!("{}{line}{}", " ".repeat(indent), " ".repeat(widest.saturating_sub(width(line))))
        });
        cells.collect::<Vec<_>>().join(separator).trim_end_matches(' ').to_owned()
    };
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}
