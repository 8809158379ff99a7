//! Choices, types and failures.

use super::{Form, Function, at, boolean, failed, text};
use crate::go::value::Value;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "default" => Function::at_least(1, |a| {
            let given = at(a, 1);
            Ok(if is_empty(given) { at(a, 0).clone() } else { given.clone() })
        }),
        "empty" => Function::exactly(1, |a| Ok(Value::Bool(is_empty(at(a, 0))))),
        "coalesce" => Function::at_least(0, |a| {
            Ok(a.iter().find(|value| !is_empty(value)).cloned().unwrap_or(Value::Nil))
        }),
        "all" => Function::at_least(0, |a| Ok(Value::Bool(!a.iter().any(is_empty)))),
        "any" => Function::at_least(0, |a| Ok(Value::Bool(a.iter().any(|value| !is_empty(value))))),
        "ternary" => Function::exactly(3, |a| Ok(at(a, usize::from(!boolean(a, 2)?)).clone())),
        "fail" => Function::exactly(1, |a| failed(text(a, 0)?)),
        "kindOf" => Function::exactly(1, |a| Ok(Value::text(at(a, 0).kind_name()))),
        "kindIs" => Function::exactly(2, |a| Ok(Value::Bool(text(a, 0)? == at(a, 1).kind_name()))),
        "typeOf" => Function::exactly(1, |a| Ok(Value::text(type_name(at(a, 0))))),
        "typeIs" => Function::exactly(2, |a| Ok(Value::Bool(text(a, 0)? == type_name(at(a, 1))))),
        "typeIsLike" => Function::exactly(2, |a| {
            let (name, known) = (text(a, 0)?, type_name(at(a, 1)));
            Ok(Value::Bool(name == known || known.strip_prefix('*') == Some(name)))
        }),
        "hello" => Function::exactly(0, |_| Ok(Value::text("Hello!"))),
        "deepEqual" => Function::exactly(2, |a| Ok(Value::Bool(Form::of(at(a, 0))? == Form::of(at(a, 1))?))),
        _ => None,
    }
}

pub(super) fn is_empty(value: &Value) -> bool {
    !value.is_true()
}

/// `%T`.
fn type_name(value: &Value) -> &'static str {
    if matches!(value, Value::Nil) { "<nil>" } else { value.type_name() }
}
