//! One line of an ignore file and its verdict about a path (SRC-IGN-3, SRC-IGN-4).

use crate::glob::Glob;

/// Matches any number of directories.
const ANY_DEPTH: &str = "**";

/// The verdict of a pattern about a path that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Left out.
    Exclude,
    /// Kept (`!` patterns).
    Include,
}

/// One component of an anchored pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Nothing between two slashes.
    Empty,
    /// `**`.
    AnyDepth,
    /// `**` mixed with other characters: matches nothing.
    Never,
    /// Everything else.
    Name(Glob),
}

/// One parsed pattern with the directory that it belongs to.
#[derive(Debug, Clone)]
pub struct Pattern {
    domain: Vec<String>,
    parts: Vec<Part>,
    verdict: Verdict,
    directories_only: bool,
    anchored: bool,
}

impl Pattern {
    /// Parses one line. `domain` is the directory of the file that holds it, as path components.
    #[must_use]
    pub fn parse(line: &str, domain: &[&str]) -> Self {
        let (verdict, rest) = match line.strip_prefix('!') {
            Some(rest) => (Verdict::Include, rest),
            None => (Verdict::Exclude, line),
        };
        let rest = if rest.ends_with("\\ ") { rest } else { rest.trim_end_matches(' ') };
        let (directories_only, rest) = match rest.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let anchored = rest.contains('/');
        Self {
            domain: domain.iter().map(|part| (*part).to_owned()).collect(),
            parts: rest.split('/').map(|part| Part::parse(part, anchored)).collect(),
            verdict,
            directories_only,
            anchored,
        }
    }

    /// Returns the verdict of this pattern about `path`, or none when it does not name it.
    pub(crate) fn verdict(&self, path: &[&str], is_directory: bool) -> Option<Verdict> {
        let (domain, inner) = path.split_at_checked(self.domain.len())?;
        if inner.is_empty() || domain.iter().zip(&self.domain).any(|(part, own)| part != own) {
            return None;
        }
        let named = if self.anchored {
            self.names_anchored(inner, is_directory)
        } else {
            self.names_anywhere(inner, is_directory)
        };
        named.then_some(self.verdict)
    }

    /// A pattern without an inner slash names every path that has a matching component.
    fn names_anywhere(&self, path: &[&str], is_directory: bool) -> bool {
        let Some(Part::Name(glob)) = self.parts.first() else { return false };
        match path.iter().position(|name| glob.matches(name)) {
            Some(index) => !self.directories_only || is_directory || index + 1 < path.len(),
            None => false,
        }
    }

    /// A pattern with an inner slash is matched component by component from its directory on.
    fn names_anchored(&self, path: &[&str], is_directory: bool) -> bool {
        let mut rest = path;
        let mut named = false;
        let mut skips_directories = false;
        for (index, part) in self.parts.iter().enumerate() {
            let is_last = index + 1 == self.parts.len();
            match part {
                Part::Empty => skips_directories = false,
                Part::AnyDepth if is_last => break,
                Part::AnyDepth => skips_directories = true,
                Part::Never => return false,
                Part::Name(_) if rest.is_empty() => return false,
                Part::Name(glob) if std::mem::take(&mut skips_directories) => {
                    let found = rest.iter().position(|name| glob.matches(name));
                    // Without a match an earlier component's verdict stands only if this was not the end of the path.
                    named = found.is_some();
                    rest = found.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
                }
                Part::Name(glob) => {
                    let Some((name, deeper)) = rest.split_first() else { return false };
                    if !glob.matches(name) {
                        return false;
                    }
                    rest = deeper;
                    // `x/**` names `x` itself too, file or directory (SRC-IGN-5).
                    named = true;
                }
            }
        }
        named && !(self.directories_only && !is_directory && rest.is_empty())
    }
}

impl Part {
    fn parse(part: &str, anchored: bool) -> Self {
        match part {
            "" if anchored => Self::Empty,
            ANY_DEPTH if anchored => Self::AnyDepth,
            mixed if anchored && mixed.contains(ANY_DEPTH) => Self::Never,
            name => Self::Name(Glob::parse(name)),
        }
    }
}
