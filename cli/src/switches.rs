use std::ffi::{OsStr, OsString};

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use weir_runtime::args::on_or_off;

/// Reads a command line. Flags that are on or off may have a value, as in Flux: `--export=true` is `--export`, and
/// `--export=false` is nothing.
pub(crate) fn read<Read>(
    mut words: Vec<OsString>,
    mut parsed: impl FnMut(&[OsString]) -> Result<Read, Error>,
) -> Result<Read, Error> {
    loop {
        let refused = match parsed(&words) {
            Ok(read) => return Ok(read),
            Err(refused) => refused,
        };
        // Each turn has one value less, so that there are no more turns than words.
        words = without_value(&refused, &words).ok_or(refused)?;
    }
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
}
