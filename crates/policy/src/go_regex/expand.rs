//! Templates such as `$1-${name}`, filled from a match by Go's rules.

use regex::{Captures, Match};

/// From here on a number is read as a name. Go has the same bound.
const MAX_NUMBER: usize = 1_000_000_000;

/// Appends the template with `$name`, `${name}` and `$1` replaced by what these groups have matched, and `$$` by `$`.
///
/// A group that does not exist or has not matched is empty. Of groups with the same name the first that has matched counts.
pub fn expand(found: &Captures<'_>, template: &str, out: &mut String) {
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = reference(after) {
            out.push_str(group(found, name).map_or("", |group| group.as_str()));
            rest = after;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
}

/// Splits `name` or `{name}` from the start of a text; `None` when there is no such thing.
fn reference(text: &str) -> Option<(&str, &str)> {
    let (text, is_braced) = text.strip_prefix('{').map_or((text, false), |inner| (inner, true));
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    if is_braced { Some((name, rest.strip_prefix('}')?)) } else { Some((name, rest)) }
}

fn group<'t>(found: &Captures<'t>, name: &str) -> Option<Match<'t>> {
    let is_number = name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    match name.parse::<usize>().ok().filter(|number| is_number && *number < MAX_NUMBER) {
        Some(number) => found.get(number),
        None => (0..found.len()).find_map(|nth| found.name(&rust_name(name, nth))),
    }
}

/// Returns the name under which Rust's engine has the group of this name that `nth` others precede.
///
/// Go lets groups share a name and begin it with a digit, Rust does not. Go's names hold no brackets, so that these cannot
/// be mistaken for others.
pub(super) fn rust_name(name: &str, nth: usize) -> String {
    let first = if name.starts_with(|letter: char| letter.is_ascii_digit()) { "_" } else { "" };
    if nth == 0 && first.is_empty() { name.to_owned() } else { format!("{first}{name}[{nth}]") }
}
