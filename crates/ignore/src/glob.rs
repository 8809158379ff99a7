//! Matching of one path component: `*`, `?`, `[a-z]`, `[^a]` and backslash escapes, as Go's `filepath.Match`.

/// One element of a component pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// `*`: any run of characters.
    Star,
    /// `?`: any one character.
    Any,
    /// The character itself.
    Literal(char),
    /// `[…]`: one character of (or, negated, outside) the ranges.
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// A parsed component pattern. A malformed one (unclosed class, trailing backslash) matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    tokens: Option<Vec<Token>>,
}

impl Glob {
    /// Parses one component's pattern.
    #[must_use]
    pub fn parse(pattern: &str) -> Self {
        Self { tokens: tokens(pattern) }
    }

    /// Returns true when nothing can ever match, as the pattern is malformed.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.tokens.is_none()
    }

    /// Returns true when the whole `name` matches. Linear in `name` for each star: on a mismatch only the last star
    /// is widened.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let Some(tokens) = &self.tokens else { return false };
        let name: Vec<char> = name.chars().collect();
        let (mut token, mut at) = (0, 0);
        let mut widen: Option<(usize, usize)> = None;
        while at < name.len() || token < tokens.len() {
            match (tokens.get(token), name.get(at)) {
                (Some(Token::Star), _) => {
                    widen = Some((token, at));
                    token += 1;
                    continue;
                }
                (Some(pattern), Some(character)) if pattern.accepts(*character) => {
                    token += 1;
                    at += 1;
                    continue;
                }
                _ => {}
            }
            match widen {
                Some((star, from)) if from < name.len() => {
                    widen = Some((star, from + 1));
                    token = star + 1;
                    at = from + 1;
                }
                _ => return false,
            }
        }
        true
    }
}

impl Token {
    fn accepts(&self, character: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::Literal(literal) => *literal == character,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&character)) != *negated
            }
        }
    }
}

fn tokens(pattern: &str) -> Option<Vec<Token>> {
    let mut characters = pattern.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            '*' => {
                if tokens.last() == Some(&Token::Star) {
                    continue;
                }
                Token::Star
            }
            '?' => Token::Any,
            '\\' => Token::Literal(characters.next()?),
            '[' => class(&mut characters)?,
            other => Token::Literal(other),
        });
    }
    Some(tokens)
}

/// The rest of a class after its `[`. `None` when it is empty or does not end.
fn class(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let negated = characters.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && characters.next_if_eq(&']').is_some() {
            return Some(Token::Class { negated, ranges });
        }
        let low = class_character(characters)?;
        let high = match characters.next_if_eq(&'-') {
            Some(_) => class_character(characters)?,
            None => low,
        };
        ranges.push((low, high));
    }
}

fn class_character(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match characters.next()? {
        '-' | ']' => None,
        '\\' => characters.next(),
        other => Some(other),
    }
}
