use clap::{Arg, ArgAction};

/// Flags that are on or off, written as in Go: `--flag` and `--flag=true` switch one on, `--flag=false` switches it off.
/// A field is made one by `#[arg(long, default_value_t = false, switch())]`, with this trait in scope.
pub trait Switch {
    /// Returns the flag as one that is on or off.
    #[must_use]
    fn switch(self) -> Self;
}

impl Switch for Arg {
    fn switch(self) -> Self {
        let flag = self.action(ArgAction::Set).value_name("BOOL");
        flag.num_args(0..=1).require_equals(true).default_missing_value("true")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Switch as _;

    #[derive(Parser)]
    struct Flags {
        #[arg(long, default_value_t = true, switch())]
        on: bool,
        #[arg(long, default_value_t = false, switch())]
        off: bool,
        #[arg(long, switch())]
        neither: Option<bool>,
    }

    #[rstest::rstest]
    #[case(&[], Some((true, false, None)))]
    #[case(&["--on", "--off", "--neither"], Some((true, true, Some(true))))]
    #[case(&["--on=false", "--off=true", "--neither=false"], Some((false, true, Some(false))))]
    #[case(&["--off", "false"], None)]
    #[case(&["--off=perhaps"], None)]
    fn a_switch_has_a_value_behind_an_equals_sign_only(
        #[case] flags: &[&str],
        #[case] expected: Option<(bool, bool, Option<bool>)>,
    ) {
        let parsed = Flags::try_parse_from(["weir"].iter().chain(flags)).ok();
        assert_eq!(parsed.map(|flags| (flags.on, flags.off, flags.neither)), expected);
    }
}
