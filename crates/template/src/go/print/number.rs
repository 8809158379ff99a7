//! Floating-point numbers as Go prints them.

/// `%v` of a `float64`: the shortest text, with an exponent below 1e-4 and from 1e6 on.
pub(in crate::go) fn float(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN".into()
        } else if value > 0.0 {
            "+Inf".into()
        } else {
            "-Inf".into()
        };
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(power) if !(-4..6).contains(&power) => format!("{mantissa}e{}", go_exponent(power)),
        _ => format!("{value}"),
    }
}

/// `%e` with a precision.
pub(super) fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}e{}", go_exponent(exponent.parse().unwrap_or_default()))
}

/// Go writes a sign and two digits at least.
fn go_exponent(power: i32) -> String {
    format!("{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}
