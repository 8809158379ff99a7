//! The choice of the engine (TP-2, TP-3).

use std::str::FromStr;

use crate::go::TemplateError;

/// The language of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Go's `text/template`, as in Flux.
    Go,
    /// Handlebars.
    Handlebars,
}

/// The name of an engine is neither `go` nor `handlebars`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 'go' or 'handlebars'")]
pub struct UnknownEngine;

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(text: &str) -> Result<Self, UnknownEngine> {
        match text {
            "go" => Ok(Self::Go),
            "handlebars" => Ok(Self::Handlebars),
            _ => Err(UnknownEngine),
        }
    }
}

/// Names that only Handlebars templates begin an action with: those of the data, and of blocks.
const HANDLEBARS_NAMES: [&str; 10] =
    ["automation", "files", "objects", "changes", "images", "values", "each", "unless", "lookup", "sha256"];

/// Returns true for a template that begins with a comment of Handlebars, which is an error in Go.
pub(super) fn says_handlebars(template: &str) -> bool {
    template.trim_start().starts_with("{{!")
}

/// Returns true for a template with something that only Handlebars has; all of it is an error in Go, so that no template of
/// Flux is taken for Handlebars.
pub(super) fn has_handlebars(template: &str) -> bool {
    let actions = template.split("{{").skip(1);
    template.contains("~}}") || actions.into_iter().any(is_handlebars)
}

/// Looks at the text behind two braces.
fn is_handlebars(action: &str) -> bool {
    let text = action.strip_prefix('~').unwrap_or(action).trim_start();
    let is_path = |name: &str| {
        text.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    action.starts_with('~')
        || text.starts_with(['#', '^', '>', '&', '!', '@', '{'])
        || text.starts_with("../")
        || text.starts_with('/') && !text.starts_with("/*")
        || is_path("this")
}

/// A way out for those who write Handlebars that Go's engine takes for a call of a function.
pub(super) fn hint(error: &TemplateError) -> &'static str {
    let TemplateError::Parse { message, .. } = error else { return "" };
    let name = message.strip_prefix("function \"").and_then(|rest| rest.strip_suffix("\" not defined"));
    match name.is_some_and(|name| HANDLEBARS_NAMES.contains(&name)) {
        true => " (a Handlebars template begins with `{{!}}`)",
        false => "",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::has_handlebars;

    #[rstest]
    #[case("{{#each changes}}{{/each}}", true)]
    #[case("a {{~ oldValue }}", true)]
    #[case("{{ oldValue ~}}", true)]
    #[case("{{{ values.x }}}", true)]
    #[case("{{& values.x }}", true)]
    #[case("{{ @index }}", true)]
    #[case("{{^}}", true)]
    #[case("{{> part }}", true)]
    #[case("{{! note }}", true)]
    #[case("{{this}} {{ this.x }}", true)]
    #[case("{{ ../x }}", true)]
    #[case("{{/each}}", true)]
    #[case("{{.}} {{else}} {{/* note */}} text", false)]
    #[case("{{ thisIs }} {{- .X -}} { { #", false)]
    #[case("{{ automation.name }}", false)]
    fn tokens_of_handlebars(#[case] template: &str, #[case] expected: bool) {
        assert_eq!(has_handlebars(template), expected);
    }
}
