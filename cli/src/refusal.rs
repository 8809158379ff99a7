//! Texts about command lines that cannot be read: about flags as Flux writes them, with the parser's tips behind (CLI-G11).

use std::error::Error as _;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns the text about a command line that is wrong, without usage.
pub(crate) fn text(refused: &Error) -> String {
    let rendered = refused.render().to_string();
    let rendered = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    let rendered = rendered.split("\n\nUsage:").next().unwrap_or(rendered);
    let rendered = rendered.split("\n\nFor more information").next().unwrap_or(rendered).trim_end();
    match about_flag(refused) {
        None => rendered.to_owned(),
        Some(line) => {
            // The other tip is that flags may be values, which nobody means who has mistyped one.
            let tip = rendered.lines().find(|line| line.starts_with("  tip:") && line.contains("similar"));
            line + &tip.map(|tip| format!("\n\n{tip}")).unwrap_or_default()
        }
    }
}

/// Returns the words that Flux has for a flag that is not there, or has a value that it does not take.
fn about_flag(refused: &Error) -> Option<String> {
    let context = |kind| match refused.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg)?;
    let flag = argument.split([' ', '[', '=']).next().filter(|flag| flag.starts_with('-'))?;
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let refusal = |reason: &str| Some(format!("invalid argument {value:?} for {flag:?} flag: {reason}"));
    match (refused.kind(), refused.get(ContextKind::ValidValue)) {
        (ErrorKind::UnknownArgument, _) if flag.starts_with("--") => Some(format!("unknown flag: {flag}")),
        (ErrorKind::UnknownArgument, _) => {
            let letter = flag.chars().nth(1)?;
            Some(format!("unknown shorthand flag: {:?} in {flag}", letter))
        }
        (ErrorKind::InvalidValue, _) if value.is_empty() => Some(format!("flag needs an argument: {flag}")),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(known))) => {
            refusal(&format!("must be one of: {}", known.join(", ")))
        }
        (ErrorKind::ValueValidation, _) => refusal(&refused.source()?.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[rstest::rstest]
    #[case("get ks --nope", "unknown flag: --nope")]
    #[case(
        "get ks --no-headr",
        "unknown flag: --no-headr\n\n  tip: a similar argument exists: '--no-header'"
    )]
    #[case("get ks -Z", "unknown shorthand flag: 'Z' in -Z")]
    #[case(
        "get ks --timeout soon",
        "invalid argument \"soon\" for \"--timeout\" flag: invalid duration \"soon\""
    )]
    #[case(
        "create source git a --provider gitlab",
        "invalid argument \"gitlab\" for \"--provider\" flag: must be one of: generic, github, aws, azure\n\n  \
         tip: a similar value exists: 'github'"
    )]
    #[case("get ks --timeout", "flag needs an argument: --timeout")]
    #[case("nope", "unrecognized subcommand 'nope'")]
    fn refusals_of_flags_are_those_of_flux(#[case] line: &str, #[case] expected: &str) {
        let refused = Cli::try_parse_from(["weir"].into_iter().chain(line.split(' '))).err().unwrap();
        assert_eq!(text(&refused), expected);
    }
}
