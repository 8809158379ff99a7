//! Sprig's styles of names: snake, kebab and camel case, and swapped case.

use std::sync::LazyLock;

use regex::Regex;

use super::{Function, text};
use crate::go::value::Value;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "snakecase" => Function::exactly(1, |a| Ok(Value::text(joined(text(a, 0)?, '_')))),
        "kebabcase" => Function::exactly(1, |a| Ok(Value::text(joined(text(a, 0)?, '-')))),
        "camelcase" => Function::exactly(1, |a| Ok(Value::text(camel(text(a, 0)?)))),
        "swapcase" => Function::exactly(1, |a| Ok(Value::text(swapped(text(a, 0)?)))),
        _ => None,
    }
}

/// The character of the other case, if it is one: Go does not map one character to several.
pub(super) fn upper(character: char) -> char {
    let mut mapped = character.to_uppercase();
    mapped.next().filter(|_| mapped.next().is_none()).unwrap_or(character)
}

pub(super) fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

fn is_connector(character: char) -> bool {
    matches!(character, '-' | '_') || character.is_whitespace()
}

/// The kinds of characters that a name is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Hyphens, underscores and white space.
    Connector,
    Punctuation,
    /// A word that begins with a capital.
    Capital,
    Letter,
    Digit,
    Other,
}

/// The kinds in the order of [`KINDS`]. Chinese characters are no letters here: they have no words to divide.
static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let letter = r"[\p{L}--\p{Lu}--[\x{3400}-\x{4D85}\x{4E00}-\x{9FCC}\x{20000}-\x{2B81D}]]";
    let groups = [
        r"([-_\s]+)",
        r"(\p{P}+)",
        &format!(r"(\p{{Lu}}{letter}+|\p{{Lu}}+)"),
        &format!("({letter}+)"),
        r"(\p{N}+)",
        &format!(r"([^-_\s\p{{P}}\p{{N}}\p{{Lu}}{letter}]+)"),
    ];
    Regex::new(&groups.join("|")).ok()
});

const KINDS: [Kind; 6] =
    [Kind::Connector, Kind::Punctuation, Kind::Capital, Kind::Letter, Kind::Digit, Kind::Other];

/// Divides a name into words: `HTTPServer2xx` into `HTTP`, `Server`, `2` and `xx`.
fn words(name: &str) -> Vec<(Kind, &str)> {
    let mut words = Vec::new();
    let mut rest = name;
    while let Some(found) = WORD.as_ref().and_then(|pattern| pattern.captures(rest)) {
        let kinds = KINDS.iter().zip(1..).find_map(|(kind, group)| Some((*kind, found.get(group)?)));
        let Some((kind, found)) = kinds else { break };
        let (mut word, mut after) = (found.as_str(), rest.get(found.end()..).unwrap_or_default());
        if kind == Kind::Capital && begins_with_letter(after) {
            // The last of several capitals begins the next word.
            let last = word.char_indices().next_back().map_or(0, |(at, _)| at);
            (word, after) = rest.split_at_checked(last).filter(|_| last > 0).unwrap_or((word, after));
        }
        words.push((kind, word));
        rest = after;
    }
    words
}

fn begins_with_letter(text: &str) -> bool {
    let first = text.chars().next().map(String::from).unwrap_or_default();
    let found = WORD.as_ref().and_then(|pattern| pattern.captures(&first));
    found.is_some_and(|found| found.get(4).is_some())
}

/// Writes words in lower case with connectors between them.
struct Joiner<'n> {
    words: std::iter::Peekable<std::vec::IntoIter<(Kind, &'n str)>>,
    connector: char,
    out: String,
}

/// Snake case and kebab case.
fn joined(name: &str, connector: char) -> String {
    let words = words(name).into_iter().peekable();
    let mut joiner = Joiner { words, connector, out: String::new() };
    while let Some((kind, word)) = joiner.words.next() {
        joiner.write(kind, word);
        match kind {
            Kind::Connector | Kind::Punctuation => {}
            Kind::Digit => joiner.rest_of_number(),
            _ => joiner.after_word(),
        }
    }
    joiner.out
}

impl Joiner<'_> {
    fn write(&mut self, kind: Kind, word: &str) {
        match kind {
            Kind::Connector => self.out.extend(word.chars().map(|_| self.connector)),
            Kind::Capital => self.out.extend(word.chars().map(lower)),
            _ => self.out.push_str(word),
        }
    }

    /// Writes a connector, unless the name ends or brings its own separation.
    fn connect(&mut self) {
        let separates = |(kind, _): &(Kind, &str)| matches!(kind, Kind::Connector | Kind::Punctuation);
        if self.words.peek().is_some_and(|next| !separates(next)) {
            self.out.push(self.connector);
        }
    }

    /// Letters right behind digits belong to them: `20x`.
    fn rest_of_number(&mut self) {
        while let Some((_, word)) = self.words.next_if(|(kind, _)| matches!(kind, Kind::Letter | Kind::Digit))
        {
            self.out.push_str(word);
        }
        self.connect();
    }

    /// Digits behind a word belong to it, unless letters follow them.
    fn after_word(&mut self) {
        let Some((_, digits)) = self.words.next_if(|(kind, _)| *kind == Kind::Digit) else {
            return self.connect();
        };
        match self.words.peek() {
            None => self.out.push_str(digits),
            Some((Kind::Letter, _)) => {
                self.out.push(self.connector);
                self.out.push_str(digits);
                self.rest_of_number();
            }
            Some(_) => {
                self.out.push_str(digits);
                self.connect();
            }
        }
    }
}

/// Camel case that begins with a capital: connectors between words go, each word begins with a capital, and a word
/// that begins with capitals keeps only the first.
fn camel(name: &str) -> String {
    let first = name.trim_start_matches(is_connector);
    let mut out: String = name.strip_suffix(first).unwrap_or_default().to_owned();
    let mut characters = first.chars();
    let Some(start) = characters.next() else {
        // Go's library repeats the last connector of a name that has nothing else.
        out.extend(name.chars().next_back());
        return out;
    };
    let (mut before, mut is_in_capitals) = (upper(start), start.is_uppercase());
    for mut character in characters {
        match (is_connector(before), is_connector(character)) {
            (true, true) => out.push(before),
            (true, false) => {
                is_in_capitals = character.is_uppercase();
                character = upper(character);
            }
            (false, _) => {
                is_in_capitals = is_in_capitals && character.is_uppercase();
                if is_in_capitals {
                    character = lower(character);
                }
                out.push(before);
            }
        }
        before = character;
    }
    out.push(before);
    out
}

/// Capitals become small letters and small letters capitals.
fn swapped(text: &str) -> String {
    let swap = |character: char| match lower(character) {
        small if small != character => small,
        _ => upper(character),
    };
    text.chars().map(swap).collect()
}
