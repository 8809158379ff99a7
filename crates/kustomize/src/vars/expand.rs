//! The `$(NAME)` syntax.

use std::collections::HashSet;

use weir_yaml::{Scalar, Tag};

use super::Values;

/// Replaces the references in `text`. A text that is nothing but one reference takes the type of its value.
pub(super) fn expand(text: &str, values: &Values, used: &mut HashSet<String>) -> Scalar {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = match Token::read(after) {
            Token::End => {
                out.push('$');
                after
            }
            Token::Plain(kept, rest) => {
                out.push_str(&kept);
                rest
            }
            Token::Name(name, rest) => {
                match values.get(name).and_then(Option::as_ref) {
                    Some(value) => {
                        used.insert(name.to_owned());
                        if text.len() == name.len() + "$()".len() {
                            return value.clone();
                        }
                        out.push_str(&value.text);
                    }
                    // Names that are not vars may be for somebody else.
                    None => out.push_str(&format!("$({name})")),
                }
                rest
            }
        };
    }
    out.push_str(rest);
    Scalar::tagged(out, Tag::Str)
}

/// The text behind a dollar sign.
enum Token<'t> {
    /// Nothing.
    End,
    /// Something that is no reference, and the text after it.
    Plain(String, &'t str),
    /// A name, and the text after the reference.
    Name(&'t str, &'t str),
}

impl<'t> Token<'t> {
    fn read(after: &'t str) -> Self {
        let mut characters = after.chars();
        match characters.next() {
            None => Self::End,
            Some('$') => Self::Plain("$".to_owned(), characters.as_str()),
            Some('(') => match characters.as_str().split_once(')') {
                Some((name, rest)) => Self::Name(name, rest),
                None => Self::Plain("$(".to_owned(), characters.as_str()),
            },
            Some(other) => Self::Plain(format!("${other}"), characters.as_str()),
        }
    }
}
