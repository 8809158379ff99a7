use std::ffi::{OsStr, OsString};

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use weir_runtime::args::on_or_off;

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
            return Err(if is_by_move(&refused) { before.unwrap_or(refused) } else { refused });
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
    #[case("delete --slient ks app", Some("unknown flag: --slient"))]
    #[case("create --url=x --nope=y source git app", Some("unknown flag: --url"))]
    fn flags_may_stand_before_the_words_of_a_kind(#[case] line: &str, #[case] expected: Option<&str>) {
        let words = std::iter::once("weir").chain(line.split(' ')).map(OsString::from).collect();
        let refused = read(words, |words| Cli::try_parse_from(words)).err();
        let text = refused.map(|refused| refusal::text(&refused).lines().next().unwrap().to_owned());
        assert_eq!(text.as_deref(), expected);
    }
}
