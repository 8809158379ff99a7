//! The forms of flags that Flux takes, and the parser does not.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use weir_runtime::args::on_or_off;

/// Flags that may be given several times, before the words of a kind as well as behind them. The parser forgets those before.
const LISTS: [&str; 9] = [
    "--as-group",
    "--as-user-extra",
    "--components",
    "--components-extra",
    "--label",
    "--sparse-checkout",
    "--ssh-hostkey-algos",
    "--toleration-keys",
    "--with",
];

/// Puts all flags that are lists behind the words of the kind, in the order in which they are given.
pub(crate) fn with_lists_behind(mut words: Vec<OsString>) -> Vec<OsString> {
    // Everything behind `--` is a name.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let names = words.split_off(end);
    let (mut others, mut lists) = (Vec::with_capacity(words.len()), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let bytes = word.as_encoded_bytes();
        let flag = bytes.split(|byte| *byte == b'=').next().unwrap_or(bytes);
        if !LISTS.iter().any(|list| list.as_bytes() == flag) {
            others.push(word);
            continue;
        }
        let has_value = flag.len() < bytes.len();
        lists.push(word);
        lists.extend(if has_value { None } else { words.next() });
    }
    [others, lists, names].concat()
}

/// Lets values of the flags of a command begin with a dash: the word behind a flag is its value, whatever it is.
pub(crate) fn with_any_values(command: Command) -> Command {
    command.mut_args(with_any_value)
}

fn with_any_value(flag: Arg) -> Arg {
    let has_value =
        flag.get_action().takes_values() && !flag.is_positional() && !flag.is_require_equals_set();
    if has_value { flag.allow_hyphen_values(true) } else { flag }
}

/// Reads a command line. Two things are as in Flux. Flags that are on or off may have a value: `--export=true` is `--export`, and
/// `--export=false` is nothing. And flags of a command may stand before its last words, with their values:
/// `create --url=https://h.io/r source git podinfo`.
pub(crate) fn read<Read>(
    mut words: Vec<OsString>,
    mut parsed: impl FnMut(&[OsString]) -> Result<Read, Error>,
) -> Result<Read, Error> {
    let (mut moved, mut before) = (Vec::new(), None);
    loop {
        let refused = match parsed(&words) {
            Ok(read) => return Ok(read),
            Err(refused) => refused,
        };
        // Each turn has one value less, or one flag more that is not moved again, so that there are no more turns than words.
        if let Some(without) = without_value(&refused, &words) {
            words = without;
        } else if let Some(behind) = with_flag_behind(&refused, &words, &mut moved) {
            words = behind;
            before.get_or_insert(refused);
        } else {
            let is_by_move = is_by_move(&refused) || is_left_over(&refused, &words, parsed);
            return Err(if is_by_move { before.unwrap_or(refused) } else { refused });
        }
    }
}

/// Returns true when words may be refused only because a flag was moved: a person mends them as they were given.
fn is_by_move(refused: &Error) -> bool {
    use ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, InvalidSubcommand, MissingSubcommand};
    let is_about_words = matches!(
        refused.kind(),
        InvalidSubcommand | MissingSubcommand | DisplayHelpOnMissingArgumentOrSubcommand
    );
    is_about_words || unknown_flag(refused).is_some()
}

/// Returns true when a word is refused only because the flag before it was moved away as the value of an unknown one (`get ks a --nope
/// -n x`).
fn is_left_over<Read>(
    refused: &Error,
    words: &[OsString],
    mut parsed: impl FnMut(&[OsString]) -> Result<Read, Error>,
) -> bool {
    let ErrorKind::UnknownArgument = refused.kind() else { return false };
    let Some(ContextValue::String(word)) = refused.get(ContextKind::InvalidArg) else { return false };
    let Some(place) = words.iter().position(|other| other == word.as_str()) else { return false };
    let others = [words.get(..place), words.get(place + 1..)].map(Option::unwrap_or_default).concat();
    parsed(&others).is_err_and(|refused| unknown_flag(&refused).is_some())
}

fn unknown_flag(refused: &Error) -> Option<&String> {
    match (refused.kind(), refused.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => {
            Some(flag).filter(|flag| flag.starts_with('-'))
        }
        _ => None,
    }
}

/// Returns the words with the flag that was refused, and its value, behind all others. A flag that was moved before is not moved again.
fn with_flag_behind(refused: &Error, words: &[OsString], moved: &mut Vec<String>) -> Option<Vec<OsString>> {
    let flag = unknown_flag(refused).filter(|flag| !moved.contains(flag))?;
    moved.push(flag.clone());
    let given = format!("{flag}=");
    let is_given = |word: &OsString| word.as_encoded_bytes().starts_with(given.as_bytes());
    // Everything behind `--` is a name.
    let flags = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let place = words.get(..flags)?.iter().position(|word| word == flag.as_str() || is_given(word))?;
    let end = if is_given(words.get(place)?) { place + 1 } else { place + 2 };
    let [before, flag, between, names] =
        [0..place, place..end, end..flags, flags..words.len()].map(|range| words.get(range));
    Some([before?, between?, flag?, names?].concat())
}

/// Returns the words without the value that was refused, if that switches a flag on or off.
fn without_value(refused: &Error, words: &[OsString]) -> Option<Vec<OsString>> {
    let ErrorKind::TooManyValues = refused.kind() else { return None };
    let Some(ContextValue::String(flag)) = refused.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(value)) = refused.get(ContextKind::InvalidValue) else { return None };
    let on = on_or_off(value)?;
    let given = OsString::from(format!("{flag}={value}"));
    let place = words.iter().position(|word| *word == given)?;
    let (before, after) = (words.get(..place)?, words.get(place + 1..)?);
    // The last one holds.
    let mut words: Vec<_> = before.iter().filter(|word| *word != OsStr::new(flag)).cloned().collect();
    words.extend(on.then(|| flag.into()));
    words.extend_from_slice(after);
    Some(words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;
    use crate::cli::Cli;
    use crate::refusal;

    #[derive(Parser)]
    struct Flags {
        #[arg(short = 'A', long)]
        all_namespaces: bool,
        #[arg(long)]
        export: bool,
        #[arg(long)]
        label: Option<String>,
        names: Vec<String>,
    }

    #[rstest::rstest]
    #[case("create --label a=b source git app --label=c=d", "create source git app --label a=b --label=c=d")]
    #[case("create --label=a source git app", "create source git app --label=a")]
    #[case("bootstrap --components-extra x git -v y", "bootstrap git -v y --components-extra x")]
    #[case("create --labels x source git app -- --label y", "create --labels x source git app -- --label y")]
    #[case("create --label a source git -- app", "create source git --label a -- app")]
    #[case("create --label", "create --label")]
    fn lists_are_read_in_one_place(#[case] line: &str, #[case] expected: &str) {
        let words = with_lists_behind(line.split(' ').map(OsString::from).collect());
        assert_eq!(words, expected.split(' ').map(OsString::from).collect::<Vec<_>>());
    }

    /// Flags that hold for all subcommands, and may be given several times.
    fn lists(command: &Command) -> Vec<String> {
        let flags = command.get_arguments().filter(|flag| flag.is_global_set());
        let several = flags.filter(|flag| matches!(flag.get_action(), clap::ArgAction::Append));
        let names = several.filter_map(|flag| Some(format!("--{}", flag.get_long()?)));
        names.chain(command.get_subcommands().flat_map(lists)).collect()
    }

    #[test]
    fn all_lists_are_known() {
        let mut command = <Cli as clap::CommandFactory>::command();
        command.build();
        let found = BTreeSet::from_iter(lists(&command));
        assert_eq!(found, LISTS.map(str::to_owned).into());
    }

    #[rstest::rstest]
    #[case("get ks --status-selector -x", None)]
    #[case("build kustomization app --path -x", None)]
    #[case("get ks --context -x", None)]
    #[case("bootstrap git --path --branch --url x", None)]
    #[case("get ks --context", Some("flag needs an argument: --context"))]
    #[case("get ks -- -x", None)]
    #[case("get ks -x", Some("unknown shorthand flag: 'x' in -x"))]
    fn the_word_behind_a_flag_is_its_value(#[case] line: &str, #[case] expected: Option<&str>) {
        let refused =
            crate::cli::commands().try_get_matches_from(["weir"].into_iter().chain(line.split(' '))).err();
        let text = refused.map(|refused| refusal::text(&refused).lines().next().unwrap().to_owned());
        assert_eq!(text.as_deref(), expected);
    }

    #[rstest::rstest]
    #[case("-A --export", Some((true, true, 0)))]
    #[case("--all-namespaces=true --export=1 apps", Some((true, true, 1)))]
    #[case("--all-namespaces=false --export=F apps", Some((false, false, 1)))]
    #[case("-A --export=true", Some((true, true, 0)))]
    #[case("--label=a=true --export=True", Some((false, true, 0)))]
    #[case("--export --export=false", Some((false, false, 0)))]
    #[case("--export=perhaps", None)]
    #[case("--export=", None)]
    #[case("--wrong=true", None)]
    // Everything behind `--` is a name.
    #[case("-- --export=true", Some((false, false, 1)))]
    fn flags_may_be_switched_on_and_off(#[case] line: &str, #[case] expected: Option<(bool, bool, usize)>) {
        let words = std::iter::once("weir").chain(line.split(' ')).map(OsString::from).collect();
        let flags: Option<Flags> = read(words, |words| Flags::try_parse_from(words)).ok();
        let read = flags.map(|flags| {
            assert!(flags.label.is_none_or(|label| label == "a=true"));
            (flags.all_namespaces, flags.export, flags.names.len())
        });
        assert_eq!(read, expected);
    }

    #[rstest::rstest]
    #[case("create --url=https://h.io/r --branch main source git app --export", None)]
    #[case("create source --url https://h.io/r git app --branch=main", None)]
    #[case("create -u me source git app", None)]
    #[case("get --show-source=true ks", None)]
    #[case("create --url=https://h.io/r source git app -- more", Some("unexpected argument 'more' found"))]
    #[case(
        "create --url=x source git app --interval soon",
        Some("invalid argument \"soon\" for \"--interval\" flag: time: invalid duration \"soon\"")
    )]
    #[case("get --nope ks", Some("unknown flag: --nope"))]
    #[case("get ks --nope app", Some("unknown flag: --nope"))]
    #[case("get ks app --nope -n x", Some("unknown flag: --nope"))]
    #[case("create ks app --nope x y", Some("unknown flag: --nope"))]
    #[case("create --url=x source git app more", Some("unexpected argument 'more' found"))]
    #[case("delete --slient ks app", Some("unknown flag: --slient"))]
    #[case("create --url=x --nope=y source git app", Some("unknown flag: --url"))]
    fn flags_may_stand_before_the_words_of_a_kind(#[case] line: &str, #[case] expected: Option<&str>) {
        let words = std::iter::once("weir").chain(line.split(' ')).map(OsString::from).collect();
        let refused = read(words, |words| Cli::try_parse_from(words)).err();
        let text = refused.map(|refused| refusal::text(&refused).lines().next().unwrap().to_owned());
        assert_eq!(text.as_deref(), expected);
    }
}
