use crate::Error;
use crate::operator::Operator;
use crate::parse::{Expression, Part};

/// Bytes of one result: four times the largest text, so that a small template cannot fill the memory.
pub const MAX_OUTPUT: usize = 4 * crate::MAX_TEMPLATE;

/// What a variable that is not set becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unset {
    /// An error, unless the expression has a default (strict mode, KS-ENV-20).
    Refuse,
    /// The empty string (KS-ENV-23).
    Empty,
}

pub(crate) fn expand<'v>(
    parts: &[Part],
    lookup: &impl Fn(&str) -> Option<&'v str>,
    unset: Unset,
) -> Result<String, Error> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(literal) => append(&mut text, literal)?,
            Part::Expression(expression) => append(&mut text, &evaluate(expression, lookup, unset)?)?,
        }
    }
    Ok(text)
}

fn append(text: &mut String, piece: &str) -> Result<(), Error> {
    if text.len().saturating_add(piece.len()) > MAX_OUTPUT {
        return Err(Error::OutputTooLarge { limit: MAX_OUTPUT });
    }
    text.push_str(piece);
    Ok(())
}

/// Arguments come first, even when the value makes them unneeded (KS-ENV-22).
fn evaluate<'v>(
    expression: &Expression,
    lookup: &impl Fn(&str) -> Option<&'v str>,
    unset: Unset,
) -> Result<String, Error> {
    let Expression { name, operator, arguments } = expression;
    let arguments =
        arguments.iter().map(|parts| expand(parts, lookup, unset)).collect::<Result<Vec<_>, _>>()?;
    let value = match lookup(name) {
        Some(value) => value,
        None if unset == Unset::Empty || operator.has_default() => "",
        None => return Err(Error::NotSet { name: name.clone() }),
    };
    let first = arguments.first().map_or("", String::as_str);
    let second = arguments.get(1).map(String::as_str);
    if *operator == Operator::Substring
        && let Some(length) = second.and_then(|length| length.parse().ok()).filter(|length| *length < 0)
    {
        return Err(Error::NegativeLength { name: name.clone(), length });
    }
    if *operator == Operator::ReplaceAll {
        refuse_growth(value, first, second.unwrap_or_default())?;
    }
    Ok(operator.apply(value, first, second))
}

/// Replacing is the one operator whose result is larger than what went in; it is measured before it is made.
fn refuse_growth(value: &str, from: &str, to: &str) -> Result<(), Error> {
    let grown = value.matches(from).count().saturating_mul(to.len()).saturating_add(value.len());
    if grown > MAX_OUTPUT { Err(Error::OutputTooLarge { limit: MAX_OUTPUT }) } else { Ok(()) }
}
