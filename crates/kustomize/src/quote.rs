//! Input that error messages quote. Input that may hold values of a Secret is left out: messages end up in conditions, events
//! and logs, which more people read than Secrets.

use std::fmt;

use weir_yaml::YamlError;

use crate::kustomization::Selector;

/// Stands in a message for a text that is not repeated.
pub(crate) const HIDDEN: &str = "<hidden: it may hold values of a Secret>";

/// A part of a Secret's value that a replacement has copied. It does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretPart(String);

impl SecretPart {
    pub(crate) fn new(part: &str) -> Self {
        Self(part.to_owned())
    }

    /// Returns the text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretPart")
    }
}

/// Returns a patch as messages show it.
pub(crate) fn patch<'t>(text: &'t str, target: Option<&Selector>) -> &'t str {
    if may_hold_values(text, target.map_or("", |target| &target.kind)) { HIDDEN } else { text }
}

/// Returns values that are given to a generator as messages show them.
pub(crate) fn literal<'t>(text: &'t str, kind: &str) -> &'t str {
    if kind == "Secret" { HIDDEN } else { text }
}

/// Returns what is wrong with the YAML of an object of a kind, as messages say it.
pub(crate) fn cause(cause: YamlError, kind: &str) -> YamlError {
    match cause {
        YamlError::Type { found, text, wanted } => {
            YamlError::Type { found, text: literal(&text, kind).to_owned(), wanted }
        }
        cause => cause,
    }
}

/// Text that cannot be parsed may patch any kind: it is taken for a patch of a Secret if it aims at no other kind and
/// mentions data.
fn may_hold_values(text: &str, kind: &str) -> bool {
    let is_other_kind = !kind.is_empty() && kind.chars().all(char::is_alphanumeric);
    kind.contains("Secret") || text.contains("Secret") || (!is_other_kind && names_data(text))
}

fn names_data(text: &str) -> bool {
    text.split(|character: char| !character.is_alphanumeric())
        .any(|word| word == "data" || word == "stringData")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("kind: Secret\nstringData: {pin: [}", "", true)]
    #[case(r#"[{"op": "add", "path": "/stringData/pin", "value": 1"#, "", true)]
    #[case(r#"[{"op": "add", "path": "/data/pin", "value": 1"#, ".*", true)]
    #[case(r#"[{"op": "add", "path": "/x", "value": 1"#, "Secret", true)]
    #[case(r#"[{"op": "add", "path": "/data/pin", "value": 1"#, "ConfigMap", false)]
    #[case("kind: Deployment\nmetadata: {name: a}\nspec: [", "", false)]
    fn patches_of_secrets_are_hidden(#[case] text: &str, #[case] kind: &str, #[case] is_hidden: bool) {
        let target = Selector { kind: kind.to_owned(), ..Selector::default() };
        assert_eq!(patch(text, Some(&target)) == HIDDEN, is_hidden);
    }
}
