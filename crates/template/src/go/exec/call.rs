//! Function calls: arguments by Go's rules of types, `and` and `or` no further than needed.

use super::{
    super::{
        TemplateError, function,
        function::{CallError, Function},
        node::{Command, Operand, OperandKind},
        value::Value,
    },
    Run,
};

impl Run<'_> {
    pub(super) fn function(
        &mut self,
        dot: &Value,
        command: &Command,
        name: &str,
        last: Option<Value>,
    ) -> Result<Value, TemplateError> {
        if matches!(name, "and" | "or") {
            return self.short_circuit(dot, command, name == "and", last);
        }
        let function = function::find(name);
        if function.is_none() && name != "call" {
            return Err(self.error(command.at, command, format!("function {name:?} is not available")));
        }
        let mut arguments = Vec::with_capacity(command.rest.len() + 1);
        for operand in &command.rest {
            arguments.push(self.argument(dot, operand)?);
        }
        arguments.extend(last);
        let Some(function) = function else { return self.call(command, arguments.first()) };
        self.check_count(command, name, &function, arguments.len())?;
        let result = function.call(&arguments, &mut self.changes).and_then(|result| {
            if let Value::Text(text) = &result {
                crate::text::check_length(text.len())?;
            }
            self.changes.count(&result)?;
            Ok(result)
        });
        result.map_err(|error| self.call_error(command, name, &arguments, error))
    }

    /// An operand of a function, which may be nil.
    fn argument(&mut self, dot: &Value, operand: &Operand) -> Result<Value, TemplateError> {
        match operand.kind {
            OperandKind::Nil => Ok(Value::Nil),
            _ => self.operand(dot, operand),
        }
    }

    fn short_circuit(
        &mut self,
        dot: &Value,
        command: &Command,
        is_and: bool,
        last: Option<Value>,
    ) -> Result<Value, TemplateError> {
        let mut value = None;
        for operand in &command.rest {
            let next = self.argument(dot, operand)?;
            if next.is_true() != is_and {
                return Ok(next);
            }
            value = Some(next);
        }
        last.or(value).ok_or_else(|| {
            let name = if is_and { "and" } else { "or" };
            self.error(command.at, &name, format!("wrong number of args for {name}: want at least 1 got 0"))
        })
    }

    /// Arguments for what is no function. Go looks at a field before it says so: below nothing, all may be called.
    pub(super) fn no_function(
        &mut self,
        dot: &Value,
        command: &Command,
        got: usize,
    ) -> Result<Value, TemplateError> {
        let first = &command.first;
        let none = Vec::new();
        let (of, names) = match &first.kind {
            OperandKind::Field(names) => (dot.clone(), names),
            OperandKind::Variable(name, names) => (self.variable(name), names),
            OperandKind::Chain(inner, names) => (self.operand(dot, inner)?, names),
            _ => (Value::Nil, &none),
        };
        let Some((last, before)) = names.split_last() else { return Err(self.not_a_function(command)) };
        let reason = match self.fields(of, before, first)? {
            Value::Nil => return Ok(Value::Nil),
            Value::Map(map) if map.has_text_keys() => format!("{last} is not a method but has arguments"),
            Value::Struct(value) if value.has_method(last) => {
                format!("wrong number of args for {last}: want 0 got {got}")
            }
            Value::Struct(value) if value.get(last).is_some() => {
                format!("{last} has arguments but cannot be invoked as function")
            }
            other => return Err(self.no_field(last, &other, first)),
        };
        Err(self.error(first.at, first, reason))
    }

    /// Go names what is in parentheses by all that stands around it.
    fn not_a_function(&self, command: &Command) -> TemplateError {
        let message = "can't give argument to non-function";
        match &command.first.kind {
            OperandKind::Pipe(pipe) => self.error(command.at, command, format!("{message} {pipe}")),
            _ => self.error(command.first.at, &command.first, format!("{message} {}", command.first)),
        }
    }

    /// Go's `call`: no value that a template can have is a function.
    fn call(&self, command: &Command, callee: Option<&Value>) -> Result<Value, TemplateError> {
        let Some(callee) = callee else {
            let message = "wrong number of args for call: want at least 1 got 0";
            return Err(self.error(command.first.at, &command.first, message));
        };
        let message = match (callee, command.rest.first()) {
            (Value::Nil, _) => "call of nil".to_owned(),
            (_, Some(written)) => format!("non-function {written} of type {}", callee.type_name()),
            (_, None) => {
                let printed = callee.printed().unwrap_or_default();
                format!("non-function {printed} of type {}", callee.type_name())
            }
        };
        Err(self.error(command.at, command, format!("error calling call: {message}")))
    }

    fn check_count(
        &self,
        command: &Command,
        name: &str,
        function: &Function,
        got: usize,
    ) -> Result<(), TemplateError> {
        let want = match function.most {
            Some(most) if most == function.least && got != most => format!("want {most}"),
            _ if got < function.least => format!("want at least {}", function.least),
            Some(most) if got > most => format!("want {most}"),
            _ => return Ok(()),
        };
        Err(self.error(
            command.first.at,
            &command.first,
            format!("wrong number of args for {name}: {want} got {got}"),
        ))
    }

    fn call_error(
        &self,
        command: &Command,
        name: &str,
        arguments: &[Value],
        error: CallError,
    ) -> TemplateError {
        match error {
            CallError::Failed(message) => {
                self.error(command.at, command, format!("error calling {name}: {message}"))
            }
            CallError::Type { index, expected } => {
                let value = arguments.get(index).unwrap_or(&Value::Nil);
                let operand = command.rest.get(index);
                let literal = operand.filter(|operand| matches!(operand.kind, OperandKind::Literal(..)));
                let message = match (literal, value) {
                    (Some(literal), _) if expected.starts_with("map") => {
                        format!("can't handle {literal} for arg of type {expected}")
                    }
                    (Some(literal), _) => {
                        let expected = if expected == "int" { "integer" } else { expected };
                        format!("expected {expected}; found {literal}")
                    }
                    (None, Value::Nil)
                        if operand.is_some_and(|operand| matches!(operand.kind, OperandKind::Nil)) =>
                    {
                        format!("cannot assign nil to {expected}")
                    }
                    (None, Value::Nil) => format!("invalid value; expected {expected}"),
                    _ => format!("wrong type for value; expected {expected}; got {}", value.type_name()),
                };
                let piece = operand.unwrap_or_else(|| command.last()).last();
                self.error(piece.at, piece, message)
            }
        }
    }
}
