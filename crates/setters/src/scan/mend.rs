//! Texts that go-yaml reads and the parser refuses, mended where the parser stopped. Everything stays at its place.

use granit_parser::{ErrorKind, Options, Parser, ScanError};

/// Returns the text as the parser reads it further; `None` where go-yaml stops too.
pub(super) fn mended(text: &str, error: &ScanError, options: impl Fn() -> Options) -> Option<String> {
    let at = error.marker().byte_offset()?;
    match error.kind() {
        ErrorKind::UnknownAnchor | ErrorKind::SimpleKeyExpected => plain_key(text, at),
        ErrorKind::InvalidQuotedScalarIndent | ErrorKind::TabInIndentation => {
            let before = text.get(..text.get(..at)?.rfind('\n')?)?.trim_end();
            let open = Parser::new_from_str_with_options(before, options()).find_map(Result::err)?;
            // The end of a text behind a backslash is an unknown escape.
            let is_quoted =
                matches!(open.kind(), ErrorKind::UnclosedQuotedScalar | ErrorKind::UnknownQuotedScalarEscape);
            one_line(text, open.marker().byte_offset().filter(|_| is_quoted)?)
        }
        _ => None,
    }
}

/// Makes a plain key of an alias (`*app:`), if there is such an anchor above it: for go-yaml the name ends before the colon,
/// for the parser it goes on.
fn plain_key(text: &str, at: usize) -> Option<String> {
    let (before, alias) = text.split_at_checked(at)?;
    let rest = alias.strip_prefix('*')?;
    let name = name_of(rest);
    let after = rest.get(name.len()..)?.strip_prefix(':')?;
    let is_key = after.is_empty() || after.starts_with([' ', '\t', '\r', '\n']);
    let is_anchor = |part: &str| !name.is_empty() && name_of(part) == name;
    let is_known = before.split('&').skip(1).any(is_anchor);
    (is_key && is_known).then(|| format!("{before}_{rest}"))
}

/// The letters, digits, `_` and `-` that a text begins with.
fn name_of(text: &str) -> &str {
    let is_other = |character: char| !(character.is_ascii_alphanumeric() || "_-".contains(character));
    text.get(..text.find(is_other).unwrap_or(text.len())).unwrap_or_default()
}

/// Puts the quoted scalar at `start` on one line, whose indentation go-yaml does not look at.
fn one_line(text: &str, start: usize) -> Option<String> {
    let (before, scalar) = text.split_at_checked(start + 1)?;
    let quote = before.chars().next_back()?;
    let mut mended = before.to_owned();
    let mut characters = scalar.chars().peekable();
    let mut is_changed = false;
    while let Some(character) = characters.next() {
        let is_break = matches!(character, '\r' | '\n');
        is_changed |= is_break;
        mended.push(if is_break { ' ' } else { character });
        if character == '\\' && quote == '"' {
            mended.extend(characters.next_if(|escaped| !matches!(escaped, '\r' | '\n')));
        } else if character == '\n' && starts_document(text.get(mended.len()..)?) {
            return None;
        } else if character == quote && (quote == '"' || characters.next_if_eq(&quote).is_none()) {
            mended.extend(characters);
            return is_changed.then_some(mended);
        } else if character == quote {
            mended.push(quote);
        }
    }
    None
}

/// Returns true when a line ends the document, inside of quotes, too.
fn starts_document(line: &str) -> bool {
    line.starts_with("---") || line.starts_with("...")
}
