//! `printf`.

use super::{check, entries, number, row, value as print_value};
use crate::go::value::Value;
use crate::limit::{MAX_OUTPUT, MAX_WIDTH};

/// Flags, width and precision of one verb.
#[derive(Debug, Default)]
struct Spec {
    is_left: bool,
    has_sign: bool,
    is_alternate: bool,
    is_zero_padded: bool,
    has_space: bool,
    width: usize,
    precision: Option<usize>,
}

/// Formats the arguments as Go's `Sprintf` does, its remarks on misuse (`%!d(string=x)`) included.
pub(in crate::go) fn format(text: &str, arguments: &[Value]) -> Result<String, String> {
    let mut out = String::new();
    let mut arguments = arguments.iter();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let (spec, after) = spec(after, &mut arguments)?;
        let Some(verb) = after.chars().next() else {
            out.push_str("%!(NOVERB)");
            rest = "";
            break;
        };
        rest = after.get(verb.len_utf8()..).unwrap_or_default();
        if verb == '%' {
            out.push('%');
        } else if let Some(argument) = arguments.next() {
            write(&mut out, verb, &spec, argument, 0)?;
        } else {
            out.push_str(&format!("%!{verb}(MISSING)"));
        }
        if out.len() > MAX_OUTPUT {
            return Err(format!("output is longer than {MAX_OUTPUT} bytes"));
        }
    }
    out.push_str(rest);
    let extra: Vec<String> = arguments
        .map(|value| Ok(format!("{}={}", value.type_name(), print_value(value)?)))
        .collect::<Result<_, String>>()?;
    if !extra.is_empty() {
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    Ok(out)
}

fn spec<'t>(text: &'t str, arguments: &mut std::slice::Iter<'_, Value>) -> Result<(Spec, &'t str), String> {
    let mut spec = Spec::default();
    let mut rest = text;
    while let Some(flag) = rest.chars().next() {
        match flag {
            '-' => spec.is_left = true,
            '+' => spec.has_sign = true,
            '#' => spec.is_alternate = true,
            '0' => spec.is_zero_padded = true,
            ' ' => spec.has_space = true,
            _ => break,
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    let (width, after) = count(rest, arguments)?;
    spec.width = width.unwrap_or_default();
    let Some(after_point) = after.strip_prefix('.') else { return Ok((spec, after)) };
    let (precision, after) = count(after_point, arguments)?;
    spec.precision = Some(precision.unwrap_or_default());
    Ok((spec, after))
}

/// Reads digits, or `*`, which takes an argument.
fn count<'t>(
    text: &'t str,
    arguments: &mut std::slice::Iter<'_, Value>,
) -> Result<(Option<usize>, &'t str), String> {
    let (number, rest) = if let Some(rest) = text.strip_prefix('*') {
        match arguments.next() {
            Some(Value::Int(value)) => (usize::try_from(*value).unwrap_or_default(), rest),
            _ => return Err("width or precision is no integer".to_owned()),
        }
    } else {
        let digits = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let Some((digits, rest)) = text.split_at_checked(digits).filter(|(digits, _)| !digits.is_empty())
        else {
            return Ok((None, text));
        };
        (digits.parse().unwrap_or(usize::MAX), rest)
    };
    if number > MAX_WIDTH {
        return Err(format!("width or precision is larger than {MAX_WIDTH}"));
    }
    Ok((Some(number), rest))
}

/// Writes a value as its verb asks for it. Of lists, maps and structs each part is written so, with a width of its own.
fn write(out: &mut String, verb: char, spec: &Spec, value: &Value, depth: usize) -> Result<(), String> {
    check(out, depth)?;
    let part = |out: &mut String, part: &Value| write(out, verb, spec, part, depth + 1);
    match (verb, value) {
        ('T', _) => {}
        (_, Value::List(list)) => return row(out, ('[', ']'), list.items.iter(), part),
        (_, Value::Map(map)) => return entries(out, map, part),
        (_, Value::Struct(value)) if value.printed.is_none() => {
            return row(out, ('{', '}'), value.fields.iter().map(|(_, field)| field), part);
        }
        (_, Value::Nil) if depth > 0 => {
            out.push_str("<nil>");
            return Ok(());
        }
        _ => {}
    }
    match verb_text(verb, spec, value)? {
        Some(piece) => pad(out, spec, &piece, value),
        None if matches!(value, Value::Nil) => out.push_str(&format!("%!{verb}(<nil>)")),
        None => {
            out.push_str(&format!("%!{verb}({}=", value.type_name()));
            write(out, 'v', spec, value, depth)?;
            out.push(')');
        }
    }
    Ok(())
}

/// The text of a single value, before it is filled up; none where the verb is not for such values.
fn verb_text(verb: char, spec: &Spec, value: &Value) -> Result<Option<String>, String> {
    Ok(Some(match (verb, value) {
        ('v', Value::Text(text)) if spec.is_alternate => quoted(text),
        ('v', Value::Text(text)) => cut(spec, text).to_owned(),
        ('v' | 'd' | 'x' | 'X' | 'o' | 'O' | 'b', Value::Int(number)) => integer(verb, spec, *number),
        ('v', value) => print_value(value)?,
        ('T', value) => value.type_name().to_owned(),
        ('t', Value::Bool(value)) => value.to_string(),
        ('c', Value::Int(number)) => character(*number).to_string(),
        ('q', Value::Int(number)) => format!("{:?}", character(*number)),
        ('U', Value::Int(number)) => format!("U+{number:04X}"),
        ('e' | 'E' | 'f' | 'F' | 'g' | 'G', Value::Float(number)) => floating(verb, spec, *number),
        ('x' | 'X', Value::Text(text)) => hexadecimal(spec, text, verb == 'X'),
        ('q', Value::Text(text)) if spec.is_alternate && can_backquote(text) => format!("`{text}`"),
        ('q', Value::Text(text)) => quoted(cut(spec, text)),
        ('s', Value::Text(text)) => cut(spec, text).to_owned(),
        ('s', Value::Struct(_)) => print_value(value)?,
        ('q', Value::Struct(_)) => quoted(&print_value(value)?),
        _ => return Ok(None),
    }))
}

/// A string's precision is the most characters of it.
fn cut<'t>(spec: &Spec, text: &'t str) -> &'t str {
    let end = spec.precision.and_then(|most| text.char_indices().nth(most));
    end.map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

fn quoted(text: &str) -> String {
    format!("{text:?}").replace("\\'", "'")
}

/// Go writes a text between backquotes where it may stand there as it is.
fn can_backquote(text: &str) -> bool {
    !text.contains(|part: char| part == '`' || part == '\u{feff}' || (part.is_control() && part != '\t'))
}

/// Without spaces between the bytes there is one prefix, in front of all.
fn hexadecimal(spec: &Spec, text: &str, is_upper: bool) -> String {
    let prefix = match (spec.is_alternate && !text.is_empty(), is_upper) {
        (false, _) => "",
        (true, true) => "0X",
        (true, false) => "0x",
    };
    let bytes = text.bytes().map(|byte| if is_upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
    let separator = if spec.has_space { format!(" {prefix}") } else { String::new() };
    prefix.to_owned() + &bytes.collect::<Vec<_>>().join(&separator)
}

fn character(number: i64) -> char {
    u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// An integer in the base of its verb: sign, prefix, and as many digits as precision or width ask for.
fn integer(verb: char, spec: &Spec, number: i64) -> String {
    let size = number.unsigned_abs();
    let (prefix, digits) = match verb {
        'x' => ("0x", format!("{size:x}")),
        'X' => ("0X", format!("{size:X}")),
        'o' => ("0", format!("{size:o}")),
        'O' => ("0o", format!("{size:o}")),
        'b' => ("0b", format!("{size:b}")),
        _ => ("", size.to_string()),
    };
    let sign = sign(verb, spec, number < 0);
    let fills = spec.is_zero_padded && !spec.is_left;
    let least = spec.precision.unwrap_or(if fills { spec.width.saturating_sub(sign.len()) } else { 0 });
    let digits = format!("{digits:0>least$}");
    let has_prefix = verb == 'O' || (spec.is_alternate && !(verb == 'o' && digits.starts_with('0')));
    format!("{sign}{}{digits}", if has_prefix { prefix } else { "" })
}

fn floating(verb: char, spec: &Spec, number: f64) -> String {
    if !number.is_finite() {
        return number::float(number);
    }
    let (sign, size) = (sign(verb, spec, number.is_sign_negative()), number.abs());
    let digits = match verb {
        'e' | 'E' => number::scientific(size, spec.precision.unwrap_or(6)),
        'f' | 'F' => format!("{size:.*}", spec.precision.unwrap_or(6)),
        _ => number::float(size),
    };
    sign.to_owned() + &if verb.is_ascii_uppercase() { digits.to_ascii_uppercase() } else { digits }
}

/// The sign of a number. The `+` of `%+v` asks for names of fields.
fn sign(verb: char, spec: &Spec, is_negative: bool) -> &'static str {
    if is_negative {
        "-"
    } else if spec.has_sign && verb != 'v' {
        "+"
    } else if spec.has_space {
        " "
    } else {
        ""
    }
}

/// Fills up to the width. Integers have got their zeros already.
fn pad(out: &mut String, spec: &Spec, piece: &str, argument: &Value) {
    let missing = spec.width.saturating_sub(piece.chars().count());
    if spec.is_left {
        out.push_str(piece);
        out.push_str(&" ".repeat(missing));
    } else if spec.is_zero_padded && !matches!(argument, Value::Int(_)) {
        let has_sign = matches!(argument, Value::Float(_)) && piece.starts_with(['-', '+', ' ']);
        let (sign, digits) = piece.split_at_checked(usize::from(has_sign)).unwrap_or(("", piece));
        out.push_str(sign);
        out.push_str(&"0".repeat(missing));
        out.push_str(digits);
    } else {
        out.push_str(&" ".repeat(missing));
        out.push_str(piece);
    }
}
