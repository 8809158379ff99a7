//! The writer: typed values in block style, byte for byte as the reference prints them (KZ-1401..1413).

mod analysis;
mod scalar;

pub(crate) use analysis::{OutputStyle, allows_block, allows_single, style_of};
pub use scalar::write_unfolded;
pub(crate) use scalar::{write_block_header, write_double, write_literal};

use crate::value::format_float;
use crate::{Entry, Map, Node, Scalar, Value, YamlError, natural};

/// Columns per nesting level.
const INDENT: usize = 2;

/// A key longer than this many bytes is written in the `? key` form (KZ-1412).
const SIMPLE_KEY_BYTES: usize = 128;

/// Appends `node` to `out` as one document, ending in a newline.
///
/// # Errors
/// A scalar does not fit its tag, a number is not finite, or a mapping holds a key twice.
pub fn emit(node: &Node, out: &mut String) -> Result<(), YamlError> {
    let mut emitter = Emitter { out };
    match node {
        Node::Map(map) if !map.is_empty() => emitter.map(map, 0, false),
        Node::Seq(items) if !items.is_empty() => emitter.seq(items, 0, false),
        node => {
            emitter.leaf(node, 0)?;
            emitter.newline_after_block();
            Ok(())
        }
    }
}

/// Appends bytes to the output; knows nothing but the current text.
struct Emitter<'o> {
    out: &'o mut String,
}

impl Emitter<'_> {
    /// Writes the entries at `indent`. `inline` is true when the first one continues the current line (`- key:`).
    fn map(&mut self, map: &Map, indent: usize, mut inline: bool) -> Result<(), YamlError> {
        let mut sorted: Vec<&Entry> = map.entries.iter().collect();
        // Stable, so that of equal keys the first stays first and the second is the one reported.
        natural::sort(&mut sorted, &|entry: &Entry| entry.key.text.as_str());
        reject_duplicates(&sorted)?;
        for entry in sorted {
            if !std::mem::take(&mut inline) {
                self.pad(indent);
            }
            if self.key(&entry.key, indent)? {
                self.value(&entry.value, indent)?;
            } else {
                self.item(&entry.value, indent)?;
            }
        }
        Ok(())
    }

    /// Writes a key and its colon; returns true when it fitted into one line (KZ-1412).
    fn key(&mut self, key: &Scalar, indent: usize) -> Result<bool, YamlError> {
        let text = key.text.as_str();
        if text.len() <= SIMPLE_KEY_BYTES && !text.contains(['\n', '\r']) {
            scalar::write_key(self.out, text)?;
            self.out.push(':');
            return Ok(true);
        }
        self.out.push_str("? ");
        scalar::write_string(self.out, text, indent)?;
        self.newline_after_block();
        self.pad(indent);
        self.out.push_str(": ");
        Ok(false)
    }

    /// Writes a mapping's value after its `key:`.
    fn value(&mut self, node: &Node, indent: usize) -> Result<(), YamlError> {
        match node {
            Node::Map(map) if !map.is_empty() => {
                self.out.push('\n');
                self.map(map, indent + INDENT, false)
            }
            Node::Seq(items) if !items.is_empty() => {
                self.out.push('\n');
                self.seq(items, indent, false)
            }
            node => {
                self.out.push(' ');
                self.leaf(node, indent)?;
                self.newline_after_block();
                Ok(())
            }
        }
    }

    fn seq(&mut self, items: &[Node], indent: usize, mut inline: bool) -> Result<(), YamlError> {
        for item in items {
            if !std::mem::take(&mut inline) {
                self.pad(indent);
            }
            self.out.push_str("- ");
            self.item(item, indent)?;
        }
        Ok(())
    }

    /// Writes what stands behind `- `, or behind the `: ` of a long key, in the same line.
    fn item(&mut self, item: &Node, indent: usize) -> Result<(), YamlError> {
        match item {
            Node::Map(map) if !map.is_empty() => self.map(map, indent + INDENT, true),
            Node::Seq(items) if !items.is_empty() => self.seq(items, indent + INDENT, true),
            item => {
                self.leaf(item, indent)?;
                self.newline_after_block();
                Ok(())
            }
        }
    }

    /// Writes a scalar or an empty collection. `indent` is that of the containing collection.
    fn leaf(&mut self, node: &Node, indent: usize) -> Result<(), YamlError> {
        let scalar = match node {
            Node::Map(_) => {
                self.out.push_str("{}");
                return Ok(());
            }
            Node::Seq(_) => {
                self.out.push_str("[]");
                return Ok(());
            }
            Node::Scalar(scalar) => scalar,
        };
        match scalar.value()? {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Int(int) => self.out.push_str(&int.to_string()),
            Value::Uint(int) => self.out.push_str(&int.to_string()),
            Value::Float(float) => {
                let text = format_float(float).ok_or_else(|| YamlError::not_finite(float))?;
                self.out.push_str(&text);
            }
            Value::Str(text) => scalar::write_string(self.out, &text, indent)?,
        }
        Ok(())
    }

    /// Ends the line, unless a block scalar has already ended it.
    fn newline_after_block(&mut self) {
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn pad(&mut self, columns: usize) {
        pad(self.out, columns);
    }
}

/// Appends spaces.
pub(crate) fn pad(out: &mut String, columns: usize) {
    const SPACES: &str = "                                                                ";
    let mut left = columns;
    while left > 0 {
        let now = left.min(SPACES.len());
        out.push_str(SPACES.get(..now).unwrap_or_default());
        left -= now;
    }
}

/// Fails when two neighbours have the same key.
pub(crate) fn reject_duplicates(sorted: &[&Entry]) -> Result<(), YamlError> {
    for pair in sorted.windows(2) {
        if let [first, second] = pair
            && first.key.text == second.key.text
        {
            let line = |scalar: &Scalar| scalar.text.position().map_or(0, |position| position.line);
            return Err(YamlError::DuplicateKey {
                line: line(&second.key),
                key: second.key.text.to_string(),
                first: line(&first.key),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
