//! The files of a source that stay out of its artifact (SRC-IGN-1…5).
//!
//! The rules look like `.gitignore` but are Flux's own: every path is tested by itself against one explicit list in
//! which the last match wins, so `!` re-includes even below an excluded directory; and as soon as a source brings any
//! pattern of its own, only the version control files stay excluded by default.
//!
//! ```
//! let mut rules = weir_ignore::Rules::default();
//! rules.read("/*\n!/deploy\n", &[]);
//! let matcher = rules.into_matcher();
//! assert!(matcher.excludes("docs/index.md", false));
//! assert!(!matcher.excludes("deploy/app/service.yaml", false));
//! ```

mod defaults;
mod glob;
mod pattern;

pub use glob::Glob;
pub use pattern::Pattern;

/// Name of the files in a source that hold its patterns.
pub const IGNORE_FILE: &str = ".sourceignore";

/// Bytes of one `.sourceignore` file or `spec.ignore` that are read. Real ones have a few hundred.
pub const MAX_IGNORE_BYTES: usize = 256 * 1024;

/// Patterns of a tree that are read, those of all its files together. Each path is compared with each of them, so that this
/// bounds the cost of a path; ten lines in each of two thousand directories are more than real trees have.
pub const MAX_PATTERNS: usize = 20_000;

/// Patterns of a source in the order in which they count: root file, files below it, `spec.ignore`.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    patterns: Vec<Pattern>,
    is_cut: bool,
}

impl Rules {
    /// Adds the patterns of one ignore file that lies in the directory `domain` (its path components; empty for the
    /// root and for `spec.ignore`). Comments and blank lines add nothing; lines that end beyond [`MAX_IGNORE_BYTES`] are not
    /// read, nor are patterns beyond [`MAX_PATTERNS`].
    pub fn read(&mut self, text: &str, domain: &[&str]) {
        let mut end = text.len();
        if let Some(start) = text.as_bytes().get(..MAX_IGNORE_BYTES).filter(|start| start.len() < end) {
            // A part of a pattern is another pattern: `*` of `*.tmp`.
            end = start.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
            self.is_cut = true;
        }
        // The last line may end in half a line break of Windows.
        let lines = text.get(..end).unwrap_or_default().split('\n');
        let lines = lines.map(|line| line.strip_suffix('\r').unwrap_or(line));
        let mut patterns = lines.filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let left = MAX_PATTERNS.saturating_sub(self.patterns.len());
        self.patterns.extend(patterns.by_ref().take(left).map(|line| Pattern::parse(line, domain)));
        self.is_cut |= patterns.next().is_some();
    }

    /// Returns true when not all patterns were read.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The matcher: with no pattern at all every default exclusion holds, else only those of version control
    /// (SRC-IGN-2).
    #[must_use]
    pub fn into_matcher(self) -> Matcher {
        let mut patterns = defaults::version_control();
        if self.patterns.is_empty() {
            patterns.extend(defaults::others());
        }
        patterns.extend(self.patterns);
        Matcher { patterns }
    }

    /// The matcher without any default exclusion, as bucket listings want it (SRC-BKT-5).
    #[must_use]
    pub fn into_plain_matcher(self) -> Matcher {
        Matcher { patterns: self.patterns }
    }
}

/// Decides for each path of a source whether it is left out.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    patterns: Vec<Pattern>,
}

impl Matcher {
    /// Returns true when `path` (relative to the root, `/` between components) is left out. The last pattern that
    /// says anything decides; a path that no pattern names stays in. The root itself is never left out.
    #[must_use]
    pub fn excludes(&self, path: &str, is_directory: bool) -> bool {
        let components: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        self.patterns
            .iter()
            .rev()
            .find_map(|pattern| pattern.verdict(&components, is_directory))
            .is_some_and(|verdict| verdict == pattern::Verdict::Exclude)
    }
}

#[cfg(test)]
mod tests;
