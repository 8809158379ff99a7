//! Helpers: those of the library, and TP-12's. As in Go templates, the value that a helper works on comes last (TP-9).

use std::sync::atomic::{AtomicUsize, Ordering};

use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, JsonTruthy, Output, RenderContext, RenderError,
    RenderErrorReason, ScopedJson, no_escape,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::limit::{Elapsed, MAX_STEPS, MAX_TIME};
use crate::text::{check_length, truncate};

/// The helper that each block calls with the number of its elements.
pub(super) const STEPS: &str = "count-steps";

/// Makes a registry for one run.
pub(super) fn registry<'t>(elapsed: &'t Elapsed<'t>) -> Handlebars<'t> {
    let mut registry = Handlebars::new();
    registry.register_escape_fn(no_escape);
    registry.set_strict_mode(true);
    // It would write to the log of the service.
    registry.unregister_helper("log");
    registry.register_helper(STEPS, Box::new(Steps { taken: AtomicUsize::new(0), elapsed }));
    for function in FUNCTIONS {
        registry.register_helper(function.name, Box::new(function));
    }
    registry
}

/// A function of values.
#[derive(Clone, Copy)]
struct Function {
    name: &'static str,
    parameters: usize,
    call: fn(&[&Value]) -> Result<Value, String>,
}

const FUNCTIONS: [Function; 8] = [
    Function { name: "lower", parameters: 1, call: |values| bounded(text(values, 0)?.to_lowercase()) },
    Function { name: "upper", parameters: 1, call: |values| bounded(text(values, 0)?.to_uppercase()) },
    Function { name: "trunc", parameters: 2, call: trunc },
    Function {
        name: "contains",
        parameters: 2,
        call: |values| Ok(text(values, 1)?.contains(text(values, 0)?).into()),
    },
    Function { name: "replace", parameters: 3, call: replace },
    Function { name: "join", parameters: 2, call: join },
    Function {
        name: "sha256",
        parameters: 1,
        call: |values| Ok(hex::encode(Sha256::digest(text(values, 0)?)).into()),
    },
    Function { name: DEFAULT, parameters: 2, call: default },
];

/// The function that takes a variable that is not there.
const DEFAULT: &str = "default";

impl HelperDef for Function {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let given = helper.params();
        if given.len() != self.parameters {
            return Err(failed(format!(
                "{} takes {} values, not {}",
                self.name,
                self.parameters,
                given.len()
            )));
        }
        if let Some(missing) = given.iter().find(|value| value.is_value_missing() && self.name != DEFAULT) {
            return Err(RenderError::strict_error(missing.relative_path()));
        }
        let values: Vec<&Value> = given.iter().map(|value| value.value()).collect();
        let called = (self.call)(&values).map_err(|message| failed(format!("{}: {message}", self.name)))?;
        Ok(ScopedJson::Derived(called))
    }
}

/// Counts the steps of one run (TP-5).
struct Steps<'t> {
    taken: AtomicUsize,
    elapsed: &'t Elapsed<'t>,
}

impl HelperDef for Steps<'_> {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        _: &mut dyn Output,
    ) -> HelperResult {
        let steps = helper.param(0).and_then(|steps| steps.value().as_u64()).unwrap_or(1);
        let steps = usize::try_from(steps).unwrap_or(MAX_STEPS);
        let before = self.taken.fetch_add(steps, Ordering::Relaxed);
        if before.saturating_add(steps) > MAX_STEPS {
            return Err(failed(format!("the template takes more than {MAX_STEPS} steps")));
        }
        if (self.elapsed)() > MAX_TIME {
            return Err(failed(format!("the template takes more than {} seconds", MAX_TIME.as_secs())));
        }
        Ok(())
    }
}

fn failed(message: String) -> RenderError {
    RenderErrorReason::Other(message).into()
}

fn text<'v>(values: &[&'v Value], index: usize) -> Result<&'v str, String> {
    let value = values.get(index).and_then(|value| value.as_str());
    value.ok_or_else(|| format!("value {} is no text", index + 1))
}

fn bounded(text: String) -> Result<Value, String> {
    check_length(text.len())?;
    Ok(text.into())
}

/// `trunc 7 text`: the first bytes, or the last ones where the number is negative.
fn trunc(values: &[&Value]) -> Result<Value, String> {
    let count = values.first().and_then(|count| count.as_i64()).ok_or("value 1 is no whole number")?;
    Ok(truncate(count, text(values, 1)?).into())
}

/// `replace "old" "new" text`
fn replace(values: &[&Value]) -> Result<Value, String> {
    let (old, new, text) = (text(values, 0)?, text(values, 1)?, text(values, 2)?);
    crate::text::replace(text, old, new).map(Value::from)
}

/// `join ", " list`
fn join(values: &[&Value]) -> Result<Value, String> {
    let list = values.get(1).and_then(|list| list.as_array()).ok_or("value 2 is no list")?;
    let texts = list.iter().map(|item| item.as_str().ok_or("value 2 has items that are no texts"));
    let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
    let separator = text(values, 0)?;
    check_length(texts.iter().map(|text| text.len().saturating_add(separator.len())).sum())?;
    bounded(texts.join(separator))
}

/// `default "none" values.x`: the first value where the second is not there or empty.
fn default(values: &[&Value]) -> Result<Value, String> {
    let is_there = |value: &&&Value| value.is_truthy(false);
    let found = values.iter().rev().find(is_there).or(values.first());
    Ok(found.map_or(Value::Null, |found| (*found).clone()))
}
