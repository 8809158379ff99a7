//! Regular expressions and versions.

use regex::Regex;
use weir_policy::{
    go_regex,
    semver::{Constraint, Version},
};

use super::{CallError, Function, int, text, texts};
use crate::go::value::{Struct, Value};

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "regexMatch" => Function::exactly(2, |a| Ok(Value::Bool(regex(text(a, 0)?)?.is_match(text(a, 1)?)))),
        "regexFind" => Function::exactly(2, |a| {
            Ok(Value::text(regex(text(a, 0)?)?.find(text(a, 1)?).map_or("", |found| found.as_str())))
        }),
        "regexFindAll" => Function::exactly(3, |a| {
            let (pattern, most) = (regex(text(a, 0)?)?, most(int(a, 2)?));
            texts(pattern.find_iter(text(a, 1)?).take(most).map(|found| found.as_str().to_owned()))
        }),
        "regexReplaceAll" => Function::exactly(3, |a| {
            Ok(Value::text(regex(text(a, 0)?)?.replace_all(text(a, 1)?, text(a, 2)?)))
        }),
        "regexReplaceAllLiteral" => Function::exactly(3, |a| {
            let literal = regex::NoExpand(text(a, 2)?);
            Ok(Value::text(regex(text(a, 0)?)?.replace_all(text(a, 1)?, literal)))
        }),
        "regexSplit" => Function::exactly(3, |a| {
            let (pattern, most) = (regex(text(a, 0)?)?, most(int(a, 2)?));
            texts(pattern.splitn(text(a, 1)?, most).map(str::to_owned))
        }),
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

fn regex(pattern: &str) -> Result<Regex, CallError> {
    go_regex::compile(pattern).map_err(|error| CallError::Failed(error.to_string()))
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
    let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let numbers = format!("{}.{}.{}", version.major, version.minor, version.patch);
    let pre = version.pre.to_string();
    Ok(Value::structure(Struct {
        go_type: "*semver.Version",
        printed: if pre.is_empty() { numbers } else { format!("{numbers}-{pre}") },
        fields: vec![
            ("Major", number(version.major)),
            ("Minor", number(version.minor)),
            ("Patch", number(version.patch)),
            ("Prerelease", Value::text(pre)),
            ("Original", Value::text(text)),
        ],
    }))
}
