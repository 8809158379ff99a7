//! Names and labels of new objects (cli.md 1.3).

use serde_json::{Map, Value};

use super::flag::Flags;
use crate::error::Error;

/// Bytes of a name.
const NAME: std::ops::RangeInclusive<usize> = 2..=63;

/// Longest name of a label, and longest value.
const MAX_LABEL: usize = 63;

/// Checks the name of a new object.
pub(super) fn name<'a>(flags: &Flags<'a>) -> Result<&'a str, Error> {
    let Some(name) = flags.text("name") else { return Err(Error::Flags("name is required".to_owned())) };
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_valid = NAME.contains(&name.len())
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-');
    if is_valid {
        return Ok(name);
    }
    Err(Error::Flags(format!(
        "name '{name}' is invalid, it should adhere to standard defined in RFC 1123, the name can only contain \
         alphanumeric characters or '-'"
    )))
}

/// Refuses a name that Kubernetes takes for no namespace and no account; `what` says whose it is.
pub(super) fn check_name(what: &str, name: &str) -> Result<(), Error> {
    if !name.is_empty() && is_label(name) {
        return Ok(());
    }
    let rule = "a name has letters, digits, '-', '_' and '.', and begins and ends with a letter or digit";
    Err(Error::Flags(format!("invalid {what} '{name}': [{rule}]")))
}

/// The labels of `--label`.
pub(super) fn labels(flags: &Flags<'_>) -> Result<Map<String, Value>, Error> {
    let mut labels = Map::new();
    for text in flags.list("label") {
        let Some((key, value)) = text.split_once('=').filter(|(_, value)| !value.contains('=')) else {
            return Err(Error::Flags(format!("invalid label format '{text}', must be key=value")));
        };
        let (prefix, name) = key.split_once('/').unwrap_or(("", key));
        let is_domain =
            |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || matches!(char, '-' | '.');
        if name.is_empty() || !is_label(name) || !prefix.chars().all(is_domain) {
            let rule = "a label has letters, digits, '-', '_' and '.', begins and ends with a letter or digit, and may \
                        have a domain and '/' before it";
            return Err(Error::Flags(format!("invalid label '{key}': [{rule}]")));
        }
        if !is_label(value) {
            let rule =
                "a value has letters, digits, '-', '_' and '.', and begins and ends with a letter or digit";
            return Err(Error::Flags(format!("invalid label value '{value}': [{rule}]")));
        }
        labels.insert(key.to_owned(), value.into());
    }
    Ok(labels)
}

fn is_label(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    text.len() <= MAX_LABEL
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
        && ends(bytes.first())
        && ends(bytes.last())
}
