//! The grammar of section 8.2: a text is a list of parts, an expression holds texts itself.

use crate::Error;
use crate::operator::Operator;

/// Bytes of one text. A single resource cannot be larger in the cluster (etcd takes 1.5 MiB); CRDs come close.
pub const MAX_TEMPLATE: usize = 8 * 1024 * 1024;

/// Depth to which expressions may stand in each other; bounds the stack, and nobody reads more than three.
pub const MAX_DEPTH: usize = 32;

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Expression(Expression),
}

/// `${name operator arguments}`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expression {
    pub(crate) name: String,
    pub(crate) operator: Operator,
    /// One list of parts an argument; a default's word is one argument of many parts.
    pub(crate) arguments: Vec<Vec<Part>>,
}

pub(crate) fn parse(template: &str) -> Result<Vec<Part>, Error> {
    if template.len() > MAX_TEMPLATE {
        return Err(Error::TemplateTooLarge { size: template.len(), limit: MAX_TEMPLATE });
    }
    let mut parser = Parser { rest: template, depth: 0 };
    let mut parts = Vec::new();
    loop {
        let text = parser.text();
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        if parser.rest.is_empty() {
            return Ok(parts);
        }
        parts.push(Part::Expression(parser.expression()?));
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Parser<'t> {
    /// Text up to the next expression, with `$$` made `$`.
    fn text(&mut self) -> String {
        let mut text = String::new();
        while let Some(at) = self.rest.find('$') {
            let (before, dollar) = self.rest.split_at(at);
            text.push_str(before);
            self.rest = dollar;
            if dollar.starts_with("${") {
                return text;
            }
            text.push('$');
            self.rest = dollar.strip_prefix("$$").or_else(|| dollar.strip_prefix('$')).unwrap_or_default();
        }
        text.push_str(std::mem::take(&mut self.rest));
        text
    }

    fn expression(&mut self) -> Result<Expression, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::TooDeep { limit: MAX_DEPTH });
        }
        self.take("${");
        let expression = if self.take("#") { self.length()? } else { self.operation()? };
        self.depth -= 1;
        Ok(expression)
    }

    fn length(&mut self) -> Result<Expression, Error> {
        let name = self.name().ok_or(Error::BadSubstitution)?;
        self.close()?;
        Ok(Expression { name, operator: Operator::Length, arguments: Vec::new() })
    }

    fn operation(&mut self) -> Result<Expression, Error> {
        let name = self.name().ok_or(Error::VariableName)?;
        let (operator, arguments) = match self.rest.chars().next() {
            Some('}') => (Operator::Value, Vec::new()),
            Some(',' | '^') => (self.case(), Vec::new()),
            Some('=') => (self.operator("=", Operator::Default), vec![self.word()?]),
            Some(':') => self.colon()?,
            Some('#' | '%') => (self.trim(), vec![self.argument(&['}'])?]),
            Some('/') => self.replace()?,
            _ => return Err(Error::ClosingBrace),
        };
        self.close()?;
        Ok(Expression { name, operator, arguments })
    }

    fn case(&mut self) -> Operator {
        use Operator::{Keep, LowerAll, LowerFirst, UpperAll, UpperFirst};
        let operators = [("^^", UpperAll), (",,", LowerAll), ("^,", Keep), (",^", Keep), ("^", UpperFirst)];
        let known = operators.into_iter().find(|(token, _)| self.take(token));
        known.map_or_else(|| self.operator(",", LowerFirst), |(_, operator)| operator)
    }

    fn trim(&mut self) -> Operator {
        use Operator::{TrimLongestPrefix, TrimLongestSuffix, TrimShortestPrefix, TrimShortestSuffix};
        let operators = [("##", TrimLongestPrefix), ("#", TrimShortestPrefix), ("%%", TrimLongestSuffix)];
        let known = operators.into_iter().find(|(token, _)| self.take(token));
        known.map_or_else(|| self.operator("%", TrimShortestSuffix), |(_, operator)| operator)
    }

    /// `:=`, `:-`, `:?`, `:+`, or a substring.
    fn colon(&mut self) -> Result<(Operator, Vec<Vec<Part>>), Error> {
        if [":=", ":-", ":?", ":+"].into_iter().any(|token| self.take(token)) {
            return Ok((Operator::Default, vec![self.word()?]));
        }
        self.take(":");
        let mut arguments = vec![self.argument(&[':', '}'])?];
        if self.take(":") {
            // So is a run of these.
            while self.take(":") {}
            arguments.push(self.argument(&['}'])?);
        }
        Ok((Operator::Substring, arguments))
    }

    fn replace(&mut self) -> Result<(Operator, Vec<Vec<Part>>), Error> {
        use Operator::{ReplaceAll, ReplaceFirst, ReplacePrefix, ReplaceSuffix};
        let operators = [("//", ReplaceAll), ("/#", ReplacePrefix), ("/%", ReplaceSuffix)];
        let known = operators.into_iter().find(|(token, _)| self.take(token));
        let operator = known.map_or_else(|| self.operator("/", ReplaceFirst), |(_, operator)| operator);
        // Flux reads a pattern over the brace, up to the next slash (KS-ENV-11), so that it has no words for one that is missing.
        if self.rest.starts_with('}') {
            return Err(Error::BadSubstitution);
        }
        let mut arguments = vec![self.escaped_argument(&['/', '}'])?];
        if !self.take("/") {
            return Err(Error::BadSubstitution);
        }
        // A run of slashes is one delimiter (KS-ENV-9).
        while self.take("/") {}
        if !self.rest.starts_with('}') {
            arguments.push(self.escaped_argument(&['}'])?);
        }
        Ok((operator, arguments))
    }

    /// The word of a default: text and expressions up to the first `}`; nothing is escaped in it.
    fn word(&mut self) -> Result<Vec<Part>, Error> {
        let mut parts = Vec::new();
        loop {
            if self.rest.starts_with('}') {
                return Ok(parts);
            }
            parts.push(self.piece(&['}'])?);
        }
    }

    /// One literal run or one expression, not a mix, as Flux' grammar has it.
    fn argument(&mut self, end: &[char]) -> Result<Vec<Part>, Error> {
        Ok(vec![self.piece(end)?])
    }

    fn piece(&mut self, end: &[char]) -> Result<Part, Error> {
        if self.rest.starts_with("${") {
            return self.expression().map(Part::Expression);
        }
        let stop = self.rest.find(end).unwrap_or(self.rest.len());
        let stop = self.rest.find("${").map_or(stop, |nested| nested.min(stop));
        if stop == 0 {
            return Err(Error::Argument);
        }
        let (text, rest) = self.rest.split_at(stop);
        self.rest = rest;
        Ok(Part::Text(text.to_owned()))
    }

    /// Like [`Self::argument`], with `\/`, `\\` and `$$` read as the second character.
    fn escaped_argument(&mut self, end: &[char]) -> Result<Vec<Part>, Error> {
        if self.rest.starts_with("${") {
            return Ok(vec![Part::Expression(self.expression()?)]);
        }
        let mut text = String::new();
        while let Some(first) = self.rest.chars().next() {
            let escaped = [r"\/", r"\\", "$$"].into_iter().find(|token| self.rest.starts_with(token));
            let (character, taken) = match escaped {
                Some(token) => (token.chars().nth(1).unwrap_or(first), token.len()),
                None if end.contains(&first) || self.rest.starts_with("${") => break,
                None => (first, first.len_utf8()),
            };
            text.push(character);
            self.rest = self.rest.get(taken..).unwrap_or_default();
        }
        if text.is_empty() { Err(Error::Argument) } else { Ok(vec![Part::Text(text)]) }
    }

    fn name(&mut self) -> Option<String> {
        let is_name = |character: char| character.is_alphanumeric() || character == '_';
        let end = self.rest.find(|character| !is_name(character)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn close(&mut self) -> Result<(), Error> {
        if self.take("}") { Ok(()) } else { Err(Error::BadSubstitution) }
    }

    fn operator(&mut self, token: &str, operator: Operator) -> Operator {
        self.take(token);
        operator
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
