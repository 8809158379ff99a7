//! Differences as text, as dyff's report for people has them.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::blocks::{arrange, columns};
use super::compare::{Detail, Difference};
use super::lists::scalar;
use super::neat::yaml;
use crate::output::{Colour, Paint, terminal_width};

/// Width of lines where there is no terminal.
const WIDTH: usize = 80;

/// Words for small numbers.
const NUMBERS: [&str; 13] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// Returns the report of differences: for each place its path and what differs there. Nothing in it steers a terminal but the
/// colours.
pub(super) fn of(differences: &[Difference], paint: Paint) -> String {
    let width = terminal_width().unwrap_or(WIDTH);
    let mut text = String::new();
    for Difference { path, details } in differences.iter().map(Difference::harmless) {
        let path = if path.is_empty() { "(root level)".to_owned() } else { path.join(".") };
        let blocks: Vec<_> = details.iter().map(|detail| block(detail, width, paint)).collect();
        let path = paint.paint(Colour::Bold, &path);
        text.push_str(&format!("\n{path}\n{}", arrange(0, &blocks, width)));
    }
    text.push('\n');
    text
}

fn block(detail: &Detail, width: usize, paint: Paint) -> String {
    match detail {
        Detail::Added(value) => {
            let text = format!("+ {} added:\n{}", entries(value), arrange(2, &[yaml(value, true)], width));
            paint.paint(Colour::Green, &text)
        }
        Detail::Removed(value) => {
            let text = format!("- {} removed:\n{}", entries(value), arrange(0, &[yaml(value, true)], width));
            paint.paint(Colour::Red, &text)
        }
        Detail::Reordered(from, to) => reordered(from, to, width, paint),
        Detail::Changed(Value::String(from), Value::String(to)) => texts(from, to, width, paint),
        Detail::Changed(from, to) => {
            let (before, after) = (kind(from), kind(to));
            let title = match before == after {
                true => "value change".to_owned(),
                false => format!("type change from {before} to {after}"),
            };
            let shown = |value: &Value| match value {
                Value::Null => "<nil>".to_owned(),
                value => yaml(value, false).trim_end_matches('\n').to_owned(),
            };
            let [before, after] = both(&shown(from), &shown(to), paint);
            format!("{}{before}{after}", titled(&title, paint))
        }
    }
}

/// Returns the first line of a value that has become another one.
fn titled(title: &str, paint: Paint) -> String {
    paint.paint(Colour::Yellow, &format!("± {title}\n"))
}

/// Returns the value before and the value after, each with its sign.
fn both(from: &str, to: &str, paint: Paint) -> [String; 2] {
    [paint.paint(Colour::Red, &prefixed("- ", from)), paint.paint(Colour::Green, &prefixed("+ ", to))]
}

fn entries(value: &Value) -> String {
    match value {
        Value::Array(list) => plural(list.len(), "list entry", "list entries"),
        Value::Object(map) => plural(map.len(), "map entry", "map entries"),
        _ => String::new(),
    }
}

fn plural(count: usize, one: &str, many: &str) -> String {
    let number = NUMBERS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned());
    format!("{number} {}", if count == 1 { one } else { many })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

fn reordered(from: &[Value], to: &[Value], width: usize, paint: Paint) -> String {
    let texts = |list: &[Value]| -> Vec<String> {
        let text = |value: &Value| {
            Some(scalar(value)).filter(|text| !text.is_empty()).unwrap_or_else(|| yaml(value, false))
        };
        list.iter().map(text).collect()
    };
    let (from, to) = (texts(from), texts(to));
    let length =
        |list: &[String]| list.iter().map(|text| text.chars().count() + 2).sum::<usize>().saturating_sub(2);
    let changed = if length(&from).max(length(&to)) < width / 2 {
        let (from, to) = (format!("- {}\n", from.join(", ")), format!("+ {}\n", to.join(", ")));
        paint.paint(Colour::Red, &from) + &paint.paint(Colour::Green, &to)
    } else {
        let (from, to) = (from.join("\n"), to.join("\n"));
        columns(" ", 2, &[paint.paint(Colour::Red, &from), paint.paint(Colour::Green, &to)])
    };
    format!("{}{changed}", paint.paint(Colour::Yellow, "⇆ order changed\n"))
}

fn texts(from: &str, to: &str, width: usize, paint: Paint) -> String {
    let trimmed = |text: &str| text.trim_matches([' ', '\n']).to_owned();
    if trimmed(from) == trimmed(to) {
        let visible = |text: &str| text.replace('\n', "↵\n").replace(' ', "·");
        let blocks = both(&visible(from), &visible(to), paint);
        return format!("{}{}", titled("whitespace only change", paint), arrange(0, &blocks, width));
    }
    if !from.contains('\n') && !to.contains('\n') {
        return format!("{}{}", titled("value change", paint), both(from, to, paint).concat());
    }
    lines(from, to, paint)
}

/// Returns the lines in which two texts differ.
fn lines(from: &str, to: &str, paint: Paint) -> String {
    let diff = TextDiff::from_lines(from, to);
    let (mut lines, mut last, mut inserts, mut deletions) = (String::new(), ChangeTag::Equal, 0, 0);
    for change in diff.iter_all_changes() {
        let tag = change.tag();
        if tag != last {
            inserts += usize::from(tag == ChangeTag::Insert);
            deletions += usize::from(tag == ChangeTag::Delete);
            last = tag;
        }
        let (sign, colour) = match tag {
            ChangeTag::Insert => ("+", Colour::Green),
            ChangeTag::Delete => ("-", Colour::Red),
            ChangeTag::Equal => continue,
        };
        let line = format!("{sign} {}\n", change.value().trim_end_matches('\n'));
        lines.push_str(&paint.paint(colour, &line));
    }
    let (inserts, deletions) =
        (plural(inserts, "insert", "inserts"), plural(deletions, "deletion", "deletions"));
    let title = format!("value change in multiline text ({inserts}, {deletions})");
    format!("{}{lines}\n", titled(&title, paint))
}

/// Returns a text with a prefix before its first line, and as many spaces before the others.
fn prefixed(prefix: &str, text: &str) -> String {
    let indent = " ".repeat(prefix.chars().count());
    let line =
        |(index, line): (usize, &str)| format!("{}{line}\n", if index == 0 { prefix } else { &indent });
    text.split('\n').enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::compare::values;
    use super::*;

    fn differences() -> Vec<Difference> {
        let from = json!({
            "data": { "gone": "*****", "same": 1 },
            "metadata": { "generation": 1 },
            "spec": {
                "ports": [{ "name": "http", "port": 9899 }, { "name": "old", "port": 1 }],
                "args": ["a", "b"],
                "kind": 1,
                "lines": "a\nb\nc\n",
                "text": "x",
                "blank": "y",
                "none": null,
            },
        });
        let to = json!({
            "data": { "new": "*****", "same": 1 },
            "metadata": { "generation": 2, "labels": { "a": "b" } },
            "spec": {
                "ports": [{ "name": "http", "port": 9898 }],
                "args": ["b", "a"],
                "kind": "1",
                "lines": "a\nB\nc\nd\n",
                "text": "z",
                "blank": "y ",
                "none": { "a": [1] },
            },
        });
        values(&from, &to)
    }

    #[test]
    fn the_report_is_that_of_dyff() {
        insta::assert_snapshot!(of(&differences(), Paint::none()));
    }

    #[test]
    fn colours_add_nothing_but_themselves() {
        let (painted, plain) = (of(&differences(), Paint::always()), of(&differences(), Paint::none()));
        let codes = regex::Regex::new("\x1b\\[[0-9]+m").unwrap();
        assert_eq!(codes.replace_all(&painted, ""), plain);
        for line in [
            "\x1b[1mspec.text\x1b[0m",
            "\x1b[31m- x\x1b[0m",
            "\x1b[32m+ z\x1b[0m",
            "\x1b[33m± value change\x1b[0m",
        ] {
            assert!(painted.contains(&format!("\n{line}\n")), "{line:?} is not in {painted}");
        }
    }

    #[test]
    fn values_do_not_steer_the_terminal() {
        let differences = values(&json!({ "a\x1b[8m": "x" }), &json!({ "a\x1b[8m": "\x1b[2Jy" }));
        assert!(!of(&differences, Paint::none()).contains('\x1b'));
    }
}
