//! `KEY=value` lines; `\n` in a value is a line break.

use zeroize::Zeroizing;

use crate::error::FormatError;
use crate::tree::{Comment, Member, Node, Value};

pub(super) fn read(text: &str) -> Result<Vec<Node>, FormatError> {
    let mut members = Vec::new();
    for (index, line) in text.split('\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        members.push(if let Some(comment) = line.strip_prefix('#') {
            Member::Comment(Comment { text: Zeroizing::new(comment.to_owned()), is_inline: false })
        } else {
            let (key, value) = line.split_once('=').ok_or(FormatError::Dotenv { line: index + 1 })?;
            Member::Entry(key.to_owned(), Node::Value(Value::text(value.replace("\\n", "\n"))))
        });
    }
    Ok(vec![Node::Map(members)])
}

pub(super) fn write(tree: &Node) -> Result<Zeroizing<Vec<u8>>, FormatError> {
    let mut out = Zeroizing::new(Vec::new());
    let Node::Map(members) = tree else { return Err(FormatError::Root("dotenv")) };
    for member in members {
        match member {
            Member::Comment(comment) => {
                out.push(b'#');
                out.extend_from_slice(comment.text.as_bytes());
            }
            Member::Entry(key, Node::Value(value)) => {
                out.extend_from_slice(key.as_bytes());
                out.push(b'=');
                let text = super::plain_text(value);
                let text = Zeroizing::new(text.replace('\n', "\\n"));
                out.extend_from_slice(text.as_bytes());
            }
            Member::Entry(key, _) => {
                return Err(FormatError::Complex { format: "dotenv", key: key.clone() });
            }
        }
        out.push(b'\n');
    }
    Ok(out)
}
