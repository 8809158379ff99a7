use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction};

/// Words of Go's `strconv.ParseBool` for yes, the usual one first.
const ON: [&str; 6] = ["true", "1", "t", "T", "TRUE", "True"];
/// Words of Go's `strconv.ParseBool` for no, the usual one first.
const OFF: [&str; 6] = ["false", "0", "f", "F", "FALSE", "False"];

/// Flags that are on or off, written as in Go: `--flag` and `--flag=true` switch one on, `--flag=false` switches it off.
/// A field is made one by `#[arg(long, default_value_t = true, switch())]`, with this trait in scope.
pub trait Switch {
    /// Returns the flag as one that is on or off.
    #[must_use]
    fn switch(self) -> Self;

    /// Returns the flag as one that is on or off, and off unless it is given.
    #[must_use]
    fn switched_off(self) -> Self;
}

impl Switch for Arg {
    fn switch(self) -> Self {
        let flag = self.action(ArgAction::Set).value_name("BOOL").value_parser(parser());
        flag.num_args(0..=1).require_equals(true).default_missing_value("true")
    }

    fn switched_off(self) -> Self {
        self.switch().default_value("false").hide_default_value(true).hide_possible_values(true)
    }
}

/// Reads a word of Go's `strconv.ParseBool`.
#[must_use]
pub fn on_or_off(word: &str) -> Option<bool> {
    match word {
        word if ON.contains(&word) => Some(true),
        word if OFF.contains(&word) => Some(false),
        _ => None,
    }
}

/// Reads the same words; help texts show the usual ones only.
fn parser() -> ValueParser {
    let value = |[usual, others @ ..]: [&'static str; 6]| PossibleValue::new(usual).aliases(others);
    let words = PossibleValuesParser::new([ON, OFF].map(value));
    words.map(|word| on_or_off(&word).unwrap_or_default()).into()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Switch as _;

    #[derive(Parser)]
    struct Flags {
        #[arg(long, default_value_t = true, switch())]
        on: bool,
        #[arg(short = 'o', long, switched_off())]
        off: bool,
        #[arg(short = 'n', long, switch())]
        neither: Option<bool>,
    }

    #[rstest::rstest]
    #[case(&[], Some((true, false, None)))]
    #[case(&["--on", "--off", "--neither"], Some((true, true, Some(true))))]
    #[case(&["--on=false", "--off=true", "--neither=false"], Some((false, true, Some(false))))]
    #[case(&["--on=F", "--off=1", "--neither=False"], Some((false, true, Some(false))))]
    #[case(&["-o=T", "-n=0"], Some((true, true, Some(false))))]
    #[case(&["-on"], Some((true, true, Some(true))))]
    #[case(&["--off", "false"], None)]
    #[case(&["--off=perhaps"], None)]
    #[case(&["--off="], None)]
    fn a_switch_has_a_value_behind_an_equals_sign_only(
        #[case] flags: &[&str],
        #[case] expected: Option<(bool, bool, Option<bool>)>,
    ) {
        let parsed = Flags::try_parse_from(["weir"].iter().chain(flags)).ok();
        assert_eq!(parsed.map(|flags| (flags.on, flags.off, flags.neither)), expected);
    }
}
