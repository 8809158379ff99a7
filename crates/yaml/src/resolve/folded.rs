//! Folded scalars: the reference prints and reads them once more before it renders, and its printer is not exact.

use std::borrow::Cow;

use crate::printable::is_printable;

/// The text of a folded scalar after that trip: breaks before indented lines, and those kept at the end, grow by one.
pub(super) fn reprinted(text: &str) -> Cow<'_, str> {
    if !text.trim_end_matches('\n').contains('\n') && !text.ends_with("\n\n") || !fits_a_block(text) {
        return Cow::Borrowed(text);
    }
    let doubles = doubles_breaks(text);
    let mut out = String::with_capacity(text.len() + 1);
    let mut rest = text;
    while let Some(at) = rest.find('\n') {
        let (line, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let next = after.trim_start_matches('\n');
        let breaks = after.len() - next.len();
        out.push_str(line);
        let follows_plain_line = !line.is_empty() && !line.starts_with([' ', '\t']);
        let is_kept = next.starts_with([' ', '\t']) || (next.is_empty() && breaks > 1);
        let grows = follows_plain_line && doubles && is_kept;
        // Without doubling, a single break between plain lines is read as a space.
        let folds = follows_plain_line && !doubles && !is_kept && !next.is_empty();
        match (folds, breaks) {
            (true, 1) => out.push(' '),
            (true, breaks) => out.push_str(&"\n".repeat(breaks - 1)),
            (false, breaks) => out.push_str(&"\n".repeat(breaks + usize::from(grows))),
        }
        rest = next;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns true when the printer writes a break between lines twice. It looks at the start of the text to decide
/// that.
pub(crate) fn doubles_breaks(text: &str) -> bool {
    !text.trim_start_matches('\n').starts_with([' ', '\t'])
}

/// Returns true when the printer writes the text as a block; otherwise it quotes it, which keeps all breaks.
fn fits_a_block(text: &str) -> bool {
    let odd = |character| character != '\t' && !is_printable(character);
    !text.contains(" \n") && !text.ends_with(' ') && !text.contains(odd)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::reprinted;

    #[rstest]
    #[case("one two\n", "one two\n")]
    #[case("one\ntwo\n", "one\ntwo\n")]
    #[case("one\n  more\nfour\n", "one\n\n  more\nfour\n")]
    #[case("one\n\n  more\n", "one\n\n\n  more\n")]
    #[case("one\n\n", "one\n\n\n")]
    #[case("one \n  more\n", "one \n  more\n")]
    #[case("one\n  \u{1f600}\n", "one\n  \u{1f600}\n")]
    fn breaks_before_indented_lines_grow(#[case] text: &str, #[case] wanted: &str) {
        assert_eq!(reprinted(text), wanted);
    }
}
