//! Patterns of paths as Flux reads them (SRC-AGN-13, SRC-AGN-14): Go's `path.Match`, and deep ones, in which `**` is any
//! number of directories and braces hold alternatives.

use weir_ignore::Glob;

/// Bytes of a pattern: those of `from` are shorter, and longer ones of `exclude` are none.
const MAX_PATTERN: usize = 4096;
/// Patterns that the braces of one may stand for together.
const MAX_ALTERNATIVES: usize = 256;

/// The syntax of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `**` is `*`: as many components as the pattern has. Braces stand for themselves.
    PathMatch,
    /// `**` is any number of components; `{a,b}` is one of the texts.
    Doublestar,
}

/// A pattern, ready to be matched.
#[derive(Debug)]
pub struct Pattern {
    alternatives: Vec<Vec<Part>>,
}

/// A component of a pattern.
#[derive(Debug)]
enum Part {
    AnyDepth,
    Name(Glob),
}

impl Pattern {
    /// Reads a pattern; none when it is malformed.
    pub fn parse(text: &str, syntax: Syntax) -> Option<Self> {
        let texts = match syntax {
            Syntax::PathMatch => vec![text.to_owned()],
            Syntax::Doublestar => alternatives(text)?,
        };
        let parts = |text: &String| text.split('/').map(|name| part(name, syntax)).collect();
        texts.iter().map(parts).collect::<Option<_>>().map(|alternatives| Self { alternatives })
    }

    /// Returns true when all of the path fits.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        self.alternatives.iter().any(|parts| fit(parts, &names))
    }
}

/// Compares from left to right; where nothing fits, the last `**` takes one more component.
fn fit(parts: &[Part], names: &[&str]) -> bool {
    let (mut at, mut next) = (0, 0);
    let mut widen: Option<(usize, usize)> = None;
    loop {
        match (parts.get(at), names.get(next)) {
            (None, None) => return true,
            (Some(Part::AnyDepth), _) => {
                at += 1;
                widen = Some((at, next));
                continue;
            }
            (Some(Part::Name(glob)), Some(name)) if glob.matches(name) => {
                (at, next) = (at + 1, next + 1);
                continue;
            }
            _ => {}
        }
        match widen {
            Some((after, from)) if from < names.len() => {
                (at, next) = (after, from + 1);
                widen = Some((after, from + 1));
            }
            _ => return false,
        }
    }
}

fn part(name: &str, syntax: Syntax) -> Option<Part> {
    if syntax == Syntax::Doublestar && name == "**" {
        return Some(Part::AnyDepth);
    }
    let glob = Glob::parse(&in_go(name, syntax)?);
    (!glob.is_malformed()).then_some(Part::Name(glob))
}

/// Writes classes as Go's `path.Match` has them: `[!a]` is `[^a]` in either kind of pattern; in deep ones a hyphen at an end
/// stands for itself.
fn in_go(name: &str, syntax: Syntax) -> Option<String> {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(start) = special(rest, &['[']) {
        let (before, class) = rest.split_at_checked(start)?;
        let inside = class.get(1..class_end(class)? - 1)?;
        rest = class.get(inside.len() + 2..)?;
        let (negation, mut inside) = match inside.strip_prefix(['!', '^']) {
            Some(inside) => ("^", inside),
            None => ("", inside),
        };
        text.extend([before, "[", negation]);
        let is_deep = syntax == Syntax::Doublestar;
        if let (true, Some(other)) = (is_deep, inside.strip_prefix('-')) {
            text.push_str("\\-");
            inside = other;
        }
        match inside.strip_suffix('-').filter(|other| is_deep && !other.ends_with('\\')) {
            Some(other) => text.extend([other, "\\-"]),
            None => text.push_str(inside),
        }
        text.push(']');
    }
    text.push_str(rest);
    Some(text)
}

/// The patterns that one with braces stands for.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    if pattern.len() > MAX_PATTERN {
        return None;
    }
    let (mut open, mut done) = (vec![pattern.to_owned()], Vec::new());
    while let Some(text) = open.pop() {
        let Some(start) = brace(&text)? else {
            done.push(text);
            continue;
        };
        let (before, braces) = text.split_at_checked(start)?;
        let (choices, after) = choices(braces.get(1..)?)?;
        open.extend(choices.iter().map(|choice| format!("{before}{choice}{after}")));
        if open.len() + done.len() > MAX_ALTERNATIVES {
            return None;
        }
    }
    Some(done)
}

/// Finds the first opening brace outside of classes; an outer none says that a class does not end, or a brace closes nothing.
fn brace(text: &str) -> Option<Option<usize>> {
    let mut from = 0;
    while let Some(found) = special(text.get(from..)?, &['[', '{', '}']) {
        let at = from + found;
        match text.as_bytes().get(at)? {
            b'{' => return Some(Some(at)),
            b'}' => return None,
            _ => from = at + class_end(text.get(at..)?)?,
        }
    }
    Some(None)
}

/// Splits the text behind an opening brace into what its commas part, and what follows the closing one.
fn choices(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut found, mut start, mut from, mut depth) = (Vec::new(), 0, 0, 0_usize);
    loop {
        let at = from + special(text.get(from..)?, &['{', ',', '}'])?;
        from = at + 1;
        match (text.as_bytes().get(at)?, depth) {
            (b'{', _) => depth += 1,
            (b',', 0) => {
                found.push(text.get(start..at)?);
                start = from;
            }
            (b'}', 0) => {
                found.push(text.get(start..at)?);
                return Some((found, text.get(from..)?));
            }
            (b'}', _) => depth -= 1,
            _ => {}
        }
    }
}

/// The length of the class that a text begins with; none when it does not end.
fn class_end(text: &str) -> Option<usize> {
    let inside = text.get(1..)?;
    Some(special(inside, &[']'])? + "[]".len())
}

/// Finds the first of some characters that no backslash stands in front of.
fn special(text: &str, wanted: &[char]) -> Option<usize> {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if wanted.contains(&character) {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn compare(pattern: &str, syntax: Syntax, fit: &[&str], others: &[&str]) {
        let pattern = Pattern::parse(pattern, syntax).unwrap();
        for (paths, expected) in [(fit, true), (others, false)] {
            for path in paths {
                assert_eq!(pattern.matches(path), expected, "{path}");
            }
        }
    }

    /// Most are what doublestar 4.10 says of the same patterns; its classes take slashes in `exclude`.
    #[rstest]
    #[case("*.y{,a}ml", &["a.yml", "a.yaml"], &["a.yaml.txt", "b/a.yml"])]
    #[case("values{,-prod,-{a,b}}.yaml", &["values.yaml", "values-prod.yaml", "values-b.yaml"], &["values-.yaml"])]
    #[case("{docs/**,**/test,x}", &["docs", "docs/a/b", "test", "a/b/test", "x"], &["test/a", "a/docs/b"])]
    #[case("a/**/d", &["a/d", "a/b/d", "a/b/c/d"], &["d", "a/d/b"])]
    #[case("**/b/**/d", &["b/d", "a/b/c/d", "b/d/b/d"], &["d/b", "a/b/d/c"])]
    #[case("a[!x]b", &["a-b"], &["axb", "a/b"])]
    #[case("[^a]*", &["b", "bc"], &["a", "b/c"])]
    #[case("[-a]x[b-]", &["-xb", "ax-"], &["bxb"])]
    #[case("[{]a[}]", &["{a}"], &["a"])]
    #[case("\\{a,b\\}", &["{a,b}"], &["a"])]
    #[case("a{}", &["a"], &["a{}"])]
    #[case("a**", &["a", "ab"], &["a/b"])]
    #[case("ü?", &["üö"], &["ü"])]
    fn deep_patterns(#[case] pattern: &str, #[case] fit: &[&str], #[case] others: &[&str]) {
        compare(pattern, Syntax::Doublestar, fit, others);
    }

    #[rstest]
    #[case("{a,b}[{]*", &["{a,b}{x"], &["a{x"])]
    #[case("a/**/c", &["a/b/c"], &["a/c", "a/b/b/c"])]
    #[case("\\{*", &["{x"], &["x"])]
    fn flat_patterns(#[case] pattern: &str, #[case] fit: &[&str], #[case] others: &[&str]) {
        compare(pattern, Syntax::PathMatch, fit, others);
    }

    #[rstest]
    #[case("[", true)]
    #[case("a[]", true)]
    #[case("a\\", true)]
    #[case("{a,b", true)]
    #[case("{a,{b}", true)]
    #[case("{a,b}}", true)]
    #[case("[-a]", false)]
    fn malformed_ones_are_refused(#[case] pattern: &str, #[case] also_deep: bool) {
        assert_eq!(Pattern::parse(pattern, Syntax::Doublestar).is_none(), also_deep);
        assert_eq!(Pattern::parse(pattern, Syntax::PathMatch).is_none(), !pattern.starts_with('{'));
    }

    /// Each pair of braces doubles what is to be compared, and each level is read again.
    #[rstest]
    #[case("{a,b}".repeat(9))]
    #[case("{".repeat(MAX_PATTERN) + &"}".repeat(MAX_PATTERN))]
    fn patterns_that_stand_for_too_much_are_refused(#[case] pattern: String) {
        assert!(Pattern::parse(&pattern, Syntax::Doublestar).is_none());
    }
}
