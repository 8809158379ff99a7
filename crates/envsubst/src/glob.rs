//! The patterns of `#`, `##`, `%` and `%%` (KS-ENV-8): `*` (also over `/`), `?`, `[a-z]`, `[^a-z]` and `\c`.
//!
//! Matching walks the value once and keeps the set of places in the pattern that may be reached, so that it takes
//! pattern times value steps whatever the pattern.

/// The length of a match: of several, one is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Shortest,
    Longest,
}

enum Token {
    Star,
    Any,
    Literal(char),
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Token {
    fn takes(&self, character: char) -> bool {
        match self {
            Self::Star | Self::Any => true,
            Self::Literal(literal) => *literal == character,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&character)) != *negated
            }
        }
    }
}

pub(crate) struct Pattern(Vec<Token>);

impl Pattern {
    /// The pattern of a prefix, or nothing if it is malformed. Flux negates classes by `^` alone there.
    pub(crate) fn of_prefix(pattern: &str) -> Option<Self> {
        Self::parse(pattern, &['^'])
    }

    /// The pattern of a suffix, or nothing if it is malformed. In Flux no class of one matches; here they mean what they
    /// mean in a shell, so that `${v%%[!0-9]*}` keeps digits.
    pub(crate) fn of_suffix(pattern: &str) -> Option<Self> {
        Self::parse(pattern, &['^', '!'])
    }

    fn parse(pattern: &str, negations: &[char]) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut characters = pattern.chars().peekable();
        while let Some(character) = characters.next() {
            tokens.push(match character {
                // One star takes what two do, and a run of them would take its length squared for each character.
                '*' if matches!(tokens.last(), Some(Token::Star)) => continue,
                '*' => Token::Star,
                '?' => Token::Any,
                '\\' => Token::Literal(characters.next()?),
                '[' => class(&mut characters, negations)?,
                literal => Token::Literal(literal),
            });
        }
        Some(Self(tokens))
    }

    /// Bytes of the prefix that matches, never 0.
    pub(crate) fn prefix(&self, value: &str, length: Length) -> Option<usize> {
        let tokens: Vec<&Token> = self.0.iter().collect();
        let ends = value.char_indices().map(|(at, character)| (at + character.len_utf8(), character));
        reached(&tokens, ends, length)
    }

    /// The begin of the suffix that matches, never at the value's end.
    pub(crate) fn suffix(&self, value: &str, length: Length) -> Option<usize> {
        let tokens: Vec<&Token> = self.0.iter().rev().collect();
        reached(&tokens, value.char_indices().rev(), length)
    }
}

fn class(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, negations: &[char]) -> Option<Token> {
    let negated = characters.next_if(|sign| negations.contains(sign)).is_some();
    let mut ranges = Vec::new();
    loop {
        let low = match characters.next()? {
            ']' if !ranges.is_empty() => return Some(Token::Class { negated, ranges }),
            ']' | '-' => return None,
            '\\' => characters.next()?,
            character => character,
        };
        let mut high = low;
        if characters.next_if_eq(&'-').is_some() {
            high = match characters.next()? {
                ']' | '-' => return None,
                '\\' => characters.next()?,
                character => character,
            };
        }
        ranges.push((low, high));
    }
}

/// The place at which all tokens are used up: the first or the last one.
fn reached(tokens: &[&Token], places: impl Iterator<Item = (usize, char)>, length: Length) -> Option<usize> {
    let mut at = vec![false; tokens.len() + 1];
    open(&mut at, tokens, 0);
    let mut found = None;
    for (place, character) in places {
        let mut next = vec![false; tokens.len() + 1];
        for (index, token) in tokens.iter().enumerate() {
            if at.get(index) == Some(&true) && token.takes(character) {
                let after = if matches!(token, Token::Star) { index } else { index + 1 };
                open(&mut next, tokens, after);
            }
        }
        if !next.contains(&true) {
            break;
        }
        if next.last() == Some(&true) {
            found = Some(place);
            if length == Length::Shortest {
                break;
            }
        }
        at = next;
    }
    found
}

/// Marks a place in the pattern and those that stars make reachable without a character.
fn open(at: &mut [bool], tokens: &[&Token], from: usize) {
    let stars = tokens.iter().skip(from).take_while(|token| matches!(token, Token::Star)).count();
    at.iter_mut().skip(from).take(stars + 1).for_each(|place| *place = true);
}
