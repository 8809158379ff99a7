//! Names and labels of new objects (cli.md 1.3).

use serde_json::{Map, Value};
use weir_label::CURRENT;

use super::flag::Flags;
use crate::error::Error;

/// Bytes of a name.
const NAME: std::ops::RangeInclusive<usize> = 2..=63;

/// Checks the name of a new object.
pub(super) fn name<'a>(flags: &Flags<'a>) -> Result<&'a str, Error> {
    let Ok(Some(name)) = flags.0.try_get_one::<String>("name") else {
        return Err(Error::Flags("name is required".to_owned()));
    };
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
         alphanumeric characters or '-'\n  {} to {} of a to z, 0 to 9 and '-', which is not at an end",
        NAME.start(),
        NAME.end()
    )))
}

/// Refuses a name that Kubernetes takes for no namespace and no account; `what` says whose it is.
pub(super) fn check_name(what: &str, name: &str) -> Result<(), Error> {
    refuse(&format!("{what} '{name}'"), &CURRENT.faults_of_key(name))
}

fn refuse(what: &str, faults: &[String]) -> Result<(), Error> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(Error::Flags(format!("invalid {what}: [{}]", faults.join(" "))))
}

/// The labels of `--label`.
pub(super) fn labels(flags: &Flags<'_>) -> Result<Map<String, Value>, Error> {
    let mut labels = Map::new();
    for text in flags.list("label") {
        let Some((key, value)) = text.split_once('=').filter(|(_, value)| !value.contains('=')) else {
            return Err(Error::Flags(format!("invalid label format '{text}', must be key=value")));
        };
        refuse(&format!("label '{key}'"), &CURRENT.faults_of_key(key))?;
        refuse(&format!("label value '{value}'"), &CURRENT.faults_of_value(value))?;
        labels.insert(key.to_owned(), value.into());
    }
    Ok(labels)
}
