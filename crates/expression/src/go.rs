//! Differences of cel-go from the evaluator: such parts of an expression are replaced by functions that no expression can
//! name, as `@` is no part of a name (DEP-CEL-2).

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};
use cel::common::types::{CelBool, CelDouble, CelOptional, CelString, CelTimestamp, DYN_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::functions::{Outcome, take};

/// `has(operand.field)`, which is false of what has no fields at all, as of null.
const HAS: &str = "@has";
/// The value of `string(value)`, in which doubles and timestamps are texts already.
const TEXT: &str = "@text";

/// Adds the functions.
pub(super) fn extension(environment: &mut Env) -> Result<(), DeclarationError> {
    environment.add_overload(HAS, "@has(dyn,string)", vec![DYN_TYPE, STRING_TYPE], has)?;
    environment.add_overload(TEXT, "@text(dyn)", vec![DYN_TYPE], text)
}

/// Replaces this part by its function, if there is one for it; its own parts are as they are.
pub(super) fn replace(part: &mut IdedExpr) {
    let id = part.id;
    match &mut part.expr {
        Expr::Select(select) if select.test => {
            let operand = std::mem::take(&mut *select.operand);
            let field = Expr::Literal(LiteralValue::String(std::mem::take(&mut select.field).into()));
            let args = vec![operand, IdedExpr { id, expr: field }];
            part.expr = Expr::Call(CallExpr { func_name: HAS.to_owned(), target: None, args });
        }
        Expr::Call(CallExpr { func_name, target: None, args }) if func_name == "string" => {
            if let [value] = args.as_mut_slice() {
                let args = vec![std::mem::take(value)];
                let expr = Expr::Call(CallExpr { func_name: TEXT.to_owned(), target: None, args });
                *value = IdedExpr { id, expr };
            }
        }
        _ => {}
    }
}

fn has<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Outcome<'b, 'v> {
    let [operand, field] = take(arguments)?;
    let operand = match operand.as_ref().downcast_ref::<CelOptional>() {
        Some(optional) => optional.option(),
        None => Some(operand.as_ref()),
    };
    let has = match operand.and_then(Val::as_indexer).map(|fields| fields.get(field.as_ref())) {
        Some(Ok(_)) => true,
        None | Some(Err(ExecutionError::NoSuchKey(_))) => false,
        Some(Err(error)) => return Err(error),
    };
    Ok(CowVal::owned(CelBool::from(has)))
}

fn text<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Outcome<'b, 'v> {
    let [value] = take(arguments)?;
    let text = if let Some(double) = value.as_ref().downcast_ref::<CelDouble>() {
        text_of_double(*double.inner())
    } else if let Some(timestamp) = value.as_ref().downcast_ref::<CelTimestamp>() {
        text_of_timestamp(timestamp)
    } else {
        return Ok(value);
    };
    Ok(CowVal::owned(CelString::from(text)))
}

/// The shortest text, with an exponent below 1e-4 and from 1e6 on.
fn text_of_double(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent @ 6..) => format!("{mantissa}e+{exponent:02}"),
        Ok(exponent @ ..-4) => format!("{mantissa}e-{:02}", exponent.abs()),
        _ => value.to_string(),
    }
}

/// RFC 3339 in the timestamp's own time zone, with no more digits than it has.
fn text_of_timestamp(timestamp: &CelTimestamp) -> String {
    let time = timestamp.inner();
    let fraction = format!(".{:09}", time.timestamp_subsec_nanos());
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    let zone =
        if time.offset().local_minus_utc() == 0 { "Z".to_owned() } else { time.format("%:z").to_string() };
    format!("{}{fraction}{zone}", time.format("%Y-%m-%dT%H:%M:%S"))
}
