//! Sprig's arithmetic of fractions: in decimals, so that 0.1 and 0.2 make 0.3.

use super::{CallError, Function, at, failed, math::real};
use crate::go::{print, value::Value};

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "addf" => Function::at_least(0, |a| computed(Some(0.0), a, ADD)),
        "add1f" => Function::exactly(1, |a| computed(Some(1.0), a, ADD)),
        "subf" => Function::at_least(1, |a| computed(None, a, SUBTRACT)),
        "mulf" => Function::at_least(1, |a| computed(None, a, MULTIPLY)),
        "divf" => Function::at_least(1, |a| computed(None, a, DIVIDE)),
        _ => None,
    }
}

/// One operation: in decimals, and in floats for numbers with too many digits.
#[derive(Clone, Copy)]
struct Operation {
    exact: fn(Decimal, Decimal) -> Option<Decimal>,
    rough: fn(f64, f64) -> f64,
    is_division: bool,
}

const ADD: Operation = Operation { exact: Decimal::plus, rough: |a, b| a + b, is_division: false };
const SUBTRACT: Operation = Operation {
    exact: |a, b| a.plus(Decimal { digits: b.digits.checked_neg()?, ..b }),
    rough: |a, b| a - b,
    is_division: false,
};
const MULTIPLY: Operation = Operation { exact: Decimal::times, rough: |a, b| a * b, is_division: false };
const DIVIDE: Operation = Operation { exact: Decimal::by, rough: |a, b| a / b, is_division: true };

/// Places behind the point of a quotient.
const QUOTIENT_PLACES: i32 = 16;

/// `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that reads as the float.
    fn of(value: f64) -> Option<Self> {
        let written = format!("{value:e}");
        let (mantissa, exponent) = written.split_once('e')?;
        let places = mantissa.split_once('.').map_or(0, |(_, places)| places.len());
        let exponent = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(places).ok()?)?;
        Some(Self { digits: mantissa.replace('.', "").parse().ok()?, exponent })
    }

    fn float(self) -> Option<f64> {
        format!("{}e{}", self.digits, self.exponent).parse().ok()
    }

    /// The digits at a smaller exponent.
    fn digits_at(self, exponent: i32) -> Option<i128> {
        let places = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        if self.digits == 0 { Some(0) } else { self.digits.checked_mul(10_i128.checked_pow(places)?) }
    }

    fn plus(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let digits = self.digits_at(exponent)?.checked_add(other.digits_at(exponent)?)?;
        Some(Self { digits, exponent })
    }

    fn times(self, other: Self) -> Option<Self> {
        let digits = self.digits.checked_mul(other.digits)?;
        Some(Self { digits, exponent: self.exponent.checked_add(other.exponent)? })
    }

    /// A quotient, rounded to [`QUOTIENT_PLACES`], halves away from zero.
    fn by(self, other: Self) -> Option<Self> {
        let dividend = Self { exponent: self.exponent.checked_add(QUOTIENT_PLACES)?, ..self };
        let exponent = dividend.exponent.min(other.exponent);
        let (dividend, divisor) = (dividend.digits_at(exponent)?, other.digits_at(exponent)?);
        let (whole, rest) = (dividend.checked_div(divisor)?, dividend.checked_rem(divisor)?);
        let goes_up = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
        let step = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
        let digits = if goes_up { whole.checked_add(step)? } else { whole };
        Some(Self { digits, exponent: -QUOTIENT_PLACES })
    }
}

/// Computes from the start value, or from the first argument, through the others.
fn computed(start: Option<f64>, arguments: &[Value], operation: Operation) -> Result<Value, CallError> {
    let (start, others) = match start {
        Some(start) => (start, arguments),
        None => (real(at(arguments, 0)), arguments.get(1..).unwrap_or_default()),
    };
    let numbers: Vec<f64> = others.iter().map(real).collect();
    if let Some(none) = [start].iter().chain(&numbers).find(|number| !number.is_finite()) {
        return failed(format!("Cannot create a Decimal from {}", print::float(*none)));
    }
    if operation.is_division && numbers.contains(&0.0) {
        return failed("decimal division by 0");
    }
    let exact = |sum: Decimal, number: &f64| (operation.exact)(sum, Decimal::of(*number)?);
    let result = Decimal::of(start).and_then(|start| numbers.iter().try_fold(start, exact)?.float());
    let rough = || numbers.iter().fold(start, |sum, number| (operation.rough)(sum, *number));
    Ok(Value::Float(result.unwrap_or_else(rough)))
}
