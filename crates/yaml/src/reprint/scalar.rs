//! Scalars in the style they had, where that style can hold them.

use crate::emit::{OutputStyle, style_of, write_double, write_literal, write_single};
use crate::{Scalar, Style, Tag, resolve::plain_tag};

/// Columns per nesting level.
const INDENT: usize = 2;

/// Where a scalar stands.
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
        Style::Single if !text.contains('\n') => write_single(out, text, None),
        Style::Literal | Style::Folded if place == Place::Block && style_of(text) == OutputStyle::Literal => {
            write_literal(out, text, indent + INDENT);
        }
        Style::Plain => write_plain(out, scalar, indent, place),
        _ => write_double(out, text, None),
    }
}

fn write_plain(out: &mut String, scalar: &Scalar, indent: usize, place: Place) {
    let text = scalar.text.as_str();
    // Other text in the place of a number keeps the type that was read.
    if !matches!(scalar.tag, Tag::Unset | Tag::Str | Tag::Custom) && plain_tag(text) != scalar.tag {
        out.push_str(scalar.tag.short());
        out.push(' ');
    }
    // A string that reads as something else must be told from it; null may stay empty.
    if matches!(scalar.tag, Tag::Str) && plain_tag(text) != Tag::Str {
        return write_double(out, text, None);
    }
    if text.is_empty() {
        return out.push_str(if scalar.tag == Tag::Null { "" } else { "\"\"" });
    }
    let breaks_flow = place == Place::Flow && text.contains([',', '[', ']', '{', '}']);
    match style_of(text) {
        OutputStyle::Literal if place == Place::Block => write_literal(out, text, indent + INDENT),
        OutputStyle::Literal => write_double(out, text, None),
        OutputStyle::Single => write_single(out, text, None),
        // Doubt about the type was settled above, so quotes are for characters alone.
        OutputStyle::Double if text.bytes().any(|byte| byte < b' ') || !text.is_ascii() => {
            write_double(out, text, None)
        }
        _ if breaks_flow => write_single(out, text, None),
        OutputStyle::Plain | OutputStyle::Double => out.push_str(text),
    }
}
