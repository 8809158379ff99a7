//! `.helmignore`: which files of a directory stay out of its package (SRC-CHT-12). The rules are Helm's, which are not
//! those of Git: a negated pattern excludes what it does not match.

use weir_artifact::RelPath;
use weir_ignore::Glob;

use super::ChartError;

/// Name of the file.
pub(super) const IGNORE_FILE: &str = ".helmignore";
/// Pattern that is always excluded: hidden files of editors among the templates.
const DEFAULT: &str = "templates/.?*";
/// Patterns that are read; each costs a comparison for each file.
const MAX_PATTERNS: usize = 10_000;

#[derive(Debug)]
pub(super) struct Rules {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    components: Vec<Glob>,
    /// Without a slash a pattern is about the last component only.
    is_name: bool,
    is_negated: bool,
    needs_directory: bool,
}

impl Rules {
    pub(super) fn parse(text: &str) -> Result<Self, ChartError> {
        let lines = text.lines().chain([DEFAULT]).map(str::trim);
        let rules = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).take(MAX_PATTERNS);
        Ok(Self { patterns: rules.map(Pattern::parse).collect::<Result<_, _>>()? })
    }

    /// Returns true when the file or directory at `path`, relative to the chart, is left out.
    pub(super) fn excludes(&self, path: &RelPath, is_directory: bool) -> bool {
        self.patterns.iter().any(|pattern| {
            let applies = !pattern.needs_directory || is_directory;
            if pattern.is_negated {
                !applies || !pattern.matches(path)
            } else {
                applies && pattern.matches(path)
            }
        })
    }
}

impl Pattern {
    fn parse(line: &str) -> Result<Self, ChartError> {
        if line.contains("**") {
            return Err(ChartError::DoubleStar);
        }
        let (rule, is_negated) = line.strip_prefix('!').map_or((line, false), |rule| (rule, true));
        let (rule, needs_directory) = rule.strip_suffix('/').map_or((rule, false), |rule| (rule, true));
        let is_name = !rule.contains('/');
        let components = rule.strip_prefix('/').unwrap_or(rule).split('/').map(Glob::parse).collect();
        Ok(Self { components, is_name, is_negated, needs_directory })
    }

    fn matches(&self, path: &RelPath) -> bool {
        if self.is_name {
            return self.components.first().is_some_and(|glob| glob.matches(path.file_name()));
        }
        path.depth() == self.components.len()
            && self.components.iter().zip(path.as_str().split('/')).all(|(glob, part)| glob.matches(part))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("*.bak", "a/x.bak", false, true)]
    #[case("*.bak", "x.bak2", false, false)]
    #[case("/x", "x", false, true)]
    #[case("/x", "a/x", false, false)]
    #[case("a/*", "a/x", false, true)]
    #[case("a/*", "a/b/x", false, false)]
    #[case("docs/", "docs", true, true)]
    #[case("docs/", "docs", false, false)]
    #[case("!*.yaml", "a.yaml", false, false)]
    #[case("!*.yaml", "a.txt", false, true)]
    #[case("# *.yaml", "a.yaml", false, false)]
    #[case("", "templates/.swp", false, true)]
    #[case("", ".helmignore", false, false)]
    fn rules(#[case] text: &str, #[case] path: &str, #[case] is_directory: bool, #[case] expected: bool) {
        let rules = Rules::parse(text).unwrap();
        assert_eq!(rules.excludes(&RelPath::parse(path).unwrap(), is_directory), expected);
    }

    #[test]
    fn double_stars_are_refused() {
        assert!(matches!(Rules::parse("a/**"), Err(ChartError::DoubleStar)));
    }
}
