//! Splitting a file into documents, by lines, as the reference does it (KZ-601).

use std::ops::Range;

use crate::YamlError;

/// The byte ranges of the documents of a file, separators left out.
///
/// A `---` counts only after a line break: one on the first line belongs to the first document.
pub(crate) fn split(text: &str, limit: usize) -> Result<Vec<Range<usize>>, YamlError> {
    const SEPARATOR: &str = "\n---";
    let mut documents = Vec::new();
    let mut start = 0;
    let mut search = 0;
    while let Some(found) = text.get(search..).and_then(|rest| rest.find(SEPARATOR)) {
        let break_at = search + found;
        let after = break_at + SEPARATOR.len();
        let Some(line) = text.get(after..).and_then(|rest| rest.split_once('\n')).map(|(line, _)| line)
        else {
            break;
        };
        let remark = line.trim();
        if !remark.is_empty() && !remark.starts_with('#') {
            return Err(YamlError::Separator(format!("---{}", line.trim_end())));
        }
        // The line break before the separator is part of the document: it ends a block scalar.
        documents.push(start..break_at + 1);
        start = after + line.len() + 1;
        search = start;
        if documents.len() >= limit {
            return Err(YamlError::TooManyDocuments(limit));
        }
    }
    documents.push(start..text.len());
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::split;

    fn parts(text: &str) -> Vec<&str> {
        split(text, 100).unwrap().into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn separators_split_only_after_a_line_break() {
        assert_eq!(parts("---\na: 1\n---\nb: 2\n"), ["---\na: 1\n", "b: 2\n"]);
        assert_eq!(parts("a: 1\n--- # next\nb: 2"), ["a: 1\n", "b: 2"]);
        assert_eq!(parts("a: 1\n---"), ["a: 1\n---"]);
        assert_eq!(parts(""), [""]);
    }

    #[test]
    fn text_on_a_separator_line_is_refused() {
        assert_eq!(
            split("a: 1\n--- b\nc: 2\n", 9).unwrap_err().to_string(),
            "invalid document separator: --- b"
        );
    }

    #[test]
    fn documents_are_counted() {
        assert!(split(&"a: 1\n---\n".repeat(10), 5).is_err());
    }
}
