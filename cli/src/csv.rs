//! Lists on the command line. Each is a record of CSV, as Flux's flags read them: commas separate items, quotes protect commas.

use std::fmt::{Display, Formatter, Result as Written};
use std::str::FromStr;

/// The items of one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record<T = String>(Vec<T>);

impl<T> Record<T> {
    /// A list of one item.
    pub(crate) fn of(item: T) -> Self {
        Self(vec![item])
    }

    /// The items of a flag that may be given several times.
    pub(crate) fn items(records: &[Self]) -> impl Iterator<Item = &T> {
        records.iter().flat_map(Self::iter)
    }

    /// Its items.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T: FromStr<Err: Display>> FromStr for Record<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let items = split(text).map_err(|error| error.to_string())?;
        // As good as not given, like an empty flag.
        let items = items.iter().filter(|item| !item.is_empty());
        let parsed = items.map(|item| item.parse().map_err(|error: T::Err| error.to_string()));
        parsed.collect::<Result<_, _>>().map(Self)
    }
}

/// The reason that a list cannot be read, in the words of Go's library.
#[derive(Debug, thiserror::Error)]
enum Malformed {
    #[error("EOF")]
    NoRecord,
    #[error("{0}: bare \" in non-quoted-field")]
    Bare(Place),
    #[error("{0}: extraneous or missing \" in quoted-field")]
    Quote(Place),
}

/// A place in a record, counted from 1.
#[derive(Debug)]
struct Place {
    /// Line on which the record starts.
    start: usize,
    line: usize,
    /// Column in bytes.
    column: usize,
}

impl Display for Place {
    fn fmt(&self, to: &mut Formatter<'_>) -> Written {
        let Self { start, line, column } = self;
        if start != line {
            write!(to, "record on line {start}; ")?;
        }
        write!(to, "parse error on line {line}, column {column}")
    }
}

impl Place {
    /// The place in a text where `rest` is still to be read.
    fn before(text: &str, rest: &str) -> Self {
        let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
        let record = text.trim_start_matches('\n');
        let read = text.get(..text.len().saturating_sub(rest.len())).unwrap_or(text);
        // No line begins at the end of the text: the last newline is a part of the line before it.
        let line = read.strip_suffix('\n').filter(|_| rest.is_empty()).unwrap_or(read);
        let start_of_line = line.rfind('\n').map_or(0, |newline| newline + 1);
        let column = read.len() - start_of_line + 1;
        Self { start: 1 + lines(text) - lines(record), line: 1 + lines(line), column }
    }
}

/// Splits the first record of a text; an empty text has no items. Lines end as in Go: with `\n` or `\r\n`, the last one also with `\r`.
fn split(text: &str) -> Result<Vec<String>, Malformed> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix('\r').unwrap_or(&text);
    let rest = text.trim_start_matches('\n');
    if rest.is_empty() {
        return Err(Malformed::NoRecord);
    }
    record(text, rest)
}

/// Splits the record with which `rest` begins, the end of `text`.
fn record(text: &str, mut rest: &str) -> Result<Vec<String>, Malformed> {
    let mut items = Vec::new();
    loop {
        let (item, next) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_item(text, quoted)?,
            None => plain_item(text, rest)?,
        };
        items.push(item);
        match next {
            Some(next) => rest = next,
            None => return Ok(items),
        }
    }
}

/// Reads an item without quotes. Returns it with what follows the comma behind it.
fn plain_item<'t>(text: &str, rest: &'t str) -> Result<(String, Option<&'t str>), Malformed> {
    let line = rest.split('\n').next().unwrap_or_default();
    let (item, next) = match line.split_once(',') {
        Some((item, _)) => (item, rest.get(item.len() + 1..)),
        None => (line, None),
    };
    match item.find('"') {
        Some(at) => Err(Malformed::Bare(Place::before(text, rest.get(at..).unwrap_or_default()))),
        None => Ok((item.to_owned(), next)),
    }
}

/// Reads an item behind its first quote; two quotes are one that belongs to the item.
fn quoted_item<'t>(text: &str, mut rest: &'t str) -> Result<(String, Option<&'t str>), Malformed> {
    let mut item = String::new();
    loop {
        let Some((before, after)) = rest.split_once('"') else {
            return Err(Malformed::Quote(Place::before(text, "")));
        };
        item.push_str(before);
        if let Some(more) = after.strip_prefix('"') {
            item.push('"');
            rest = more;
        } else if let Some(next) = after.strip_prefix(',') {
            return Ok((item, Some(next)));
        } else if after.is_empty() || after.starts_with('\n') {
            return Ok((item, None));
        } else {
            return Err(Malformed::Quote(Place::before(text, rest.get(before.len()..).unwrap_or_default())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("", &[])]
    #[case("a", &["a"])]
    #[case("a,b c,", &["a", "b c", ""])]
    #[case(",", &["", ""])]
    #[case("\"a,b\",c", &["a,b", "c"])]
    #[case("\"a\"\"b\"", &["a\"b"])]
    #[case("\"\"", &[""])]
    #[case("\"a\nb\",c", &["a\nb", "c"])]
    #[case("a,b\nc", &["a", "b"])]
    #[case("\n\na", &["a"])]
    #[case("\"a\"\r\n", &["a"])]
    #[case("a,b\r\n", &["a", "b"])]
    #[case("a,b\r", &["a", "b"])]
    #[case("\"a\r\nb\"\r", &["a\nb"])]
    #[case("\r\na", &["a"])]
    fn lists_are_read_as_by_flux(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(split(text).unwrap(), expected);
    }

    #[test]
    fn empty_items_are_passed_over() {
        let records: [Record; 3] = ["latest,", "", ",\"\",x"].map(|text| text.parse().unwrap());
        assert_eq!(Record::items(&records).collect::<Vec<_>>(), ["latest", "x"]);
    }

    #[rstest::rstest]
    #[case("a\"b", "parse error on line 1, column 2: bare \" in non-quoted-field")]
    #[case("a,b\"", "parse error on line 1, column 4: bare \" in non-quoted-field")]
    #[case("é\"", "parse error on line 1, column 3: bare \" in non-quoted-field")]
    #[case("\"a", "parse error on line 1, column 3: extraneous or missing \" in quoted-field")]
    #[case("\"", "parse error on line 1, column 2: extraneous or missing \" in quoted-field")]
    #[case("\"a\"b", "parse error on line 1, column 3: extraneous or missing \" in quoted-field")]
    #[case("x,\"a\"b", "parse error on line 1, column 5: extraneous or missing \" in quoted-field")]
    #[case(
        "x,\"a\nb\"c",
        "record on line 1; parse error on line 2, column 2: extraneous or missing \" in quoted-field"
    )]
    #[case("\"a\n", "parse error on line 1, column 4: extraneous or missing \" in quoted-field")]
    #[case(
        "\"a\n\n",
        "record on line 1; parse error on line 2, column 2: extraneous or missing \" in quoted-field"
    )]
    #[case("\n", "EOF")]
    #[case("\r", "EOF")]
    fn broken_lists_are_refused_in_the_words_of_flux(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(split(text).unwrap_err().to_string(), expected);
    }
}
