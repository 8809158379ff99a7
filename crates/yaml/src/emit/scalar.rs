//! Strings on the page: quoting, escapes, folding at column 80, block scalars.

use super::analysis::{OutputStyle, style_of, unfolded_style_of};
use super::{INDENT, pad};
use crate::YamlError;
use crate::printable::is_printable;

/// A space after this column is replaced by a line break (KZ-1410).
const FOLD_COLUMN: usize = 80;

/// Writes a string value. `indent` is that of the collection that holds it.
pub(super) fn write_string(out: &mut String, text: &str, indent: usize) -> Result<(), YamlError> {
    let fold = Some(indent + INDENT);
    match style_of(text) {
        OutputStyle::Plain => write_plain(out, text, fold),
        OutputStyle::Single => write_single(out, text, fold),
        OutputStyle::Double => {
            reject_forbidden(text)?;
            write_double(out, text, fold);
        }
        OutputStyle::Literal => write_literal(out, text, indent + INDENT),
    }
    Ok(())
}

/// Writes a string as go-yaml's version 3 does for programs that do not fold lines: `indent` is that of a block's lines, `level`
/// the columns of a level. A key is never a block.
pub fn write_unfolded(out: &mut String, text: &str, indent: usize, level: usize, is_key: bool) {
    match unfolded_style_of(text) {
        OutputStyle::Plain => out.push_str(text),
        OutputStyle::Single => write_single(out, text, None),
        OutputStyle::Literal if !is_key => {
            let start = out.len();
            write_literal(out, text, indent);
            // The header names the columns of a level where the text begins with a blank.
            if text.starts_with([' ', '\n']) {
                out.replace_range(start..start + 2, &format!("|{level}"));
            }
        }
        OutputStyle::Double | OutputStyle::Literal => write_double(out, text, None),
    }
}

/// Writes a mapping key: never folded, never a block.
pub(super) fn write_key(out: &mut String, text: &str) -> Result<(), YamlError> {
    match style_of(text) {
        OutputStyle::Plain => out.push_str(text),
        OutputStyle::Single => write_single(out, text, None),
        OutputStyle::Double | OutputStyle::Literal => {
            reject_forbidden(text)?;
            write_double(out, text, None);
        }
    }
    Ok(())
}

/// The reference goes through JSON, which it reads as YAML: what JSON does not escape must be allowed in YAML.
fn reject_forbidden(text: &str) -> Result<(), YamlError> {
    let is_forbidden = |character: &char| matches!(character, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    match text.chars().find(is_forbidden) {
        Some(character) => Err(YamlError::Forbidden(character.into())),
        None => Ok(()),
    }
}

/// Decides about each space whether the line is broken there.
struct Folder {
    /// Indentation of continuation lines; `None` when the scalar must stay on one line.
    indent: Option<usize>,
    /// Characters on the current line.
    column: usize,
    previous_space: bool,
}

impl Folder {
    fn new(out: &str, indent: Option<usize>) -> Self {
        let line = out.rsplit('\n').next().unwrap_or_default();
        let column = if indent.is_some() { line.chars().count() } else { 0 };
        Self { indent, column, previous_space: false }
    }

    /// The continuation indent, if a space standing here becomes a line break.
    fn break_here(&self) -> Option<usize> {
        self.indent.filter(|_| !self.previous_space && self.column > FOLD_COLUMN)
    }

    fn wrote(&mut self, character: char) {
        self.column += 1;
        self.previous_space = character == ' ';
    }

    fn broke(&mut self, out: &mut String, indent: usize) {
        out.push('\n');
        pad(out, indent);
        self.column = indent;
        self.previous_space = true;
    }
}

fn write_plain(out: &mut String, text: &str, fold: Option<usize>) {
    let folder = Folder::new(out, fold);
    if folder.column + text.len() <= FOLD_COLUMN {
        out.push_str(text);
        return;
    }
    write_folded(out, text, folder, |_, is_last| is_last, |out, character| out.push(character));
}

fn write_single(out: &mut String, text: &str, fold: Option<usize>) {
    out.push('\'');
    let folder = Folder::new(out, fold);
    write_folded(
        out,
        text,
        folder,
        |is_first, is_last| is_first || is_last,
        |out, character| {
            if character == '\'' {
                out.push('\'');
            }
            out.push(character);
        },
    );
    out.push('\'');
}

/// Plain and single-quoted text: a lone space past the fold column becomes a line break.
fn write_folded(
    out: &mut String,
    text: &str,
    mut folder: Folder,
    keep_space: impl Fn(bool, bool) -> bool,
    put: impl Fn(&mut String, char),
) {
    let mut characters = text.chars().peekable();
    let mut is_first = true;
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let may_break = character == ' ' && !keep_space(is_first, next.is_none()) && next != Some(' ');
        match folder.break_here().filter(|_| may_break) {
            Some(indent) => folder.broke(out, indent),
            None => {
                let before = out.len();
                put(out, character);
                folder.column += out.len() - before - character.len_utf8();
                folder.wrote(character);
            }
        }
        is_first = false;
    }
}

pub(crate) fn write_double(out: &mut String, text: &str, fold: Option<usize>) {
    out.push('"');
    let mut folder = Folder::new(out, fold);
    // go-yaml looks for a byte order mark at the start of the text each time it asks whether a character is one.
    let escape_all = text.starts_with('\u{feff}');
    let mut characters = text.chars().peekable();
    let mut is_first = true;
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        if escape_all || needs_escape(character) {
            let before = out.len();
            escape(out, character);
            folder.column += out.len() - before;
            folder.previous_space = false;
        } else if character == ' '
            && !is_first
            && next.is_some()
            && let Some(indent) = folder.break_here()
        {
            folder.broke(out, indent);
            if next == Some(' ') {
                out.push('\\');
                folder.column += 1;
            }
        } else {
            out.push(character);
            folder.wrote(character);
        }
        is_first = false;
    }
    out.push('"');
}

fn needs_escape(character: char) -> bool {
    matches!(character, '"' | '\\' | '\n' | '\u{2028}' | '\u{2029}') || !is_printable(character)
}

fn escape(out: &mut String, character: char) {
    out.push('\\');
    let short = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        other => {
            let code = u32::from(other);
            out.push_str(&match code {
                0..=0xff => format!("x{code:02X}"),
                0x100..=0xffff => format!("u{code:04X}"),
                _ => format!("U{code:08X}"),
            });
            return;
        }
    };
    out.push(short);
}

/// The indicator of a block, an indentation digit when the text starts blank, and a chomping sign.
pub(crate) fn write_block_header(out: &mut String, indicator: char, text: &str) {
    out.push(indicator);
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    if !text.ends_with('\n') {
        out.push('-');
    } else if text == "\n" || text.ends_with("\n\n") {
        out.push('+');
    }
    out.push('\n');
}

/// The header of a literal block, then the lines.
pub(crate) fn write_literal(out: &mut String, text: &str, indent: usize) {
    write_block_header(out, '|', text);
    for line in text.split_inclusive('\n') {
        if line != "\n" {
            pad(out, indent);
        }
        out.push_str(line);
    }
    if !text.ends_with('\n') {
        out.push('\n');
    }
}
