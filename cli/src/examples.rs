//! Examples of commands. Each is written once, in the text behind its command's help; man pages and tests read it from there.

use clap::Command;

/// Heading of the examples.
const HEADING: &str = "Examples:\n";

/// Stands for a space of an example until it is printed. The parser breaks lines at the edge of the terminal, and the half of a
/// command that is copied from there is another command.
const UNBROKEN: &str = "\u{a0}";

/// Examples that a command shows of its subcommands.
const OF_SUBCOMMANDS: usize = 3;

/// One example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Example {
    /// Its purpose, for people.
    pub(crate) purpose: String,
    /// Text to type into a shell; may have several lines.
    pub(crate) command: String,
}

/// The text behind the help of a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Epilogue {
    /// Text before the examples.
    pub(crate) notes: String,
    pub(crate) examples: Vec<Example>,
}

impl Epilogue {
    /// Reads the text behind the help of a command.
    pub(crate) fn of(command: &Command) -> Self {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let text = printed(&text);
        let (notes, examples) = text.split_once(HEADING).unwrap_or((&text, ""));
        Self {
            notes: notes.trim_end().to_owned(),
            examples: examples.split("\n\n").filter_map(Example::parse).collect(),
        }
    }
}

impl Example {
    /// Reads a paragraph: lines of a comment, then the command.
    fn parse(paragraph: &str) -> Option<Self> {
        let lines: Vec<_> = paragraph.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        let purpose: Vec<_> = lines.iter().map_while(|line| line.strip_prefix("# ")).collect();
        let command = lines.get(purpose.len()..)?.join("\n");
        Some(Self { purpose: purpose.join(" "), command }).filter(|example| !example.command.is_empty())
    }

    /// Returns the example as a paragraph below the heading.
    fn paragraph(&self) -> String {
        format!("  # {}\n  {}", self.purpose, self.command.replace('\n', "\n  "))
    }
}

/// Puts examples behind the help of a command.
pub(crate) fn with(command: Command, examples: &str) -> Command {
    command.after_help(unbroken(&format!("{HEADING}{examples}")))
}

/// Keeps the lines of the examples of a command whole, however narrow the terminal is.
pub(crate) fn kept_whole(command: Command) -> Command {
    let text = command.get_after_help().map(|text| unbroken(&text.to_string()));
    match text {
        Some(text) => command.after_help(text),
        None => command,
    }
}

fn unbroken(text: &str) -> String {
    match text.split_once(HEADING) {
        Some((notes, examples)) => format!("{notes}{HEADING}{}", examples.replace(' ', UNBROKEN)),
        None => text.to_owned(),
    }
}

/// Returns a help text as people read it.
pub(crate) fn printed(help: &str) -> String {
    help.replace(UNBROKEN, " ")
}

/// Puts the first examples of its first subcommands behind the help of a command.
pub(crate) fn with_those_of_subcommands(command: Command) -> Command {
    let first = |subcommand: &Command| Epilogue::of(subcommand).examples.into_iter().next();
    let examples: Vec<_> =
        command.get_subcommands().filter_map(first).take(OF_SUBCOMMANDS).map(|it| it.paragraph()).collect();
    with(command, &examples.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Cli;

    /// The command lines of this program in an example. Other programs of a pipe, and files, are left out.
    fn lines(example: &str) -> Vec<Vec<String>> {
        let words = shlex::split(&example.replace("\\\n", "")).unwrap();
        let words: Vec<_> = words.iter().map(|word| word.trim_start_matches("<(")).collect();
        let starts = words.iter().enumerate().filter(|(_, word)| **word == "weir").map(|(start, _)| start);
        let line = |start: usize| {
            let words = words[start..].iter().take_while(|word| !["|", ">", "<"].contains(word));
            words.map(|word| word.trim_end_matches(')').to_owned()).collect()
        };
        starts.map(line).collect()
    }

    /// Examples that do not parse, and commands that have none.
    fn wrong(command: &Command, name: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let examples = Epilogue::of(command).examples;
        if examples.is_empty() {
            wrong.push(format!("{name}: no example"));
        }
        for Example { purpose, command } in examples {
            let lines = lines(&command);
            if purpose.is_empty() || lines.is_empty() {
                wrong.push(format!("{name}: {command}: no purpose, or not about this program"));
            }
            let refused = lines.into_iter().filter_map(|line| Cli::try_parse_from(line).err());
            wrong.extend(refused.map(|error| format!("{name}: {command}: {error}")));
        }
        for subcommand in command.get_subcommands().filter(|it| it.get_name() != "help") {
            wrong.extend(self::wrong(subcommand, &format!("{name} {}", subcommand.get_name())));
        }
        wrong
    }

    #[test]
    fn every_command_has_examples_and_all_parse() {
        let mut command = Cli::command();
        command.build();
        let wrong = wrong(&command, "weir");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn notes_and_examples_are_told_apart() {
        let text = "Exit codes: 0 or 1.\n\nExamples:\n  # All\n  weir x\n\n  # Some,\n  # by name\n  weir x y \\\n    -z";
        let example = |purpose: &str, command: &str| Example {
            purpose: purpose.to_owned(),
            command: command.to_owned(),
        };
        let expected = Epilogue {
            notes: "Exit codes: 0 or 1.".to_owned(),
            examples: vec![example("All", "weir x"), example("Some, by name", "weir x y \\\n  -z")],
        };
        assert_eq!(Epilogue::of(&Command::new("x").after_help(text)), expected);
        assert_eq!(Epilogue::of(&Command::new("x")), Epilogue::default());
    }

    #[test]
    fn an_example_is_one_line_on_a_narrow_terminal() {
        let command = Command::new("x")
            .after_help("Words that may be broken.\n\nExamples:\n  # One, two\n  weir one --two three");
        let mut command = kept_whole(command).term_width(12);
        let help = printed(&command.render_help().to_string());
        assert!(
            help.ends_with(
                "\n\nWords that\nmay be\nbroken.\n\nExamples:\n  # One, two\n  weir one --two three\n"
            ),
            "{help}"
        );
        assert_eq!(Epilogue::of(&command).examples[0].command, "weir one --two three");
    }

    #[test]
    fn a_command_shows_first_examples_of_its_subcommands() {
        let leaf = |name: &'static str| {
            with(Command::new(name), &format!("  # Do\n  weir {name}\n\n  # Again\n  weir {name}"))
        };
        let command =
            with_those_of_subcommands(Command::new("x").subcommands(["a", "b", "c", "d"].map(leaf)));
        let commands: Vec<_> = Epilogue::of(&command).examples.into_iter().map(|it| it.command).collect();
        assert_eq!(commands, ["weir a", "weir b", "weir c"]);
    }
}
