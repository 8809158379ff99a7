//! Mistakes that are made often, as go-yaml puts them: users search for these texts.

use granit_parser::{ErrorKind, ScanError};

/// Returns go-yaml's text about a mistake. Where that is not known, it is our parser's without the place in its grammar.
pub(super) fn problem(error: &ScanError, text: &str) -> String {
    let known = match error.kind() {
        ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnclosedFlowCollection { .. }
            if ends_before_a_value(text) =>
        {
            "did not find expected node content"
        }
        ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation => "found character that cannot start any token",
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::UnexpectedEofBlockMapping
        | ErrorKind::InvalidIndentation => "did not find expected key",
        ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::UnexpectedEofBlockSequence => {
            "did not find expected '-' indicator"
        }
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::UnclosedFlowCollection { open: '{' } => "did not find expected ',' or '}'",
        ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::UnclosedFlowCollection { open: '[' } => "did not find expected ',' or ']'",
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => "could not find expected ':'",
        // Text in quotes may go on at any column: what is wrong with it is that it does not end.
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
            "found unexpected end of stream"
        }
        _ => {
            let said = error.info();
            let problem = said.strip_prefix("while ").and_then(|rest| rest.split_once(", "));
            return problem.map_or(said.clone(), |(_, problem)| problem.to_owned());
        }
    };
    known.to_owned()
}

/// Returns true when a text in brackets ends where a value is to follow, but for comments on lines of their own.
fn ends_before_a_value(text: &str) -> bool {
    let mut lines =
        text.lines().rev().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| line.ends_with(['[', '{', ',', ':']))
}
