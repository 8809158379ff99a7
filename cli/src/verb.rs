//! Verbs over kinds: `weir <verb> <words of a kind> …`, built from the table of kinds.

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::examples;
use crate::flag_forms;
use crate::kind::{Group, KINDS, Kind};

/// The target of a verb.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// Objects of one kind.
    Kind(&'static Kind),
    /// Objects of all kinds of a group.
    Group(Group),
    /// Objects of all kinds.
    All,
}

impl Target {
    /// The word for one of its objects in examples.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.name,
            Self::Group(group) => group.words().0,
            Self::All => "object",
        }
    }

    /// The kinds that it is about.
    pub(crate) fn kinds(self) -> Vec<&'static Kind> {
        let wanted = |kind: &&'static Kind| match self {
            Self::Kind(wanted) => std::ptr::eq(wanted, *kind),
            Self::Group(group) => kind.words.group == Some(group),
            Self::All => kind.words.group.is_none_or(Group::has_all),
        };
        KINDS.iter().filter(wanted).collect()
    }
}

/// Returns true when a command has a switch, and it is on.
pub(crate) fn is_on(matches: &ArgMatches, switch: &str) -> bool {
    matches.try_get_one::<bool>(switch).ok().flatten().copied().unwrap_or_default()
}

/// A verb with its arguments.
pub(crate) trait Verb: Sized {
    /// Its word.
    const WORD: &'static str;
    /// True when it goes with the plural of kinds, and with `all`.
    const PLURAL: bool = false;
    /// Examples of the verb, as lines below `Examples:`.
    const EXAMPLES: &'static str;

    /// Returns true when the verb can be applied to a kind.
    fn applies_to(_kind: &Kind) -> bool {
        true
    }
    /// The first line of the help text for a target.
    fn about(target: Target) -> String;
    /// Examples for a target, as lines below `Examples:`.
    fn examples(target: Target, command: &str) -> String;
    /// Adds the flags that all targets of the verb take, or, of a group, all of that group: they may stand before the words of
    /// the kind, too.
    fn common_flags(_group: Option<Group>, command: Command) -> Command {
        command
    }
    /// Adds the arguments for a target, less the common flags.
    fn arguments(target: Target, command: Command) -> Command;
    /// Reads the arguments and flags for a target.
    fn read(target: Target, matches: &ArgMatches) -> Result<Self, Error>;
}

/// The command line of a verb: a tree of kinds. Each leaf takes the verb's flags.
pub(crate) struct OnKinds<V>(pub(crate) V);

impl<V: Verb> Args for OnKinds<V> {
    fn augment_args(command: Command) -> Command {
        let command = examples::with(common_flags::<V>(None, command), V::EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true);
        // Only the tree of the verb that is used is built: all of them take longer than many a command.
        command.defer(Self::with_kinds)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<V: Verb> OnKinds<V> {
    /// Adds the words of all kinds that the verb can be applied to.
    pub(crate) fn with_kinds(mut command: Command) -> Command {
        if V::PLURAL {
            command = command.subcommand(leaf::<V>(Target::All, "all", "all"));
        }
        for group in Group::ALL {
            if kinds::<V>(Some(group)).next().is_some() {
                command = command.subcommand(branch::<V>(group));
            }
        }
        for kind in kinds::<V>(None) {
            command = command.subcommand(leaf_of_kind::<V>(kind, ""));
        }
        command
    }
}

impl<V: Verb> FromArgMatches for OnKinds<V> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let missing = || Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (word, matches) = matches.subcommand().ok_or_else(missing)?;
        let Some(group) = Group::ALL.into_iter().find(|group| word_of::<V>(*group) == word) else {
            let target = match word {
                "all" => Target::All,
                word => Target::Kind(find::<V>(None, word).ok_or_else(missing)?),
            };
            return V::read(target, matches).map(Self);
        };
        let (word, matches) = matches.subcommand().ok_or_else(missing)?;
        let target = match word {
            "all" => Target::Group(group),
            word => Target::Kind(find::<V>(Some(group), word).ok_or_else(missing)?),
        };
        V::read(target, matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The kinds of a group that the verb can be applied to.
fn kinds<V: Verb>(group: Option<Group>) -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(move |kind| kind.words.group == group && V::applies_to(kind))
}

fn word_of<V: Verb>(group: Group) -> &'static str {
    let (one, many) = group.words();
    if V::PLURAL { many } else { one }
}

fn words_of_kind<V: Verb>(kind: &Kind) -> (&'static str, &'static str) {
    let (one, many) = (kind.words.one, kind.words.many);
    if V::PLURAL { (many, one) } else { (one, many) }
}

fn find<V: Verb>(group: Option<Group>, word: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.words.group == group && words_of_kind::<V>(kind).0 == word)
}

/// Place of the first common flag in help texts: behind the flags of each kind, and before `--help`.
const COMMON: usize = 500;

/// Adds common flags, which hold for all subcommands.
fn common_flags<V: Verb>(group: Option<Group>, command: Command) -> Command {
    let mut places = COMMON..;
    let hold_for_all = |flag: Arg| flag.global(true).display_order(places.next());
    V::common_flags(group, command).mut_args(hold_for_all)
}

fn branch<V: Verb>(group: Group) -> Command {
    let (one, many) = group.words();
    let word = word_of::<V>(group);
    let other = if V::PLURAL { one } else { many };
    let mut command = common_flags::<V>(Some(group), Command::new(word))
        .alias(other)
        .about(V::about(Target::Group(group)))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true);
    if V::PLURAL && group.has_all() {
        command = command.subcommand(leaf::<V>(Target::Group(group), "all", &format!("{word} all")));
    }
    for kind in kinds::<V>(Some(group)) {
        command = command.subcommand(leaf_of_kind::<V>(kind, word));
    }
    examples::with_those_of_subcommands(command)
}

fn leaf_of_kind<V: Verb>(kind: &'static Kind, group: &str) -> Command {
    let (word, other) = words_of_kind::<V>(kind);
    let mut command = leaf::<V>(Target::Kind(kind), word, format!("{group} {word}").trim_start());
    // Behind a group its kinds have short words already.
    if kind.words.group.is_none() {
        command = command.visible_aliases(kind.words.short.iter().copied());
    }
    if word == other { command } else { command.alias(other) }
}

fn leaf<V: Verb>(target: Target, word: &'static str, words: &str) -> Command {
    let examples = V::examples(target, &format!("weir {} {words}", V::WORD));
    // The texts come last: flags bring the documentation of their struct along.
    let command = flag_forms::with_any_values(V::arguments(target, Command::new(word)));
    examples::with(command.about(V::about(target)), &examples)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::Cli;

    #[rstest::rstest]
    #[case("get -A ks")]
    #[case("get --no-header sources -w git")]
    #[case("delete -s ks app")]
    #[case("export --all ks")]
    #[case("export source --with-credentials --all external")]
    #[case("create --export --label a=b source --fetch-timeout 1m git app --url https://x/y")]
    #[case("create --interval 5m secret --export git app --url https://x/y --interval 1m")]
    #[case("create --export tenant app --interval 1m")]
    #[case("suspend --all source git")]
    #[case("resume --wait=0 --all ks")]
    #[case("bootstrap --components-extra=image-reflector-controller --branch x github --owner me")]
    #[case("get ks --verbose -A -A -n a -n b")]
    #[case("install -v latest")]
    #[case("bootstrap -v latest git --url ssh://git@x/y")]
    #[case("bootstrap git --url ssh://git@x/y -v latest")]
    #[case("plugin upgrade operator")]
    #[case("migrate --yes")]
    #[case("get all app")]
    #[case("get ks --kubeconfig= --certificate-authority= --client-certificate= --client-key= --cache-dir=")]
    #[case("push artifact oci://h.io/app:v1 --output=")]
    #[case("get sources all app")]
    fn flags_stand_where_flux_takes_them(#[case] line: &str) {
        let parsed = Cli::try_parse_from(["weir"].into_iter().chain(line.split(' ')));
        assert!(parsed.is_ok(), "{:?}", parsed.err().map(|error| error.to_string()));
    }
}
