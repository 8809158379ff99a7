//! INI, as the library that SOPS uses reads and writes it: sections of keys, comments above them, equals signs in one column.

use zeroize::Zeroizing;

use crate::error::FormatError;
use crate::tree::{Comment, Member, Node, Value};

/// Section of keys above the first header.
const DEFAULT: &str = "DEFAULT";
/// Separators of a key and its value.
const SEPARATORS: [char; 2] = ['=', ':'];

/// A file in the reading.
struct Reader<'t> {
    lines: std::iter::Enumerate<std::str::Lines<'t>>,
    /// Comments above the next section or key.
    comment: String,
    sections: Vec<(String, Vec<Member>)>,
}

pub(super) fn read(text: &str) -> Result<Vec<Node>, FormatError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let sections = vec![(DEFAULT.to_owned(), Vec::new())];
    let mut reader = Reader { lines: text.lines().enumerate(), comment: String::new(), sections };
    while let Some((index, line)) = reader.lines.next() {
        let line = line.trim_start();
        if line.starts_with(['#', ';']) {
            reader.comment.push_str(line);
            reader.comment.push('\n');
        } else if let Some(header) = line.strip_prefix('[') {
            let (name, rest) = header.rsplit_once(']').ok_or(FormatError::Ini { line: index + 1 })?;
            if let Some(at) = rest.find(['#', ';']) {
                reader.comment.push_str(rest.get(at..).unwrap_or_default());
            }
            let comment = reader.take_comment();
            reader.sections.push((name.to_owned(), comment.into_iter().collect()));
        } else if !line.is_empty() {
            reader.key(line, index + 1)?;
        }
    }
    let sections = reader.sections.into_iter();
    Ok(vec![Node::Map(sections.map(|(name, members)| Member::Entry(name, Node::Map(members))).collect())])
}

impl Reader<'_> {
    fn take_comment(&mut self) -> Option<Member> {
        let comment = std::mem::take(&mut self.comment);
        let comment = comment.trim();
        let stripped = comment.trim_start_matches([comment.chars().next().unwrap_or(';'), ' ']);
        let stripped = if comment.starts_with(['#', ';']) { stripped } else { comment };
        (!comment.is_empty())
            .then(|| Member::Comment(Comment { text: Zeroizing::new(stripped.to_owned()), is_inline: false }))
    }

    fn key(&mut self, line: &str, number: usize) -> Result<(), FormatError> {
        let (key, rest) = split(line).ok_or(FormatError::Ini { line: number })?;
        let value = self.value(rest, number)?;
        let comment = self.take_comment();
        let Some((_, members)) = self.sections.last_mut() else { return Ok(()) };
        let value = Node::Value(Value::text(value));
        // A key twice has the last value.
        let earlier = members.iter_mut().find_map(|member| match member {
            Member::Entry(name, node) if *name == key => Some(node),
            _ => None,
        });
        match earlier {
            Some(node) => *node = value,
            None => members.push(Member::Entry(key, value)),
        }
        members.extend(comment);
        Ok(())
    }

    fn value(&mut self, rest: &str, number: usize) -> Result<String, FormatError> {
        let line = rest.trim_start();
        for quote in ["\"\"\"", "`"] {
            if let Some(inner) = line.strip_prefix(quote) {
                return match inner.rfind(quote) {
                    Some(end) => Ok(inner.get(..end).unwrap_or_default().to_owned()),
                    None => self.until(inner, quote, number),
                };
            }
        }
        let mut line = line.trim().to_owned();
        if line.ends_with('\\') {
            self.continue_value(&mut line);
            return Ok(line);
        }
        if let Some(at) = line.find(['#', ';']) {
            self.comment.push_str(line.get(at..).unwrap_or_default());
            line.truncate(at);
        }
        let line = line.trim();
        for quote in ['\'', '"'] {
            let inner = line.strip_prefix(quote).and_then(|line| line.strip_suffix(quote));
            if let Some(inner) = inner.filter(|inner| !inner.contains(quote)) {
                return Ok(inner.to_owned());
            }
        }
        Ok(line.to_owned())
    }

    /// Appends the lines that follow a value with a backslash at its end. Such a value is taken as it stands: quotes stay, and no
    /// comment ends it.
    fn continue_value(&mut self, value: &mut String) {
        while value.ends_with('\\') {
            value.pop();
            let next = self.lines.next().map_or("", |(_, line)| line.trim());
            if next.is_empty() {
                return;
            }
            value.push_str(next);
        }
    }

    /// Reads lines up to the closing quote.
    fn until(&mut self, first: &str, quote: &str, number: usize) -> Result<String, FormatError> {
        let mut value = first.to_owned();
        for (_, line) in self.lines.by_ref() {
            value.push('\n');
            if let Some(end) = line.rfind(quote) {
                value.push_str(line.get(..end).unwrap_or_default());
                return Ok(value);
            }
            value.push_str(line);
        }
        Err(FormatError::Ini { line: number })
    }
}

/// Splits a line into the key and what is behind the separator.
fn split(line: &str) -> Option<(String, &str)> {
    for quote in ["\"\"\"", "\"", "`"] {
        if let Some(inner) = line.strip_prefix(quote) {
            let (key, rest) = inner.split_once(quote)?;
            return Some((key.trim().to_owned(), rest.split_once(SEPARATORS)?.1));
        }
    }
    let (key, rest) = line.split_once(SEPARATORS)?;
    (!key.is_empty()).then(|| (key.trim().to_owned(), rest))
}

pub(super) fn write(tree: &Node) -> Result<Zeroizing<Vec<u8>>, FormatError> {
    let mut out = Zeroizing::new(String::new());
    let sections: Vec<(&str, &Node)> = tree.entries().collect();
    for (index, (name, section)) in sections.iter().enumerate() {
        let Node::Map(members) = section else {
            return Err(FormatError::Complex { format: "ini", key: (*name).to_owned() });
        };
        let (comment, members) = match members.split_first() {
            Some((Member::Comment(comment), rest)) => (Some(comment), rest),
            _ => (None, members.as_slice()),
        };
        comment.into_iter().for_each(|comment| put_comment(comment, &mut out));
        if index > 0 || !name.eq_ignore_ascii_case(DEFAULT) {
            out.push_str(&format!("[{name}]\n"));
        } else if members.is_empty() {
            continue;
        }
        put_keys(members, &mut out)?;
        if index + 1 < sections.len() {
            out.push('\n');
        }
    }
    Ok(Zeroizing::new(out.as_bytes().to_vec()))
}

fn put_comment(comment: &Comment, out: &mut String) {
    for line in comment.text.split('\n') {
        match line.strip_prefix(['#', ';']) {
            Some(rest) => {
                out.push_str(line.get(..1).unwrap_or_default());
                out.push_str(&format!(" {}\n", rest.trim()));
            }
            None => out.push_str(&format!("; {}\n", line.trim())),
        }
    }
}

fn put_keys(members: &[Member], out: &mut String) -> Result<(), FormatError> {
    let written = |key: &str| {
        if key.contains(['"', '=', ':']) {
            format!("`{key}`")
        } else if key.contains('`') {
            format!("\"\"\"{key}\"\"\"")
        } else {
            key.to_owned()
        }
    };
    let keys = members.iter().filter_map(|member| match member {
        Member::Entry(key, _) => Some(written(key).len()),
        Member::Comment(_) => None,
    });
    let width = keys.max().unwrap_or_default();
    let mut members = members.iter().peekable();
    while let Some(member) = members.next() {
        let Member::Entry(key, node) = member else { continue };
        let Node::Value(value) = node else {
            return Err(FormatError::Complex { format: "ini", key: key.clone() });
        };
        // The comments of a key stand behind it in the tree, and the last one counts.
        let mut comment = None;
        while let Some(Member::Comment(next)) = members.peek() {
            comment = Some(next);
            members.next();
        }
        comment.into_iter().for_each(|comment| put_comment(comment, out));
        let text = super::plain_text(value);
        let key = written(key);
        // The column counts bytes, so that keys with letters beyond ASCII are not in it.
        out.push_str(&format!("{key}{:1$} = ", "", width.saturating_sub(key.len())));
        let quote = if text.contains(['\n', '`']) {
            "\"\"\""
        } else if text.contains(['#', ';']) {
            "`"
        } else if text.trim().len() != text.len() {
            "\""
        } else {
            ""
        };
        for part in [quote, &text, quote, "\n"] {
            out.push_str(part);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> String {
        let tree = read(text).unwrap();
        String::from_utf8(write(tree.first().unwrap()).unwrap().to_vec()).unwrap()
    }

    /// As ini.v1 writes it: the name of a generated ConfigMap depends on each blank.
    #[test]
    fn columns_are_bytes() {
        assert_eq!(rewritten("[s]\né = x\nabc = y\n"), "[s]\né  = x\nabc = y\n");
        assert_eq!(rewritten("[s]\né = x\na = y\n"), "[s]\né = x\na  = y\n");
    }

    #[test]
    fn values_that_go_on_are_taken_as_they_are() {
        let value = |text: &str| rewritten(&format!("[s]\nk = {text}\nl = m\n"));
        assert_eq!(value("a \\\n  b # c"), "[s]\nk = `a b # c`\nl = m\n");
        assert_eq!(value("\"a \\\nb\""), "[s]\nk = \"a b\"\nl = m\n");
        assert_eq!(value("a\\\nb\\\nc"), "[s]\nk = abc\nl = m\n");
        // Nothing follows: the line is over, also if one more backslash stands there.
        assert_eq!(value("a\\\\\n"), "[s]\nk = a\\\nl = m\n");
        assert_eq!(value("a # b"), "[s]\n; b\nk = a\nl = m\n");
    }
}
