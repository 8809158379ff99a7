//! Scalars in the style they had, where that style can hold them.

use crate::emit::{
    OutputStyle, allows_block, allows_single, pad, style_of, write_block_header, write_double, write_literal,
};
use crate::resolve::{doubles_breaks, plain_tag};
use crate::{Scalar, Style, Tag};

/// Columns per nesting level.
const INDENT: usize = 2;

/// The place of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A value in block style.
    Block,
    /// Anything in brackets.
    Flow,
    /// A key in block style.
    Key,
}

pub(super) fn write(out: &mut String, scalar: &Scalar, indent: usize, place: Place) {
    let text = scalar.text.as_str();
    match scalar.style {
        Style::Single if allows_single(text) && (place == Place::Block || !text.contains('\n')) => {
            write_single(out, text, indent + INDENT);
        }
        Style::Literal if place == Place::Block && allows_block(text) => {
            write_literal(out, text, indent + INDENT);
        }
        Style::Folded if place == Place::Block && allows_block(text) => {
            write_folded(out, text, indent + INDENT);
        }
        Style::Plain => write_plain(out, scalar, indent, place),
        _ => write_double(out, text, None),
    }
}

/// Text in single quotes, where a line break is an empty line.
fn write_single(out: &mut String, text: &str, indent: usize) {
    out.push('\'');
    let mut after_break = false;
    for character in text.chars() {
        let is_break = character == '\n';
        if is_break && !after_break {
            out.push('\n');
        } else if !is_break && after_break {
            pad(out, indent);
        }
        if character == '\'' {
            out.push('\'');
        }
        out.push(character);
        after_break = is_break;
    }
    out.push('\'');
}

/// A folded block, with one break too many at its end as the reference writes it.
fn write_folded(out: &mut String, text: &str, indent: usize) {
    write_block_header(out, '>', text);
    let doubles = doubles_breaks(text);
    for line in text.split_inclusive('\n') {
        if line != "\n" {
            pad(out, indent);
        }
        out.push_str(line);
        if doubles && !line.starts_with([' ', '\t', '\n']) && line.ends_with('\n') {
            out.push('\n');
        }
    }
    if !text.ends_with('\n') {
        out.push('\n');
    }
}

fn write_plain(out: &mut String, scalar: &Scalar, indent: usize, place: Place) {
    let text = scalar.text.as_str();
    // Other text in the place of a number keeps the type that was read.
    if !matches!(scalar.tag, Tag::Unset | Tag::Str | Tag::Custom) && plain_tag(text) != scalar.tag {
        out.push_str(scalar.tag.short());
        out.push(' ');
    }
    // A string that reads as something else must differ from it; null may stay empty.
    if matches!(scalar.tag, Tag::Str) && plain_tag(text) != Tag::Str {
        return write_double(out, text, None);
    }
    if text.is_empty() {
        return out.push_str(if place == Place::Block { "" } else { "''" });
    }
    let breaks_flow = place == Place::Flow && text.contains([',', '[', ']', '{', '}']);
    match style_of(text) {
        OutputStyle::Literal if place == Place::Block => write_literal(out, text, indent + INDENT),
        OutputStyle::Literal => write_double(out, text, None),
        OutputStyle::Single => write_single(out, text, indent + INDENT),
        // Doubt about the type was settled above, so quotes are for characters alone.
        OutputStyle::Double if text.bytes().any(|byte| byte < b' ') || !text.is_ascii() => {
            write_double(out, text, None)
        }
        _ if breaks_flow => write_single(out, text, indent + INDENT),
        OutputStyle::Plain | OutputStyle::Double => out.push_str(text),
    }
}
