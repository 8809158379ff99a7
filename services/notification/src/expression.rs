//! CEL expressions: compiled and type-checked once, evaluated under bounds (NTF-108, NTF-134).
//!
//! The crate that evaluates has no type checker and no limits of its own, so that both are made here: length, nesting and
//! loops are bounded before anything runs, and the type of the result is inferred from the syntax tree (DEP-CEL-3 … 5).

mod bounds;
mod functions;
mod types;
mod value;

use std::sync::Arc;

use cel::{Context, Env, Program, Value, extensions};
use serde_json::Value as Json;

pub use types::Type;

/// Why an expression is refused, in the words that Flux shows.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum ExpressionError {
    /// Not CEL, or it names what does not exist.
    #[error("failed to parse the CEL expression '{expression}': {reason}")]
    Parse {
        /// The expression.
        expression: String,
        /// The place and the fault.
        reason: String,
    },
    /// It yields something else than what is needed.
    #[error("CEL expression output type mismatch: expected {expected}, got {got}")]
    Output {
        /// What is needed.
        expected: Type,
        /// What it yields.
        got: Type,
    },
    /// It cannot be evaluated for these values.
    #[error("failed to evaluate the CEL expression '{expression}': {reason}")]
    Evaluate {
        /// The expression.
        expression: String,
        /// The fault.
        reason: String,
    },
}

/// A compiled expression; cheap to clone.
#[derive(Clone)]
pub struct Expression {
    text: Arc<str>,
    program: Arc<Program>,
    environment: Arc<Env>,
}

impl Expression {
    /// Compiles an expression over these variables that yields `output`.
    pub fn compile(text: &str, variables: &[&str], output: Type) -> Result<Self, ExpressionError> {
        let (expression, got) = Self::compile_typed(text, variables)?;
        if got == output { Ok(expression) } else { Err(ExpressionError::Output { expected: output, got }) }
    }

    /// Compiles an expression over these variables, whatever it yields.
    pub fn compile_any(text: &str, variables: &[&str]) -> Result<Self, ExpressionError> {
        Self::compile_typed(text, variables).map(|(expression, _)| expression)
    }

    fn compile_typed(text: &str, variables: &[&str]) -> Result<(Self, Type), ExpressionError> {
        let parse = |reason: String| ExpressionError::Parse { expression: text.to_owned(), reason };
        bounds::check_text(text).map_err(parse)?;
        let compiled = bounds::on_deep_stack(|| {
            let environment = environment().map_err(|error| error.to_string())?;
            let program = environment.compile(text).map_err(|errors| types::syntax_errors(text, &errors))?;
            bounds::check_loops(program.expression())?;
            let got = types::infer(&program, text, variables)?;
            Ok((program, environment, got))
        });
        let (program, environment, got) = compiled.and_then(|result| result).map_err(parse)?;
        let (program, environment) = (Arc::new(program), Arc::new(environment));
        Ok((Self { text: text.into(), program, environment }, got))
    }

    /// Evaluates a condition.
    pub fn is_true(&self, variables: &[(&str, &Json)]) -> Result<bool, ExpressionError> {
        match self.evaluate(variables)? {
            Value::Bool(verdict) => Ok(verdict),
            _ => Err(self.failed("the result is no bool".to_owned())),
        }
    }

    /// Evaluates to a text.
    pub fn to_text(&self, variables: &[(&str, &Json)]) -> Result<String, ExpressionError> {
        match self.evaluate(variables)? {
            Value::String(text) => Ok(text.to_string()),
            _ => Err(self.failed("the result is no string".to_owned())),
        }
    }

    /// Evaluates to a value that other expressions can use.
    pub fn to_json(&self, variables: &[(&str, &Json)]) -> Result<Json, ExpressionError> {
        let value = self.evaluate(variables)?;
        value.json().map_err(|_| self.failed("the result cannot be used as a value".to_owned()))
    }

    fn evaluate(&self, variables: &[(&str, &Json)]) -> Result<Value, ExpressionError> {
        let evaluated = bounds::on_deep_stack(|| {
            let mut context = Context::with_env(self.environment.clone());
            for (name, json) in variables {
                context.add_variable_from_value(*name, value::of_json(json)?);
            }
            self.program.execute(&context).map_err(|error| error.to_string())
        });
        evaluated.and_then(|result| result).map_err(|reason| self.failed(reason))
    }

    fn failed(&self, reason: String) -> ExpressionError {
        ExpressionError::Evaluate { expression: self.text.to_string(), reason }
    }
}

fn environment() -> Result<Env, cel::DeclarationError> {
    let mut environment = Env::stdlib().with_optional_support(true);
    environment.add_extension(extensions::strings)?;
    environment.add_extension(extensions::lists)?;
    environment.add_extension(extensions::encoders)?;
    environment.add_extension(functions::extension)?;
    Ok(environment)
}

#[cfg(test)]
mod tests;
