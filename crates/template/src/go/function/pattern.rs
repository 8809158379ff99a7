//! Regular expressions and versions.

use regex::{Captures, Regex};
use weir_policy::{
    go_regex,
    semver::{Constraint, Version},
};

use super::{CallError, Function, failed, int, text, texts};
use crate::go::value::{Struct, Value};
use crate::text::check_length;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "regexMatch" => Function::exactly(2, |a| {
            let (pattern, subject) = (go_regex::compile(text(a, 0)?), text(a, 1)?);
            Ok(Value::Bool(pattern.is_ok_and(|pattern| pattern.is_match(subject))))
        }),
        "mustRegexMatch" => {
            Function::exactly(2, |a| Ok(Value::Bool(regex(text(a, 0)?)?.is_match(text(a, 1)?))))
        }
        "regexFind" => Function::exactly(2, |a| first(&panicking(text(a, 0)?)?, a)),
        "mustRegexFind" => Function::exactly(2, |a| first(&regex(text(a, 0)?)?, a)),
        "regexFindAll" => Function::exactly(3, |a| all(&panicking(text(a, 0)?)?, a)),
        "mustRegexFindAll" => Function::exactly(3, |a| all(&regex(text(a, 0)?)?, a)),
        "regexReplaceAll" => Function::exactly(3, |a| replace(&panicking(text(a, 0)?)?, a)),
        "mustRegexReplaceAll" => Function::exactly(3, |a| replace(&regex(text(a, 0)?)?, a)),
        "regexReplaceAllLiteral" => Function::exactly(3, |a| replace_literally(&panicking(text(a, 0)?)?, a)),
        "mustRegexReplaceAllLiteral" => Function::exactly(3, |a| replace_literally(&regex(text(a, 0)?)?, a)),
        "regexSplit" => Function::exactly(3, |a| split(&panicking(text(a, 0)?)?, a)),
        "mustRegexSplit" => Function::exactly(3, |a| split(&regex(text(a, 0)?)?, a)),
        "regexQuoteMeta" => Function::exactly(1, |a| Ok(Value::text(quote_meta(text(a, 0)?)))),
        "semver" => Function::exactly(1, |a| version(text(a, 0)?)),
        "semverCompare" => Function::exactly(2, |a| {
            let range = Constraint::parse(text(a, 0)?).map_err(|error| error.to_string())?;
            let version = Version::parse(text(a, 1)?).map_err(|error| error.to_string())?;
            Ok(Value::Bool(range.matches(&version)))
        }),
        _ => None,
    }
}

fn first(pattern: &Regex, arguments: &[Value]) -> Result<Value, CallError> {
    Ok(Value::text(pattern.find(text(arguments, 1)?).map_or("", |found| found.as_str())))
}

fn all(pattern: &Regex, arguments: &[Value]) -> Result<Value, CallError> {
    let found = pattern.find_iter(text(arguments, 1)?).take(most(int(arguments, 2)?));
    texts(found.map(|found| found.as_str().to_owned()))
}

fn replace(pattern: &Regex, arguments: &[Value]) -> Result<Value, CallError> {
    let new = text(arguments, 2)?;
    replaced(pattern, text(arguments, 1)?, |found, out| found.expand(new, out))
}

fn replace_literally(pattern: &Regex, arguments: &[Value]) -> Result<Value, CallError> {
    let new = text(arguments, 2)?;
    replaced(pattern, text(arguments, 1)?, |_, out| out.push_str(new))
}

/// Replaces all; the length is checked on the way.
fn replaced(
    pattern: &Regex,
    subject: &str,
    write: impl Fn(&Captures<'_>, &mut String),
) -> Result<Value, CallError> {
    let (mut out, mut end) = (String::new(), 0);
    for found in pattern.captures_iter(subject) {
        let Some(whole) = found.get(0) else { continue };
        out.push_str(subject.get(end..whole.start()).unwrap_or_default());
        write(&found, &mut out);
        check_length(out.len())?;
        end = whole.end();
    }
    out.push_str(subject.get(end..).unwrap_or_default());
    Ok(Value::text(out))
}

fn split(pattern: &Regex, arguments: &[Value]) -> Result<Value, CallError> {
    texts(pattern.splitn(text(arguments, 1)?, most(int(arguments, 2)?)).map(str::to_owned))
}

fn regex(pattern: &str) -> Result<Regex, CallError> {
    go_regex::compile(pattern).map_err(|error| CallError::Failed(error.to_string()))
}

/// Go's words where the function has no error to return, and panics.
fn panicking(pattern: &str) -> Result<Regex, CallError> {
    let quote = if pattern.contains('`') { '"' } else { '`' };
    go_regex::compile(pattern).or_else(|error| {
        let error = error.to_string().replacen("error parsing regexp: ", "", 1);
        failed(format!("regexp: Compile({quote}{pattern}{quote}): error parsing regexp: {error}"))
    })
}

/// A negative count means all.
fn most(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn quote_meta(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

fn version(text: &str) -> Result<Value, CallError> {
    let version = Version::parse(text).map_err(|error| error.to_string())?;
    let metadata = text.split_once('+').map_or("", |(_, metadata)| metadata);
    let parts = (version.major, version.minor, version.patch);
    let pre = version.pre.to_string();
    let is_release = pre.is_empty();
    let (major, minor, patch) = parts;
    let next = |parts| version_of("semver.Version", parts, "", "", None, Vec::new());
    // A version before its release has that release next.
    let next_patch = if is_release { (major, minor, patch.saturating_add(1)) } else { parts };
    let methods = vec![
        ("IncMajor", next((major.saturating_add(1), 0, 0))),
        ("IncMinor", next((major, minor.saturating_add(1), 0))),
        ("IncPatch", next(next_patch)),
    ];
    Ok(version_of("*semver.Version", parts, &pre, metadata, Some(text), methods))
}

/// A version as templates see it. It has no text where it was made from another one.
fn version_of(
    go_type: &'static str,
    (major, minor, patch): (u64, u64, u64),
    pre: &str,
    metadata: &str,
    original: Option<&str>,
    mut methods: Vec<(&'static str, Value)>,
) -> Value {
    let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let mut printed = format!("{major}.{minor}.{patch}");
    for (sign, part) in [('-', pre), ('+', metadata)].into_iter().filter(|(_, part)| !part.is_empty()) {
        printed.push(sign);
        printed.push_str(part);
    }
    methods.extend([
        ("Major", number(major)),
        ("Minor", number(minor)),
        ("Patch", number(patch)),
        ("Prerelease", Value::text(pre)),
        ("Metadata", Value::text(metadata)),
        ("Original", Value::text(original.unwrap_or(&printed))),
        ("String", Value::text(&printed)),
    ]);
    Value::structure(Struct { go_type, printed: Some(printed), fields: Vec::new(), methods })
}
