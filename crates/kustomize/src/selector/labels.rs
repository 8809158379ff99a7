//! Kubernetes' label selector grammar, with its words for mistakes; all requirements must hold.

use weir_label::OLD;

use super::SelectorError;

/// Characters that end a word and mean something by themselves.
const MARKS: [char; 7] = ['=', '!', '(', ')', ',', '>', '<'];
/// Characters between words.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

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
        let requirements = Tokens { rest: text }.requirements();
        let requirements = requirements.map_err(|problem| SelectorError::Labels { problem })?;
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

/// The words and marks of a selector; the end is an empty one.
struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    fn next(&mut self) -> &'t str {
        let text = self.rest.trim_start_matches(BLANKS);
        let length = if text.starts_with("==") || text.starts_with("!=") {
            2
        } else if text.starts_with(MARKS) {
            1
        } else {
            text.find(|character| MARKS.contains(&character) || BLANKS.contains(&character))
                .unwrap_or(text.len())
        };
        let (token, rest) = text.split_at_checked(length).unwrap_or((text, ""));
        self.rest = rest;
        token
    }

    fn peek(&self) -> &'t str {
        Self { rest: self.rest }.next()
    }

    fn requirements(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        let starts_requirement = |token: &str| is_word(token) || token == "!";
        loop {
            match self.peek() {
                "" => return Ok(requirements),
                token if !starts_requirement(token) => {
                    return found(token, "!, identifier, or 'end of string'");
                }
                _ => {}
            }
            let requirement = self.requirement();
            requirements
                .push(requirement.map_err(|problem| format!("unable to parse requirement: {problem}"))?);
            match (self.next(), self.peek()) {
                ("", _) => return Ok(requirements),
                (",", token) if starts_requirement(token) => {}
                (",", token) => return found(token, "identifier after ','"),
                (token, _) => return found(token, "',' or 'end of string'"),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let is_negated = self.peek() == "!";
        if is_negated {
            self.next();
        }
        let key = self.next();
        if !is_word(key) {
            return found(key, "identifier");
        }
        check_key(key)?;
        let operator = match self.peek() {
            _ if is_negated => Operator::Missing,
            "" | "," => Operator::Exists,
            _ => self.operator(key)?,
        };
        Ok(Requirement { key: key.to_owned(), operator })
    }

    fn operator(&mut self, key: &str) -> Result<Operator, String> {
        let operator = self.next();
        let mut values = match operator {
            "in" | "notin" => self.set()?,
            "=" | "==" | "!=" | ">" | "<" => vec![self.value()?.to_owned()],
            other => return found(other, "'=', '!=', '==', 'in', notin'"),
        };
        let number = values.first().and_then(|value| value.parse().ok());
        if matches!(operator, ">" | "<") && number.is_none() {
            return Err("for 'Gt', 'Lt' operators, the value must be an integer".to_owned());
        }
        values.sort();
        values.iter().try_for_each(|value| check_value(key, value))?;
        Ok(match (operator, number) {
            (">", Some(limit)) => Operator::GreaterThan(limit),
            ("<", Some(limit)) => Operator::LessThan(limit),
            ("notin" | "!=", _) => Operator::NotIn(values),
            _ => Operator::In(values),
        })
    }

    /// The value behind `=` and the like; none is an empty one.
    fn value(&mut self) -> Result<&'t str, String> {
        if matches!(self.peek(), "" | ",") {
            return Ok("");
        }
        let value = self.next();
        if is_word(value) { Ok(value) } else { found(value, "identifier") }
    }

    /// The values between parentheses; where there is none, an empty one.
    fn set(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != "(" {
            return Err(format!("found '{open}' expected: '('"));
        }
        if !is_word(self.peek()) && !matches!(self.peek(), "," | ")") {
            return found(self.peek(), "',', ')' or identifier");
        }
        let mut values = Vec::new();
        loop {
            let value = if is_word(self.peek()) { self.next() } else { "" };
            values.push(value.to_owned());
            match self.next() {
                ")" => return Ok(values),
                "," => {}
                other if value.is_empty() => return found(other, "',', or identifier"),
                other => return found(other, "',' or ')'"),
            }
        }
    }
}

fn is_word(token: &str) -> bool {
    !token.is_empty() && !token.starts_with(MARKS)
}

fn found<T>(token: &str, expected: &str) -> Result<T, String> {
    Err(format!("found '{token}', expected: {expected}"))
}

fn check_key(key: &str) -> Result<(), String> {
    let faults = OLD.faults_of_key(key);
    let fault = || format!("invalid label key {key:?}: {}", faults.join("; "));
    if faults.is_empty() { Ok(()) } else { Err(fault()) }
}

fn check_value(key: &str, value: &str) -> Result<(), String> {
    let faults = OLD.faults_of_value(value);
    let fault = || format!("invalid label value: {value:?}: at key: {key:?}: {}", faults.join("; "));
    if faults.is_empty() { Ok(()) } else { Err(fault()) }
}
