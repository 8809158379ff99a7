//! Errors of an evaluation, as cel-go puts them (KS-CEL-5). They never hold a value, which may be that of a Secret: what the
//! expression itself names is all that is repeated.

use cel::{ExecutionError, Value};

const NO_OVERLOAD: &str = "no such overload";

/// Returns the message that Flux shows for the error, of the evaluation of `text`.
pub(super) fn text(error: &ExecutionError, text: &str) -> String {
    let fixed = match error {
        ExecutionError::NoSuchKey(key) => return repeated("no such key", key, text),
        ExecutionError::IndexOutOfBounds(Value::Int(index)) => {
            return repeated("index out of bounds", &index.to_string(), text);
        }
        ExecutionError::UndeclaredReference(name) => {
            let path = path_at(text, name);
            return path.map_or_else(
                || repeated(NO_OVERLOAD, name, text),
                |path| format!("no such attribute(s): {path}"),
            );
        }
        ExecutionError::FunctionError { function, message } => return of_function(function, message, text),
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds",
        ExecutionError::DivisionByZero(_) => "division by zero",
        ExecutionError::RemainderByZero(_) => "modulus by zero",
        ExecutionError::Overflow(_, Value::UInt(_), _) => "unsigned integer overflow",
        ExecutionError::Overflow(_, Value::Duration(_), _) => "duration overflow",
        ExecutionError::Overflow(_, Value::Timestamp(_), _) => "timestamp overflow",
        ExecutionError::Overflow(..) => "integer overflow",
        ExecutionError::DuplicateKey(_) => "insert failed: key already exists",
        ExecutionError::UnexpectedType { want, .. } if want == "iterable" => "expected iterable type",
        // The others are about the types of operands, and most of them hold the operands.
        _ => NO_OVERLOAD,
    };
    fixed.to_owned()
}

/// Functions tell in their messages what they were given.
fn of_function(function: &str, message: &str, text: &str) -> String {
    if let Some(index) = message.strip_prefix("index out of range: ") {
        return repeated("index out of range", index, text);
    }
    match (function, message) {
        (_, "integer overflow" | "unsigned integer overflow") => message.to_owned(),
        ("bool" | "double" | "int" | "uint", _) => {
            format!("type conversion error from 'string' to '{function}'")
        }
        ("duration", _) => "type conversion error from 'string' to 'google.protobuf.Duration'".to_owned(),
        ("timestamp", _) => "type conversion error from 'string' to 'google.protobuf.Timestamp'".to_owned(),
        ("value", _) => "optional.none() dereference".to_owned(),
        ("matches", _) => "error parsing regexp".to_owned(),
        ("format", _) => "error during formatting".to_owned(),
        ("base64.decode", _) => "illegal base64 data".to_owned(),
        _ => format!("{function} failed"),
    }
}

/// The words, with what they are about if the expression names it.
fn repeated(words: &str, about: &str, text: &str) -> String {
    if mentions(text, about).next().is_some() { format!("{words}: {about}") } else { words.to_owned() }
}

/// The selections that follow the first mention of `name` as a variable, with it; none if it is a function.
fn path_at(text: &str, name: &str) -> Option<String> {
    // Optional selections are shown as the others.
    let rest = mentions(text, name).find(|(before, _)| !before.ends_with('.'))?.1.replace(".?", ".");
    let end = rest.find(|character| !is_part(character) && character != '.').unwrap_or(rest.len());
    let (path, after) = rest.split_at(end);
    // A function is called on what is before its name.
    let path = if after.starts_with('(') { path.rsplit_once('.')?.0 } else { path };
    Some(path.to_owned())
}

/// The places where `name` stands as a word: the text before each, and the text from it on.
fn mentions<'a>(text: &'a str, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let places = text.match_indices(name).map(|(at, _)| text.split_at(at));
    places.filter(move |(before, rest)| {
        let after = rest.get(name.len()..).unwrap_or_default();
        !name.is_empty() && !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
