//! The entries of a source that a copy operation is about (SRC-AGN-13, SRC-AGN-14).

use weir_artifact::RelPath;

use super::glob::{Pattern, Syntax};

/// A pattern that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SelectionError {
    /// In `from`.
    #[error("invalid glob pattern '{0}': syntax error in pattern")]
    Pattern(String),
    /// In `exclude`.
    #[error("invalid exclude pattern '{0}'")]
    Exclude(String),
}

/// Returns true when a path is a pattern.
pub(super) fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '[', ']'])
}

/// The directories in front of the first component that is a pattern.
pub(super) fn literal_prefix(pattern: &str) -> Option<RelPath> {
    let literal: Vec<&str> = pattern.split('/').take_while(|part| !is_glob(part)).collect();
    RelPath::parse(&literal.join("/")).ok()
}

/// Entries by pattern.
#[derive(Debug)]
pub(super) struct Selection {
    pattern: Pattern,
}

impl Selection {
    pub(super) fn parse(pattern: &str, syntax: Syntax) -> Result<Self, SelectionError> {
        let read = Pattern::parse(pattern.trim_start_matches("./"), syntax);
        Ok(Self { pattern: read.ok_or_else(|| SelectionError::Pattern(pattern.to_owned()))? })
    }

    pub(super) fn takes(&self, path: &RelPath) -> bool {
        self.pattern.matches(path.as_str())
    }
}

/// The files that are left out.
#[derive(Debug, Default)]
pub(super) struct Excludes {
    patterns: Vec<Exclude>,
}

#[derive(Debug)]
struct Exclude {
    pattern: Pattern,
    /// A pattern without a slash is about names in any directory.
    is_name: bool,
}

impl Excludes {
    pub(super) fn parse(patterns: &[String]) -> Result<Self, SelectionError> {
        let parse = |text: &String| {
            let pattern = Pattern::parse(text, Syntax::Doublestar);
            let pattern = pattern.ok_or_else(|| SelectionError::Exclude(text.clone()))?;
            Ok(Exclude { pattern, is_name: !text.contains('/') })
        };
        Ok(Self { patterns: patterns.iter().map(parse).collect::<Result<_, _>>()? })
    }

    /// Returns true when an entry stays out: by its path in the source, by its path below `base`, or by its name.
    pub(super) fn leave_out(&self, path: &RelPath, base: Option<&RelPath>) -> bool {
        let below = base.and_then(|base| path.as_str().strip_prefix(base.as_str())?.strip_prefix('/'));
        self.patterns.iter().any(|exclude| {
            exclude.pattern.matches(path.as_str())
                || below.is_some_and(|below| exclude.pattern.matches(below))
                || (exclude.is_name && exclude.pattern.matches(path.file_name()))
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[rstest]
    #[case("*", Syntax::PathMatch, &["a", ".b"])]
    #[case("**", Syntax::PathMatch, &["a", ".b"])]
    #[case("a/*", Syntax::PathMatch, &["a/b.yaml", "a/c"])]
    #[case("a/**", Syntax::PathMatch, &["a/b.yaml", "a/c"])]
    #[case("*/*.yaml", Syntax::PathMatch, &["a/b.yaml"])]
    #[case("?/[b-d]*", Syntax::PathMatch, &["a/b.yaml", "a/c"])]
    #[case("a/{b,c}*", Syntax::PathMatch, &[])]
    #[case("a/**", Syntax::Doublestar, &["a", "a/b.yaml", "a/c", "a/c/d.tgz"])]
    #[case("**/*.tgz", Syntax::Doublestar, &["a/c/d.tgz"])]
    #[case("a/{b,c}*", Syntax::Doublestar, &["a/b.yaml", "a/c"])]
    fn selected(#[case] pattern: &str, #[case] syntax: Syntax, #[case] expected: &[&str]) {
        let all = ["a", ".b", "a/b.yaml", "a/c", "a/c/d.tgz"];
        let selection = Selection::parse(pattern, syntax).unwrap();
        let taken: Vec<_> = all.into_iter().filter(|entry| selection.takes(&path(entry))).collect();
        assert_eq!(taken, expected);
    }

    #[rstest]
    #[case("*.md", "docs/deep/x.md", None, true)]
    #[case("docs/*.md", "docs/x.md", None, true)]
    #[case("docs/*.md", "docs/deep/x.md", None, false)]
    #[case("docs/**", "docs", None, true)]
    #[case("docs/**", "docs/deep/x.md", None, true)]
    #[case("**/deep", "docs/deep", None, true)]
    #[case("deep/x.md", "docs/deep/x.md", Some("docs"), true)]
    #[case("deep/x.md", "docs/deep/x.md", None, false)]
    #[case("docs", "documents", None, false)]
    #[case("docs/", "docs", None, false)]
    #[case("**/", "docs", None, false)]
    #[case("docs/**/", "docs/deep", None, false)]
    fn left_out(
        #[case] pattern: &str,
        #[case] entry: &str,
        #[case] base: Option<&str>,
        #[case] expected: bool,
    ) {
        let excludes = Excludes::parse(&[pattern.to_owned()]).unwrap();
        assert_eq!(excludes.leave_out(&path(entry), base.map(path).as_ref()), expected);
    }

    #[test]
    fn patterns_that_cannot_be_read_are_named() {
        let error = Excludes::parse(&["a".to_owned(), "[".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "invalid exclude pattern '['");
        let error = Selection::parse("a/[", Syntax::PathMatch).unwrap_err().to_string();
        assert_eq!(error, "invalid glob pattern 'a/[': syntax error in pattern");
    }

    #[rstest]
    #[case("a/b/*.yaml", Some("a/b"))]
    #[case("*.yaml", None)]
    #[case("a/b*/c", Some("a"))]
    fn prefixes(#[case] pattern: &str, #[case] expected: Option<&str>) {
        assert_eq!(literal_prefix(pattern), expected.map(path));
    }
}
