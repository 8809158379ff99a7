//! CEL expressions: compiled and type-checked once, evaluated under bounds (NTF-108, NTF-134, KS-DEP-10).
//!
//! The crate that evaluates has no type checker and no limits of its own, so that both are made here: length, nesting and
//! loops are bounded before anything runs, and the type of the result is inferred from the syntax tree (DEP-CEL-3 … 5).
//!
//! An evaluation goes on for as long as its caller says that it may: each turn of a loop asks.
//!
//! Compiling and evaluating take a thread with a large stack and wait for it: call them where blocking is allowed.

mod bounds;
mod cel_go_error;
mod computed;
mod functions;
mod go;
mod interrupt;
mod types;
mod value;

use std::sync::Arc;

use cel::{Context, Env, IdedExpr, Program, Value, extensions};
use serde_json::Value as Json;

pub use self::computed::Computed;
use self::interrupt::{Limit, interruptible};
pub use self::types::Type;
pub use self::value::Numbers;

/// Errors in an expression, with Flux's messages.
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
        /// Type needed.
        expected: Type,
        /// Type of its result.
        got: Type,
    },
    /// It yields something else than what is needed for these values.
    #[error("failed to evaluate CEL expression as {expected}: '{expression}'")]
    Kind {
        /// The expression.
        expression: String,
        /// Kind of value needed.
        expected: &'static str,
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
    tree: Arc<IdedExpr>,
    environment: Arc<Env>,
    numbers: Numbers,
}

impl Expression {
    /// Compiles an expression over these variables that yields `output`.
    ///
    /// # Errors
    /// When the text is no expression over these variables, or yields another type.
    pub fn compile(text: &str, variables: &[&str], output: Type) -> Result<Self, ExpressionError> {
        let (expression, got) = Self::compile_typed(text, variables)?;
        if got == output { Ok(expression) } else { Err(ExpressionError::Output { expected: output, got }) }
    }

    /// Compiles an expression over these variables, whatever it yields.
    ///
    /// # Errors
    /// When the text is no expression over these variables.
    pub fn compile_any(text: &str, variables: &[&str]) -> Result<Self, ExpressionError> {
        Self::compile_typed(text, variables).map(|(expression, _)| expression)
    }

    /// Compiles an expression without looking at names and types: what is missing is found when it is evaluated.
    ///
    /// # Errors
    /// When the text is no expression.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        Self::checked(text, |_| Ok(Type::Dyn)).map(|(expression, _)| expression)
    }

    /// The same expression over numbers of that kind.
    #[must_use]
    pub fn over(self, numbers: Numbers) -> Self {
        Self { numbers, ..self }
    }

    fn compile_typed(text: &str, variables: &[&str]) -> Result<(Self, Type), ExpressionError> {
        Self::checked(text, |program| types::infer(program, text, variables))
    }

    fn checked(
        text: &str,
        infer: impl FnOnce(&Program) -> Result<Type, String> + Send,
    ) -> Result<(Self, Type), ExpressionError> {
        let parse = |reason: String| ExpressionError::Parse { expression: text.to_owned(), reason };
        bounds::check_text(text).map_err(parse)?;
        let compiled = bounds::on_deep_stack(|| {
            let environment = environment().map_err(|error| error.to_string())?;
            let program = environment.compile(text).map_err(|errors| types::syntax_errors(text, &errors))?;
            bounds::check_loops(program.expression())?;
            let got = infer(&program)?;
            Ok((interruptible(program.expression()), environment, got))
        });
        let (tree, environment, got) = compiled.and_then(|result| result).map_err(parse)?;
        let (tree, environment) = (Arc::new(tree), Arc::new(environment));
        Ok((Self { text: text.into(), tree, environment, numbers: Numbers::Doubles }, got))
    }

    /// Evaluates a condition.
    ///
    /// # Errors
    /// When the evaluation fails or yields no bool.
    pub fn is_true(
        &self,
        variables: &[(&str, &Json)],
        may_go_on: impl Fn() -> bool + Send + Sync,
    ) -> Result<bool, ExpressionError> {
        self.as_bool(self.evaluate(variables, None, may_go_on)?)
    }

    /// Evaluates to a text.
    ///
    /// # Errors
    /// When the evaluation fails or yields no string.
    pub fn to_text(
        &self,
        variables: &[(&str, &Json)],
        may_go_on: impl Fn() -> bool + Send + Sync,
    ) -> Result<String, ExpressionError> {
        match self.evaluate(variables, None, may_go_on)? {
            Value::String(text) => Ok(text.to_string()),
            _ => Err(self.is_no("string")),
        }
    }

    fn evaluate(
        &self,
        variables: &[(&str, &Json)],
        computed: Option<&Computed>,
        may_go_on: impl Fn() -> bool + Send + Sync,
    ) -> Result<Value, ExpressionError> {
        let limit = Limit::new(may_go_on);
        let evaluated = bounds::on_deep_stack(|| {
            let mut context = Context::with_env(self.environment.clone());
            context.set_variable_resolver(&limit);
            for (name, json) in variables {
                context.add_variable_from_value(*name, value::of_json(json, self.numbers)?);
            }
            if let Some((name, value)) = computed.map(Computed::variable) {
                context.add_variable_from_value(name, value);
            }
            let value = context.resolve(&self.tree);
            if limit.is_reached() {
                return Err("it was given up".to_owned());
            }
            value.map_err(|error| cel_go_error::text(&error, &self.text))
        });
        evaluated.and_then(|result| result).map_err(|reason| self.failed(reason))
    }

    fn as_bool(&self, value: Value) -> Result<bool, ExpressionError> {
        match value {
            Value::Bool(verdict) => Ok(verdict),
            _ => Err(self.is_no("boolean")),
        }
    }

    fn is_no(&self, expected: &'static str) -> ExpressionError {
        ExpressionError::Kind { expression: self.text.to_string(), expected }
    }

    fn failed(&self, reason: String) -> ExpressionError {
        ExpressionError::Evaluate { expression: self.text.to_string(), reason }
    }
}

fn environment() -> Result<Env, cel::DeclarationError> {
    let mut environment = Env::stdlib().with_optional_support(true);
    environment.add_extension(extensions::strings)?;
    environment.add_extension(extensions::encoders)?;
    environment.add_extension(functions::extension)?;
    environment.add_extension(go::extension)?;
    Ok(environment)
}

#[cfg(test)]
mod tests;
