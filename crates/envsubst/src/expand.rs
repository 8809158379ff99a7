use crate::Error;
use crate::operator::Operator;
use crate::parse::{Expression, Part};

/// Bytes of one result: four times the largest text, so that a small template cannot fill the memory.
pub const MAX_OUTPUT: usize = 4 * crate::MAX_TEMPLATE;

/// Steps for one text, which are bytes that are copied or compared: about a second of work, and some thousand times what
/// real manifests take. A text of a megabyte can name a value of a megabyte so often that it would take minutes, and ask
/// for patterns that take value times pattern steps.
pub const MAX_STEPS: usize = 256 * 1024 * 1024;

/// The replacement of a variable that is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unset {
    /// An error, unless the expression has a default (strict mode, KS-ENV-20).
    Refuse,
    /// The empty string (KS-ENV-23).
    Empty,
}

/// Puts values into the parts of one text.
pub(crate) struct Expander<F> {
    lookup: F,
    unset: Unset,
    steps_left: usize,
}

impl<'v, F: Fn(&str) -> Option<&'v str>> Expander<F> {
    pub(crate) fn new(lookup: F, unset: Unset) -> Self {
        Self { lookup, unset, steps_left: MAX_STEPS }
    }

    pub(crate) fn expand(&mut self, parts: &[Part]) -> Result<String, Error> {
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Text(literal) => self.append(&mut text, literal)?,
                Part::Expression(expression) => {
                    let value = self.evaluate(expression)?;
                    self.append(&mut text, &value)?;
                }
            }
        }
        Ok(text)
    }

    fn append(&mut self, text: &mut String, piece: &str) -> Result<(), Error> {
        self.take_steps(piece.len())?;
        if text.len().saturating_add(piece.len()) > MAX_OUTPUT {
            return Err(Error::OutputTooLarge { limit: MAX_OUTPUT });
        }
        text.push_str(piece);
        Ok(())
    }

    fn take_steps(&mut self, count: usize) -> Result<(), Error> {
        let left = self.steps_left.checked_sub(count).ok_or(Error::TooManySteps { limit: MAX_STEPS })?;
        self.steps_left = left;
        Ok(())
    }

    /// Arguments come first, even when the value makes them unneeded (KS-ENV-22).
    fn evaluate(&mut self, expression: &Expression) -> Result<String, Error> {
        let Expression { name, operator, arguments } = expression;
        let arguments = arguments.iter().map(|parts| self.expand(parts)).collect::<Result<Vec<_>, _>>()?;
        let value = match (self.lookup)(name) {
            Some(value) => value,
            None if self.unset == Unset::Empty || operator.has_default() => "",
            None => return Err(Error::NotSet { name: name.clone() }),
        };
        let first = arguments.first().map_or("", String::as_str);
        let second = arguments.get(1).map(String::as_str);
        self.take_steps(operator.steps(value, first))?;
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
}

/// Replacing is the one operator whose result is larger than what went in; it is measured before it is made.
fn refuse_growth(value: &str, from: &str, to: &str) -> Result<(), Error> {
    let grown = value.matches(from).count().saturating_mul(to.len()).saturating_add(value.len());
    if grown > MAX_OUTPUT { Err(Error::OutputTooLarge { limit: MAX_OUTPUT }) } else { Ok(()) }
}
