//! Kubernetes' label selector grammar; all requirements must hold.

use super::SelectorError;

/// A parsed selector.
#[derive(Debug, Clone, Default)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, Clone)]
enum Operator {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    GreaterThan(i64),
    LessThan(i64),
}

impl LabelSelector {
    /// Parses `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`, joined by commas.
    pub(crate) fn parse(text: &str) -> Result<Self, SelectorError> {
        let failed = |problem| SelectorError::Labels { text: text.to_owned(), problem };
        let parts = split(text).map_err(failed)?;
        let requirements = parts.into_iter().map(requirement).collect::<Result<_, _>>().map_err(failed)?;
        Ok(Self { requirements })
    }

    /// Returns true when every requirement holds for the values that `get` finds.
    pub(crate) fn matches<'v>(&self, get: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = get(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.operator {
                Operator::Exists => value.is_some(),
                Operator::Missing => value.is_none(),
                Operator::In(wanted) => value.is_some_and(|value| wanted.iter().any(|one| one == value)),
                Operator::NotIn(unwanted) => {
                    value.is_none_or(|value| unwanted.iter().all(|one| one != value))
                }
                Operator::GreaterThan(limit) => number().is_some_and(|number| number > *limit),
                Operator::LessThan(limit) => number().is_some_and(|number| number < *limit),
            }
        })
    }
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Result<Vec<&str>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or("found ')', expected: ','")?,
            ',' if depth == 0 => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("found '', expected: ',' or ')'".to_owned());
    }
    parts.push(text.get(start..).unwrap_or_default());
    Ok(parts)
}

fn requirement(text: &str) -> Result<Requirement, String> {
    let text = text.trim();
    if let Some(key) = text.strip_prefix('!') {
        return Ok(Requirement { key: checked_key(key)?, operator: Operator::Missing });
    }
    for (mark, is_negated) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((key, value)) = text.split_once(mark) {
            if value.contains('=') {
                return Err("found '=', expected: ',' or 'end of string'".to_owned());
            }
            let values = vec![value.trim().to_owned()];
            let operator = if is_negated { Operator::NotIn(values) } else { Operator::In(values) };
            return Ok(Requirement { key: checked_key(key)?, operator });
        }
    }
    for (mark, make) in [('>', Operator::GreaterThan as fn(i64) -> Operator), ('<', Operator::LessThan)] {
        if let Some((key, value)) = text.split_once(mark) {
            let limit =
                value.trim().parse().map_err(|_| format!("for '{mark}' the value must be an integer"))?;
            return Ok(Requirement { key: checked_key(key)?, operator: make(limit) });
        }
    }
    match text.split_once(char::is_whitespace) {
        None => Ok(Requirement { key: checked_key(text)?, operator: Operator::Exists }),
        Some((key, rest)) => Ok(Requirement { key: checked_key(key)?, operator: set_operator(rest.trim())? }),
    }
}

fn set_operator(text: &str) -> Result<Operator, String> {
    let (operator, values) = text
        .strip_prefix("notin")
        .map(|values| (Operator::NotIn as fn(Vec<String>) -> Operator, values))
        .or_else(|| {
            text.strip_prefix("in").map(|values| (Operator::In as fn(Vec<String>) -> Operator, values))
        })
        .ok_or_else(|| format!("found '{text}', expected: in, notin, =, ==, !=, gt, lt"))?;
    let inner = values.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.ok_or_else(|| format!("found '{values}', expected: '('"))?;
    Ok(operator(inner.split(',').map(|value| value.trim().to_owned()).collect()))
}

fn checked_key(key: &str) -> Result<String, String> {
    let key = key.trim();
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    if key.is_empty() || !key.bytes().all(is_legal) {
        return Err(format!("name part '{key}' must consist of alphanumeric characters, '-', '_' or '.'"));
    }
    Ok(key.to_owned())
}
