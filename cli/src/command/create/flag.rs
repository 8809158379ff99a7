//! The flags of `weir create`, one row each: name, form, and the field of the spec that takes the value.

use clap::{Arg, ArgAction, ArgMatches, Command};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use weir_api::Duration;
use weir_runtime::args::Switch;

use super::credentials::rsa_bits;
use crate::csv::Record;
use crate::enumeration::Enumeration;
use crate::error::Error;
use crate::output::manifest::put;
use crate::verb::is_on;

/// One flag.
#[derive(Debug)]
pub(crate) struct Flag {
    name: &'static str,
    short: Option<char>,
    form: Form,
    /// Field of the spec as a JSON pointer; empty when only the recipe's own code reads the flag.
    field: &'static str,
    help: &'static str,
    default: Option<&'static str>,
    is_hidden: bool,
}

/// The values that a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Secret,
    Switch,
    Duration,
    List,
    /// Lines of a `.gitignore`, written as one text.
    Lines,
    OneOf(Enumeration),
    /// Bits of an RSA key.
    Bits,
}

pub(crate) const fn text(name: &'static str, field: &'static str, help: &'static str) -> Flag {
    Flag { name, short: None, form: Form::Text, field, help, default: None, is_hidden: false }
}

pub(crate) const fn secret(name: &'static str, help: &'static str) -> Flag {
    Flag { form: Form::Secret, ..text(name, "", help) }
}

pub(crate) const fn switch(name: &'static str, field: &'static str, help: &'static str) -> Flag {
    Flag { form: Form::Switch, ..text(name, field, help) }
}

pub(crate) const fn duration(name: &'static str, field: &'static str, help: &'static str) -> Flag {
    Flag { form: Form::Duration, ..text(name, field, help) }
}

pub(crate) const fn list(name: &'static str, field: &'static str, help: &'static str) -> Flag {
    Flag { form: Form::List, ..text(name, field, help) }
}

pub(crate) const fn lines(name: &'static str, field: &'static str, help: &'static str) -> Flag {
    Flag { form: Form::Lines, ..text(name, field, help) }
}

pub(crate) const fn bits(name: &'static str, help: &'static str) -> Flag {
    Flag { form: Form::Bits, ..text(name, "", help) }
}

pub(crate) const fn one_of(
    name: &'static str,
    field: &'static str,
    words: Enumeration,
    help: &'static str,
) -> Flag {
    Flag { form: Form::OneOf(words), ..text(name, field, help) }
}

impl Flag {
    pub(crate) const fn or(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    pub(crate) const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    pub(crate) const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    fn arg(&self) -> Arg {
        let arg = Arg::new(self.name).long(self.name).help(self.help).hide(self.is_hidden);
        let arg = match self.short {
            Some(short) => arg.short(short),
            None => arg,
        };
        let arg = match self.form {
            // As in Go, the word behind the flag is its value, also if it begins with a dash.
            Form::Text => arg.value_name("TEXT").allow_hyphen_values(true),
            Form::Secret => {
                let arg = arg.value_name("TEXT").allow_hyphen_values(true);
                arg.value_parser(|text: &str| Ok::<_, String>(SecretString::from(text)))
            }
            Form::Switch => arg.switch(),
            Form::Duration => {
                let arg = arg.value_name("DURATION").value_parser(clap::value_parser!(Duration));
                arg.allow_hyphen_values(true)
            }
            Form::List | Form::Lines => {
                let arg = arg
                    .value_name("LIST")
                    .value_parser(clap::value_parser!(Record))
                    .action(ArgAction::Append);
                arg.allow_hyphen_values(true)
            }
            Form::OneOf(words) => {
                arg.value_name("WORD").ignore_case(true).value_parser(words).allow_hyphen_values(true)
            }
            Form::Bits => arg.value_name("NUMBER").value_parser(rsa_bits).allow_hyphen_values(true),
        };
        match self.default {
            Some(default) => arg.default_value(default),
            None => arg,
        }
    }

    /// Returns the value for the spec; nothing when the flag is not given, or is empty as good as not given.
    fn value(&self, flags: &Flags<'_>) -> Option<Value> {
        match self.form {
            Form::Text => flags.text(self.name).map(Value::from),
            Form::OneOf(Enumeration { words, .. }) => {
                let given = flags.text(self.name)?;
                words.iter().find(|value| value.eq_ignore_ascii_case(given)).map(|value| Value::from(*value))
            }
            Form::Secret | Form::Bits => None,
            Form::Switch => flags.is_on(self.name).then(|| Value::from(true)),
            Form::Duration => {
                let duration = flags.duration(self.name)?;
                // Without a default, a time of zero counts as none, as in Flux.
                let is_given = self.default.is_some() || !duration.is_zero();
                is_given.then(|| Value::from(duration.to_string()))
            }
            Form::List => Some(flags.list(self.name)).filter(|list| !list.is_empty()).map(Value::from),
            Form::Lines => {
                Some(flags.list(self.name)).filter(|list| !list.is_empty()).map(|list| list.join("\n").into())
            }
        }
    }
}

/// The flags of a command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags<'a>(pub(crate) &'a ArgMatches);

impl<'a> Flags<'a> {
    /// The text of a flag; an empty one counts as none.
    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        let given = self.0.try_get_one::<String>(name).ok().flatten();
        given.map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The text of a flag that has to be there; `missing` is the error without it.
    pub(crate) fn required(self, name: &str, missing: &str) -> Result<&'a str, Error> {
        self.text(name).ok_or_else(|| Error::Flags(missing.to_owned()))
    }

    /// Returns true when a flag is given without a text.
    pub(crate) fn is_empty(self, name: &str) -> bool {
        self.0.try_get_one::<String>(name).ok().flatten().is_some_and(String::is_empty)
    }

    /// The secret of a flag; an empty one counts as none.
    pub(crate) fn secret(self, name: &str) -> Option<&'a SecretString> {
        let given = self.0.try_get_one::<SecretString>(name).ok().flatten();
        given.filter(|secret| !secret.expose_secret().is_empty())
    }

    pub(crate) fn is_on(self, name: &str) -> bool {
        is_on(self.0, name)
    }

    pub(crate) fn duration(self, name: &str) -> Option<Duration> {
        self.0.try_get_one::<Duration>(name).ok().flatten().copied()
    }

    /// The bits of an RSA key.
    pub(crate) fn bits(self, name: &str) -> Option<usize> {
        self.0.try_get_one::<usize>(name).ok().flatten().copied()
    }

    /// The items of a list.
    pub(crate) fn list(self, name: &str) -> Vec<&'a str> {
        let given = self.0.try_get_many::<Record>(name).ok().flatten();
        let items = given.into_iter().flatten().flat_map(Record::iter);
        items.map(String::as_str).collect()
    }
}

/// Adds flags to a command.
pub(crate) fn augment(command: Command, flags: &[&'static [Flag]]) -> Command {
    flags.iter().copied().flatten().fold(command, |command, flag| command.arg(flag.arg()))
}

/// Writes the values of flags into a spec.
pub(crate) fn fill(spec: &mut Map<String, Value>, rows: &[&'static [Flag]], flags: &Flags<'_>) {
    for flag in rows.iter().copied().flatten().filter(|flag| !flag.field.is_empty()) {
        if let Some(value) = flag.value(flags) {
            put(spec, flag.field, value);
        }
    }
}
