//! The parsed template, printable as it was written for error texts.

use std::fmt;

use super::value::Value;

/// A sequence of nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct List(pub(super) Vec<Node>);

#[derive(Debug, Clone)]
pub(super) enum Node {
    Text(String),
    Action(Pipe),
    If(Branch),
    Range(Branch),
    With(Branch),
    Call { at: usize, name: String, pipe: Option<Pipe> },
    Break,
    Continue,
}

/// `if`, `range` and `with` have the same parts.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    pub(super) pipe: Pipe,
    pub(super) body: List,
    pub(super) otherwise: Option<List>,
}

/// Commands joined by `|`, with the variables they are bound to.
#[derive(Debug, Clone)]
pub(super) struct Pipe {
    pub(super) at: usize,
    pub(super) declared: Vec<String>,
    pub(super) is_assignment: bool,
    pub(super) commands: Vec<Command>,
}

/// A function with its arguments, or one operand.
#[derive(Debug, Clone)]
pub(super) struct Command {
    pub(super) at: usize,
    pub(super) first: Operand,
    pub(super) rest: Vec<Operand>,
}

/// A piece of a command and the byte of the source it stands at.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    pub(super) at: usize,
    pub(super) kind: OperandKind,
}

#[derive(Debug, Clone)]
pub(super) enum OperandKind {
    Dot,
    Nil,
    Field(Vec<String>),
    Variable(String, Vec<String>),
    Function(String),
    /// A literal: its value and its text.
    Literal(Literal, String),
    Pipe(Box<Pipe>),
    Chain(Box<Operand>, Vec<String>),
}

#[derive(Debug, Clone)]
pub(super) enum Literal {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl Pipe {
    /// The piece that is evaluated last, by which Go names the whole.
    pub(super) fn last(&self) -> Option<&Operand> {
        self.commands.last().map(|command| command.last().last())
    }
}

impl Command {
    /// The piece that is evaluated last before a function is called.
    pub(super) fn last(&self) -> &Operand {
        self.rest.last().unwrap_or(&self.first)
    }
}

impl Operand {
    /// As [`Pipe::last`]; fields of what is in parentheses do not count.
    pub(super) fn last(&self) -> &Self {
        match &self.kind {
            OperandKind::Pipe(pipe) => pipe.last().unwrap_or(self),
            OperandKind::Chain(inner, _) => inner.last(),
            _ => self,
        }
    }
}

impl Literal {
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Text(value) => Value::text(value),
        }
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.declared.is_empty() {
            write!(f, "{} {} ", self.declared.join(", "), if self.is_assignment { "=" } else { ":=" })?;
        }
        join(f, " | ", &self.commands)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.rest.iter().try_for_each(|operand| write!(f, " {operand}"))
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OperandKind::Dot => f.write_str("."),
            OperandKind::Nil => f.write_str("nil"),
            OperandKind::Field(names) => names.iter().try_for_each(|name| write!(f, ".{name}")),
            OperandKind::Variable(name, fields) => {
                f.write_str(name)?;
                fields.iter().try_for_each(|field| write!(f, ".{field}"))
            }
            OperandKind::Function(name) => f.write_str(name),
            OperandKind::Literal(_, text) => f.write_str(text),
            OperandKind::Pipe(pipe) => write!(f, "({pipe})"),
            OperandKind::Chain(inner, fields) => {
                write!(f, "{inner}")?;
                fields.iter().try_for_each(|field| write!(f, ".{field}"))
            }
        }
    }
}

fn join<T: fmt::Display>(f: &mut fmt::Formatter<'_>, separator: &str, items: &[T]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}
