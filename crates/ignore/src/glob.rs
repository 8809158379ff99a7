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
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Malformed,
    /// A name without wildcards, as most are.
    Name(String),
    Wildcards(Vec<Token>),
}

impl Glob {
    /// Parses one component's pattern.
    #[must_use]
    pub fn parse(pattern: &str) -> Self {
        let form = match tokens(pattern) {
            None => Form::Malformed,
            Some(tokens) => name(&tokens).map_or(Form::Wildcards(tokens), Form::Name),
        };
        Self { form }
    }

    /// Returns true when nothing can ever match, as the pattern is malformed.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.form == Form::Malformed
    }

    /// Returns true when the whole `name` matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match &self.form {
            Form::Malformed => false,
            Form::Name(own) => own == name,
            Form::Wildcards(tokens) => fits(tokens, name),
        }
    }
}

/// Linear in `name` for each star: on a mismatch only the last star is widened.
fn fits(mut tokens: &[Token], mut name: &str) -> bool {
    let mut widen: Option<(&[Token], &str)> = None;
    loop {
        match (tokens.split_first(), split_first(name)) {
            (None, None) | (Some((Token::Star, [])), _) => return true,
            (Some((Token::Star, others)), _) => {
                widen = Some((others, name));
                tokens = others;
                continue;
            }
            (Some((token, others)), Some((character, rest))) if token.accepts(character) => {
                (tokens, name) = (others, rest);
                continue;
            }
            _ => {}
        }
        let Some((others, (_, rest))) = widen.and_then(|(others, from)| Some((others, split_first(from)?)))
        else {
            return false;
        };
        widen = Some((others, rest));
        (tokens, name) = (others, rest);
    }
}

fn split_first(text: &str) -> Option<(char, &str)> {
    let mut characters = text.chars();
    characters.next().map(|first| (first, characters.as_str()))
}

/// The only name that the tokens match; nothing when there are several.
fn name(tokens: &[Token]) -> Option<String> {
    let literal = |token: &Token| match token {
        Token::Literal(character) => Some(*character),
        _ => None,
    };
    tokens.iter().map(literal).collect()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All ways in which stars may take characters.
    fn fits_somehow(tokens: &[Token], name: &[char]) -> bool {
        match (tokens, name) {
            ([], name) => name.is_empty(),
            ([Token::Star, others @ ..], name) => {
                (0..=name.len()).any(|from| fits_somehow(others, &name[from..]))
            }
            (_, []) => false,
            ([token, others @ ..], [first, rest @ ..]) => token.accepts(*first) && fits_somehow(others, rest),
        }
    }

    proptest! {
        #[test]
        fn globs_match_what_any_reading_of_their_stars_does(pattern in "[abü*?]{0,7}|[ab*\\[\\]^\\\\-]{0,9}", text in "[abü*-]{0,8}") {
            let characters: Vec<char> = text.chars().collect();
            let expected = tokens(&pattern).is_some_and(|tokens| fits_somehow(&tokens, &characters));
            prop_assert_eq!(Glob::parse(&pattern).matches(&text), expected);
        }
    }
}
