//! Texts about command lines that cannot be read: about flags as Flux writes them, with the parser's tips behind (CLI-G11).

use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error, Parser};
use weir_api::{Duration, ParseDurationError};

use crate::cli::Cli;
use crate::kind::Kind;

/// Returns the text about a command line that is wrong, without usage.
pub(crate) fn text(refused: &Error) -> String {
    let rendered = refused.render().to_string();
    let rendered = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    let rendered = rendered.split("\n\nUsage:").next().unwrap_or(rendered);
    let rendered = rendered.split("\n\nFor more information").next().unwrap_or(rendered).trim_end();
    let rendered = &in_words_of_flux(refused, rendered);
    match about_flag(refused) {
        None => match meant(refused) {
            // The parser's own tips are words of nearly the same letters.
            Some(meant) => rendered.lines().next().unwrap_or_default().to_owned() + &meant,
            None => {
                rendered.to_owned() + &behind_switch(refused).or_else(|| help(refused)).unwrap_or_default()
            }
        },
        Some(line) => {
            // The other tip is that flags may be values, which nobody means who has mistyped one.
            let tip = rendered.lines().find(|line| line.starts_with("  tip:") && line.contains("similar"));
            let tip = tip.filter(|_| is_near(refused) && !is_of_another_command(refused));
            let known = || help(refused).filter(|_| refused.kind() == ErrorKind::UnknownArgument);
            line + &tip.map(|tip| format!("\n\n{tip}")).or_else(known).unwrap_or_default()
        }
    }
}

/// Puts Flux's words in place of the first line, where it has some for words that are not flags.
fn in_words_of_flux(refused: &Error, rendered: &str) -> String {
    let behind = rendered.find('\n').and_then(|end| rendered.get(end..)).unwrap_or_default();
    match about_words(refused) {
        Some(line) => line + behind,
        None => rendered.to_owned(),
    }
}

/// Returns the words that Flux has for a command that is not there, and for an argument too many or too few.
fn about_words(refused: &Error) -> Option<String> {
    let word = match refused.kind() {
        ErrorKind::InvalidSubcommand => refused.get(ContextKind::InvalidSubcommand)?.to_string(),
        ErrorKind::UnknownArgument => refused.get(ContextKind::InvalidArg)?.to_string(),
        ErrorKind::MissingRequiredArgument => {
            let ContextValue::Strings(missing) = refused.get(ContextKind::InvalidArg)? else { return None };
            let [only] = missing.as_slice() else { return None };
            return only.starts_with('<').then(|| "accepts 1 arg(s), received 0".to_owned());
        }
        _ => return None,
    };
    let words = command(refused)?;
    let knows_no_words = refused.kind() == ErrorKind::InvalidSubcommand || !takes_arguments(&words);
    knows_no_words.then(|| format!("unknown command {word:?} for {:?}", words.join(" ")))
}

/// Returns true when a command takes arguments that are no flags.
fn takes_arguments(words: &[String]) -> bool {
    let mut all = Cli::command();
    all.build();
    let below = |command: Option<Command>, word: &String| command?.find_subcommand(word).cloned();
    let command = words.iter().skip(1).fold(Some(all), below);
    command.is_none_or(|command| command.get_positionals().next().is_some())
}

/// Says which command's help tells what may stand there.
fn help(refused: &Error) -> Option<String> {
    Some(format!("\n  try: {} --help", command(refused)?.join(" ")))
}

/// Says how a switch gets its value, where one stands behind it (`--prune false`). Flux drops it, and takes the switch to be on.
fn behind_switch(refused: &Error) -> Option<String> {
    let ContextValue::String(word) = refused.get(ContextKind::InvalidArg)? else { return None };
    let is_value = refused.kind() == ErrorKind::UnknownArgument && matches!(word.as_str(), "true" | "false");
    is_value.then(|| format!("\n  the value of a switch stands behind '=', as in --prune={word}"))
}

/// Returns the words of the command that has refused something.
fn command(refused: &Error) -> Option<Vec<String>> {
    let usage = refused.get(ContextKind::Usage)?.to_string();
    let words = usage.trim_start_matches("Usage:").split_whitespace();
    Some(words.take_while(|word| !word.starts_with(['<', '[', '-'])).map(str::to_owned).collect())
}

/// Says which words stand for a kind that was called by its name (`get gitrepositories`), or without its group (`reconcile git`).
fn meant(refused: &Error) -> Option<String> {
    let ErrorKind::InvalidSubcommand = refused.kind() else { return None };
    let Some(ContextValue::String(word)) = refused.get(ContextKind::InvalidSubcommand) else { return None };
    let (kind, command) = (Kind::find(word)?, command(refused)?);
    let verb = command.get(1)?;
    let path = if verb == "get" { kind.plural_path() } else { kind.path() };
    // Not each verb is there for each kind.
    let words = ["weir", verb].into_iter().chain(path.split(' ')).chain(["--help"]);
    let asked = Cli::try_parse_from(words).err()?;
    (asked.kind() == ErrorKind::DisplayHelp).then(|| format!("\n  did you mean '{verb} {path}'?"))
}

/// Returns true when the flag that a command does not know is one of another command. It is hardly mistyped then, and a flag with a similar
/// name may do something else: `--username` is the user of a token, `--user` one of the kubeconfig.
fn is_of_another_command(refused: &Error) -> bool {
    let Some(ContextValue::String(flag)) = refused.get(ContextKind::InvalidArg) else { return false };
    let mut all = Cli::command();
    // Without it, kinds and their flags are not there.
    all.build();
    flag.strip_prefix("--").is_some_and(|name| has_flag(&all, name))
}

/// Returns false when the tip is a flag much longer or shorter than the one that was typed. The parser also suggests a long flag that has
/// the letters of a short one somewhere.
fn is_near(refused: &Error) -> bool {
    match (refused.get(ContextKind::InvalidArg), refused.get(ContextKind::SuggestedArg)) {
        (Some(ContextValue::String(typed)), Some(ContextValue::String(tip))) => {
            let typed = typed.trim_start_matches('-').len();
            tip.trim_start_matches('-').len().abs_diff(typed) <= typed / 2
        }
        _ => true,
    }
}

/// Returns true when a command or one below it has a flag.
fn has_flag(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|flag| flag.get_long() == Some(name))
        || command.get_subcommands().any(|below| has_flag(below, name))
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
    let refusal =
        |reason: &str| Some(format!("invalid argument {value:?} for {:?} flag: {reason}", with_letter(flag)));
    match (refused.kind(), refused.get(ContextKind::ValidValue)) {
        (ErrorKind::UnknownArgument, _) if flag.starts_with("--") => Some(format!("unknown flag: {flag}")),
        (ErrorKind::UnknownArgument, _) => {
            let letter = flag.chars().nth(1)?;
            Some(format!("unknown shorthand flag: {:?} in {flag}", letter))
        }
        (ErrorKind::InvalidValue, _) if context(ContextKind::Custom).is_some() => {
            refusal(context(ContextKind::Custom)?)
        }
        (ErrorKind::TooManyValues, _) => refusal(&not_parsed("Bool", value)),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(known))) if *known == ["true", "false"] => {
            refusal(&not_parsed("Bool", value))
        }
        (ErrorKind::InvalidValue, _) if value.is_empty() => Some(format!("flag needs an argument: {flag}")),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(known))) => {
            refusal(&format!("must be one of: {}", known.join(", ")))
        }
        (ErrorKind::ValueValidation, _) => {
            let reason = refused.source()?;
            if reason.is::<ParseFloatError>() {
                return refusal(&not_parsed("Float", value));
            }
            if let Some(reason) = reason.downcast_ref::<ParseIntError>()
                && matches!(reason.kind(), IntErrorKind::Empty | IntErrorKind::InvalidDigit)
            {
                return refusal(&not_parsed("Int", value));
            }
            let is_negative = value.strip_prefix('-').is_some_and(|rest| rest.parse::<Duration>().is_ok());
            if is_negative && reason.is::<ParseDurationError>() {
                return refusal("a time may not be negative");
            }
            let library = if reason.is::<ParseDurationError>() { "time: " } else { "" };
            refusal(&format!("{library}{reason}"))
        }
        _ => None,
    }
}

/// Returns a flag with its letter in front (`-A, --all-namespaces`), if it has the same one in all commands.
fn with_letter(flag: &str) -> String {
    let mut all = Cli::command();
    all.build();
    let name = flag.trim_start_matches("--");
    let letters = letters(&all, name);
    match letters.first() {
        Some(&Some(letter)) if letters.iter().all(|other| *other == Some(letter)) => {
            format!("-{letter}, {flag}")
        }
        _ => flag.to_owned(),
    }
}

/// Returns the letters that a flag has in a command and those below it.
fn letters(command: &Command, name: &str) -> Vec<Option<char>> {
    let here = command.get_arguments().filter(|flag| flag.get_long() == Some(name));
    let below = command.get_subcommands().flat_map(|below| letters(below, name));
    here.map(|flag| flag.get_short()).chain(below).collect()
}

/// Returns the words of Go's library for a value that is none of a type.
fn not_parsed(type_: &str, value: &str) -> String {
    format!("strconv.Parse{type_}: parsing {value:?}: invalid syntax")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("get ks --nope", "unknown flag: --nope\n  try: weir get kustomizations --help")]
    #[case(
        "get ks --no-headr",
        "unknown flag: --no-headr\n\n  tip: a similar argument exists: '--no-header'"
    )]
    #[case("get ks --foo", "unknown flag: --foo\n  try: weir get kustomizations --help")]
    #[case("get ks --watchh", "unknown flag: --watchh\n\n  tip: a similar argument exists: '--watch'")]
    #[case("bootstrap gitlab --username me", "unknown flag: --username\n  try: weir bootstrap gitlab --help")]
    #[case(
        "bootstrap gitea --deploy-token-auth",
        "unknown flag: --deploy-token-auth\n  try: weir bootstrap gitea --help"
    )]
    #[case(
        "create secret tls a --cert-file b",
        "unknown flag: --cert-file\n  try: weir create secret tls --help"
    )]
    #[case("get ks -Z", "unknown shorthand flag: 'Z' in -Z\n  try: weir get kustomizations --help")]
    #[case(
        "get ks --timeout soon",
        "invalid argument \"soon\" for \"--timeout\" flag: time: invalid duration \"soon\""
    )]
    #[case(
        "get ks --timeout -1m",
        "invalid argument \"-1m\" for \"--timeout\" flag: a time may not be negative"
    )]
    #[case("logs --since -5s", "invalid argument \"-5s\" for \"--since\" flag: a time may not be negative")]
    #[case(
        "bootstrap git --interval -1",
        "invalid argument \"-1\" for \"--interval\" flag: time: invalid duration \"-1\""
    )]
    #[case(
        "create source git a --provider gitlab",
        "invalid argument \"gitlab\" for \"--provider\" flag: source Git provider 'gitlab' is not supported, \
         must be one of: generic|github|aws|azure\n\n  tip: a similar value exists: 'github'"
    )]
    #[case(
        "create source oci a --provider=",
        "invalid argument \"\" for \"--provider\" flag: no source OCI provider given, please specify the OCI provider name"
    )]
    #[case(
        "create source bucket a --provider x",
        "invalid argument \"x\" for \"--provider\" flag: source bucket provider 'x' is not supported, must be one of: \
         generic, aws, azure, gcp"
    )]
    #[case(
        "logs --level=",
        "invalid argument \"\" for \"--level\" flag: no log level given, must be one of: debug, info, error"
    )]
    #[case(
        "create hr a --crds x",
        "invalid argument \"x\" for \"--crds\" flag: unsupported upgrade CRDs policy 'x', must be one of: Skip, Create, \
         CreateReplace"
    )]
    #[case(
        "create source git a --ssh-rsa-bits 1025",
        "invalid argument \"1025\" for \"--ssh-rsa-bits\" flag: RSA key bit size must be a multiples of 8"
    )]
    #[case(
        "create source git a --interval -x",
        "invalid argument \"-x\" for \"--interval\" flag: time: invalid duration \"-x\""
    )]
    #[case(
        "create source git a --ignore-paths a\"b",
        "invalid argument \"a\\\"b\" for \"--ignore-paths\" flag: parse error on line 1, column 2: bare \" in \
         non-quoted-field"
    )]
    #[case(
        "get ks --verbose=perhaps",
        "invalid argument \"perhaps\" for \"--verbose\" flag: strconv.ParseBool: parsing \"perhaps\": invalid syntax"
    )]
    #[case(
        "logs --follow=",
        "invalid argument \"\" for \"-f, --follow\" flag: strconv.ParseBool: parsing \"\": invalid syntax"
    )]
    #[case(
        "get ks -A=perhaps",
        "invalid argument \"perhaps\" for \"-A, --all-namespaces\" flag: strconv.ParseBool: parsing \"perhaps\": invalid syntax"
    )]
    #[case(
        "logs --tail x",
        "invalid argument \"x\" for \"--tail\" flag: strconv.ParseInt: parsing \"x\": invalid syntax"
    )]
    #[case(
        "get ks --kube-api-qps x",
        "invalid argument \"x\" for \"--kube-api-qps\" flag: strconv.ParseFloat: parsing \"x\": invalid syntax"
    )]
    #[case("get ks --timeout", "flag needs an argument: --timeout")]
    #[case("nope", "unknown command \"nope\" for \"weir\"\n  try: weir --help")]
    #[case(
        "create ks a --prune false --source b",
        "unexpected argument 'false' found\n  the value of a switch stands behind '=', as in --prune=false"
    )]
    #[case("get ks a b", "unexpected argument 'b' found\n  try: weir get kustomizations --help")]
    #[case(
        "get gitrepositories",
        "unknown command \"gitrepositories\" for \"weir get\"\n  did you mean 'get sources git'?"
    )]
    #[case("get hc", "unknown command \"hc\" for \"weir get\"\n  did you mean 'get sources chart'?")]
    #[case(
        "reconcile git app",
        "unknown command \"git\" for \"weir reconcile\"\n  did you mean 'reconcile source git'?"
    )]
    #[case(
        "reconcile source Kustomization app",
        "unknown command \"Kustomization\" for \"weir reconcile source\"\n  did you mean 'reconcile kustomization'?"
    )]
    #[case(
        "create helmrepository app",
        "unknown command \"helmrepository\" for \"weir create\"\n  did you mean 'create source helm'?"
    )]
    #[case(
        "reconcile alert app",
        "unknown command \"alert\" for \"weir reconcile\"\n  try: weir reconcile --help"
    )]
    #[case(
        "get sources gti",
        "unknown command \"gti\" for \"weir get sources\"\n  try: weir get sources --help"
    )]
    #[case("install now", "unknown command \"now\" for \"weir install\"\n  try: weir install --help")]
    #[case("version now", "unknown command \"now\" for \"weir version\"\n  try: weir version --help")]
    #[case(
        "plugin install",
        "accepts 1 arg(s), received 0\n  <NAME[@VERSION]>\n  try: weir plugin install --help"
    )]
    #[case(
        "bootstrap gitlab --visibility hidden",
        "invalid argument \"hidden\" for \"--visibility\" flag: unsupported visibility 'hidden'"
    )]
    fn refusals_of_flags_are_those_of_flux(#[case] line: &str, #[case] expected: &str) {
        let line = ["weir"].into_iter().chain(line.split(' '));
        let refused = crate::cli::commands().try_get_matches_from(line).err().unwrap();
        assert_eq!(text(&refused), expected);
    }
}
