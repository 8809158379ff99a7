//! Flags that take one of a few words, and refuse others in Flux's words (cli.md 1.3).

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, Error};

/// Providers of credentials of clouds.
pub(crate) const OCI_PROVIDER: Enumeration = Enumeration {
    thing: "source OCI provider",
    words: &["generic", "aws", "azure", "gcp"],
    form: Form::NotSupported("the OCI provider name"),
};

/// Levels of log lines.
pub(crate) const LOG_LEVEL: Enumeration =
    Enumeration { thing: "log level", words: &["debug", "info", "error"], form: Form::Unsupported };

/// Kinds of SSH keys.
pub(crate) const KEY_ALGORITHM: Enumeration = Enumeration {
    thing: "public key algorithm",
    words: &["rsa", "ecdsa", "ed25519"],
    form: Form::Unsupported,
};

/// Curves of ECDSA keys.
pub(crate) const CURVE: Enumeration =
    Enumeration { thing: "curve", words: &["p256", "p384", "p521"], form: Form::Unsupported };

/// The words that a flag takes. They are its value parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Enumeration {
    /// Name of the values in messages.
    pub(crate) thing: &'static str,
    pub(crate) words: &'static [&'static str],
    pub(crate) form: Form,
}

/// The form of the messages, of which Flux has four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// "… is not supported"; with the words for what to specify.
    NotSupported(&'static str),
    /// The same, with bars between the words that are known.
    NotSupportedByBars(&'static str),
    /// "unsupported …"
    Unsupported,
    /// "unsupported …", without the words; an empty value stands for this one.
    UnsupportedOr(&'static str),
}

impl Enumeration {
    /// Returns the reason for which a word is refused.
    fn refusal(&self, word: &str) -> String {
        let Self { thing, words, form } = self;
        let among = |bar: &str| format!("must be one of: {}", words.join(bar));
        let choices = among(", ");
        match (form, word.trim().is_empty()) {
            (Form::NotSupported(what) | Form::NotSupportedByBars(what), true) => {
                format!("no {thing} given, please specify {what}")
            }
            (Form::NotSupported(_), false) => format!("{thing} '{word}' is not supported, {choices}"),
            (Form::NotSupportedByBars(_), false) => {
                format!("{thing} '{word}' is not supported, {}", among("|"))
            }
            (Form::UnsupportedOr(_), _) => format!("unsupported {thing} '{word}'"),
            (Form::Unsupported, true) => format!("no {thing} given, {choices}"),
            (Form::Unsupported, false) => format!("unsupported {thing} '{word}', {choices}"),
        }
    }
}

impl TypedValueParser for Enumeration {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        if let Form::UnsupportedOr(word) = self.form
            && value.to_string_lossy().trim().is_empty()
        {
            return Ok(word.to_owned());
        }
        let parsed = PossibleValuesParser::new(self.words).parse_ref(command, arg, value);
        parsed.map_err(|mut refused| {
            let reason = self.refusal(&value.to_string_lossy());
            refused.insert(ContextKind::Custom, ContextValue::String(reason));
            refused
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().copied().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_word_may_stand_for_another() {
        let words = Enumeration { form: Form::UnsupportedOr("info"), ..LOG_LEVEL };
        let parsed = |word: &str| words.parse_ref(&Command::new("weir"), None, OsStr::new(word)).ok();
        assert_eq!(parsed("").as_deref(), Some("info"));
        assert_eq!(parsed("error").as_deref(), Some("error"));
        assert_eq!(parsed("loud"), None);
    }
}
