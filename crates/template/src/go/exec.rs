//! Runs a template.

mod call;

use std::fmt::Display;

use super::{
    Template, TemplateError,
    change::Changes,
    node::{Branch, Command, List, Node, Operand, OperandKind, Pipe},
    value::Value,
};
use crate::limit::{Elapsed, MAX_DEPTH, MAX_OUTPUT, MAX_STEPS, MAX_TIME};

/// The way on after a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

pub(super) struct Run<'t> {
    template: &'t Template,
    /// The name of the template that is running.
    inside: String,
    variables: Vec<(String, Value)>,
    changes: Changes,
    out: String,
    steps: usize,
    depth: usize,
    elapsed: &'t Elapsed<'t>,
}

impl<'t> Run<'t> {
    pub(super) fn new(template: &'t Template, data: Value, elapsed: &'t Elapsed<'t>) -> Self {
        Self {
            template,
            inside: template.name.clone(),
            variables: vec![("$".to_owned(), data)],
            changes: Changes::default(),
            out: String::new(),
            steps: 0,
            depth: 0,
            elapsed,
        }
    }

    /// Runs the main template and returns what it wrote.
    pub(super) fn finish(mut self) -> Result<String, TemplateError> {
        let dot = self.variables.first().map_or(Value::Nil, |(_, data)| data.clone());
        self.list(&dot, &self.template.root)?;
        Ok(self.out)
    }

    /// An error at a piece of the source.
    fn error(&self, at: usize, piece: &dyn Display, message: impl Into<String>) -> TemplateError {
        let before = self.template.source.get(..at).unwrap_or_default();
        TemplateError::Run {
            name: self.template.name.clone(),
            line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
            column: at - before.rfind('\n').map_or(0, |newline| newline + 1),
            inside: self.inside.clone(),
            at: piece.to_string(),
            message: message.into(),
        }
    }

    fn list(&mut self, dot: &Value, list: &List) -> Result<Flow, TemplateError> {
        for node in &list.0 {
            match self.node(dot, node)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn node(&mut self, dot: &Value, node: &Node) -> Result<Flow, TemplateError> {
        match node {
            Node::Text(text) => self.write(0, &"text", text)?,
            Node::Action(pipe) => {
                let value = self.pipe(dot, pipe)?;
                if pipe.declared.is_empty() {
                    let printed = match &value {
                        Value::Nil => "<no value>".to_owned(),
                        value => value.printed().map_err(|message| self.error(pipe.at, pipe, message))?,
                    };
                    self.write(pipe.at, pipe, &printed)?;
                }
            }
            Node::If(branch) => return self.choose(dot, branch, false),
            Node::With(branch) => return self.choose(dot, branch, true),
            Node::Range(branch) => return self.range(dot, branch),
            Node::Call { at, name, pipe } => self.call_template(dot, *at, name, pipe.as_ref())?,
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, at: usize, piece: &dyn Display) -> Result<(), TemplateError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(self.error(at, piece, format!("more than {MAX_STEPS} steps")));
        }
        if (self.elapsed)() > MAX_TIME {
            return Err(self.error(at, piece, format!("takes longer than {MAX_TIME:?}")));
        }
        Ok(())
    }

    fn write(&mut self, at: usize, piece: &dyn Display, text: &str) -> Result<(), TemplateError> {
        self.step(at, piece)?;
        if self.out.len() + text.len() > MAX_OUTPUT {
            return Err(self.error(at, piece, format!("output is longer than {MAX_OUTPUT} bytes")));
        }
        self.out.push_str(text);
        Ok(())
    }

    /// `if` and `with`.
    fn choose(&mut self, dot: &Value, branch: &Branch, moves_dot: bool) -> Result<Flow, TemplateError> {
        let mark = self.variables.len();
        let value = self.pipe(dot, &branch.pipe)?;
        let flow = if value.is_true() {
            self.list(if moves_dot { &value } else { dot }, &branch.body)
        } else {
            branch.otherwise.as_ref().map_or(Ok(Flow::Next), |list| self.list(dot, list))
        };
        self.variables.truncate(mark);
        flow
    }

    fn range(&mut self, dot: &Value, branch: &Branch) -> Result<Flow, TemplateError> {
        let mark = self.variables.len();
        // The variables of a loop over nothing are the whole value.
        let value = self.pipe(dot, &branch.pipe)?;
        let entries: Vec<(Value, Value)> = match &value {
            Value::List(list) => (0..).map(Value::Int).zip(list.items.iter().cloned()).collect(),
            Value::Map(map) => map.entries(),
            Value::Int(count) => {
                let count = usize::try_from(*count).unwrap_or_default().min(MAX_STEPS + 1);
                (0_i64..).take(count).map(|index| (Value::Int(index), Value::Int(index))).collect()
            }
            Value::Nil => Vec::new(),
            other => {
                let pipe = &branch.pipe;
                let whole: (usize, &dyn Display) = (pipe.at, pipe);
                let (at, piece) = pipe.last().map_or(whole, |last| (last.at, last));
                let printed = other.printed().unwrap_or_default();
                return Err(self.error(at, piece, format!("range can't iterate over {printed}")));
            }
        };
        let flow = if entries.is_empty() {
            branch.otherwise.as_ref().map_or(Ok(Flow::Next), |list| self.list(dot, list))
        } else {
            self.iterate(branch, entries)
        };
        self.variables.truncate(mark);
        flow
    }

    fn iterate(&mut self, branch: &Branch, entries: Vec<(Value, Value)>) -> Result<Flow, TemplateError> {
        let inner = self.variables.len();
        for (key, value) in entries {
            self.step(branch.pipe.at, &branch.pipe)?;
            match branch.pipe.declared.as_slice() {
                [only] => self.bind(&branch.pipe, only, value.clone())?,
                [first, second] => {
                    self.bind(&branch.pipe, first, key)?;
                    self.bind(&branch.pipe, second, value.clone())?;
                }
                _ => {}
            }
            let flow = self.list(&value, &branch.body)?;
            self.variables.truncate(inner);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::Next)
    }

    /// Declares a variable, or gives an existing one a new value.
    fn bind(&mut self, pipe: &Pipe, name: &str, value: Value) -> Result<(), TemplateError> {
        if !pipe.is_assignment {
            self.variables.push((name.to_owned(), value));
        } else if let Some(slot) = self.variables.iter_mut().rev().find(|(known, _)| known == name) {
            slot.1 = value;
        } else {
            let whole: (usize, &dyn Display) = (pipe.at, pipe);
            let (at, piece) = pipe.last().map_or(whole, |last| (last.at, last));
            return Err(self.error(at, piece, format!("undefined variable: {name}")));
        }
        Ok(())
    }

    fn call_template(
        &mut self,
        dot: &Value,
        at: usize,
        name: &str,
        pipe: Option<&Pipe>,
    ) -> Result<(), TemplateError> {
        let argument = pipe.map(|pipe| format!(" {pipe}")).unwrap_or_default();
        let written = format!("{{{{template {name:?}{argument}}}}}");
        let template = self.template;
        let Some(body) = template.defined.get(name) else {
            return Err(self.error(at, &written, format!("template {name:?} not defined")));
        };
        if self.depth >= MAX_DEPTH {
            return Err(self.error(at, &written, format!("exceeded maximum template depth ({MAX_DEPTH})")));
        }
        let data = pipe.map_or(Ok(Value::Nil), |pipe| self.pipe(dot, pipe))?;
        let outer = std::mem::replace(&mut self.variables, vec![("$".to_owned(), data.clone())]);
        let inside = std::mem::replace(&mut self.inside, name.to_owned());
        self.depth += 1;
        self.list(&data, body)?;
        self.depth -= 1;
        self.inside = inside;
        self.variables = outer;
        Ok(())
    }

    /// Evaluates a pipeline and binds its variables.
    fn pipe(&mut self, dot: &Value, pipe: &Pipe) -> Result<Value, TemplateError> {
        let value = self.value_of(dot, pipe)?;
        for name in &pipe.declared {
            self.bind(pipe, name, value.clone())?;
        }
        Ok(value)
    }

    /// Evaluates a pipeline; what a command yields becomes the last argument of the next.
    fn value_of(&mut self, dot: &Value, pipe: &Pipe) -> Result<Value, TemplateError> {
        self.step(pipe.at, pipe)?;
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(dot, command, value)?);
        }
        Ok(value.unwrap_or(Value::Nil))
    }

    fn command(
        &mut self,
        dot: &Value,
        command: &Command,
        last: Option<Value>,
    ) -> Result<Value, TemplateError> {
        if let OperandKind::Function(name) = &command.first.kind {
            return self.function(dot, command, name, last);
        }
        if command.rest.is_empty() && last.is_none() {
            return self.operand(dot, &command.first);
        }
        self.no_function(dot, command, command.rest.len() + usize::from(last.is_some()))
    }

    fn operand(&mut self, dot: &Value, operand: &Operand) -> Result<Value, TemplateError> {
        match &operand.kind {
            OperandKind::Dot => Ok(dot.clone()),
            OperandKind::Nil => Err(self.error(operand.at, operand, "nil is not a command")),
            OperandKind::Field(names) => self.fields(dot.clone(), names, operand),
            OperandKind::Variable(name, fields) => self.fields(self.variable(name), fields, operand),
            OperandKind::Function(name) => {
                let command = Command { at: operand.at, first: operand.clone(), rest: Vec::new() };
                self.function(dot, &command, name, None)
            }
            OperandKind::Literal(literal, _) => {
                let value = literal.value();
                self.changes.count(&value).map_err(|message| self.error(operand.at, operand, message))?;
                Ok(value)
            }
            OperandKind::Pipe(pipe) => self.pipe(dot, pipe),
            OperandKind::Chain(inner, fields) => {
                let value = self.operand(dot, inner)?;
                self.fields(value, fields, operand)
            }
        }
    }

    fn variable(&self, name: &str) -> Value {
        let found = self.variables.iter().rev().find(|(known, _)| known == name);
        found.map_or(Value::Nil, |(_, value)| value.clone())
    }

    /// Follows a chain of fields; a key that a map does not have is nothing, and so is all below it.
    fn fields(&self, mut value: Value, names: &[String], operand: &Operand) -> Result<Value, TemplateError> {
        for name in names {
            value = match &value {
                Value::Nil => Value::Nil,
                Value::Map(map) if map.has_text_keys() => map.get(name).unwrap_or(Value::Nil),
                Value::Struct(structure) => {
                    let field = structure.get(name).cloned();
                    field.ok_or_else(|| self.no_field(name, &value, operand))?
                }
                other => return Err(self.no_field(name, other, operand)),
            };
        }
        Ok(value)
    }

    fn no_field(&self, name: &str, value: &Value, operand: &Operand) -> TemplateError {
        let (piece, of) = (operand.last(), value.type_name());
        self.error(piece.at, piece, format!("can't evaluate field {name} in type {of}"))
    }
}
