//! Fields inside JSON or YAML that is itself the text of a field (KZ-1111).

use weir_yaml::{Limits, Node, Source, Tag, parse_first_document, write_json_pretty};

use crate::Error;
use crate::path::{self, Creating, Part};

/// Follows `path` into text, changes what it leads to and writes the text again: of the elements that `[key=value]`
/// matches, the first one's. `false` when the path does not lead into text that can be read; then nothing has changed.
pub(super) fn set(
    document: &mut Node,
    path: &[Part],
    creating: Creating,
    put: &mut dyn FnMut(&mut Node) -> Result<(), Error>,
) -> bool {
    let Some((text, rest)) = find_text(document, path) else { return false };
    let Some(written) = changed(&text, rest, creating, put) else { return false };
    let above = path.get(..path.len() - rest.len()).unwrap_or_default();
    // The text is there, so that nothing is made.
    let Ok(Some(Node::Scalar(scalar))) = path::find_or_make(document, above) else { return false };
    scalar.text = written.as_str().into();
    true
}

/// The first scalar on the way, if the path goes on behind it.
fn find_text<'p>(document: &Node, path: &'p [Part]) -> Option<(String, &'p [Part])> {
    for length in 1..path.len() {
        let (above, rest) = path.split_at_checked(length)?;
        if let Ok(Some(Node::Scalar(scalar))) = path::get(document, above) {
            return Some((scalar.text.to_string(), rest));
        }
    }
    None
}

fn changed(
    text: &str,
    path: &[Part],
    creating: Creating,
    put: &mut dyn FnMut(&mut Node) -> Result<(), Error>,
) -> Option<String> {
    let limits = Limits::default();
    let source = Source::file("", text.to_owned());
    let mut node = parse_first_document(&source, &limits).ok()??;
    if path::visit(&mut node, path, creating, put).ok()? == 0 {
        return None;
    }
    if text.trim_start().starts_with(['{', '[']) {
        return as_json(&node, text);
    }
    weir_yaml::reprint(&source, &node).ok().map(|text| text.trim().to_owned())
}

/// The reference prints JSON as YAML before, where text without characters gets quotes in brackets.
fn with_quoted_empties(node: &Node) -> Node {
    match node {
        Node::Scalar(scalar) if scalar.text.is_empty() && matches!(scalar.tag, Tag::Unset | Tag::Null) => {
            Node::string("")
        }
        Node::Scalar(_) => node.clone(),
        Node::Seq(items) => Node::Seq(items.iter().map(with_quoted_empties).collect()),
        Node::Map(map) => {
            let mut map = map.clone();
            map.entries.iter_mut().for_each(|entry| entry.value = with_quoted_empties(&entry.value));
            Node::Map(map)
        }
    }
}

/// JSON is indented again if it was before.
fn as_json(node: &Node, original: &str) -> Option<String> {
    let node = &with_quoted_empties(node);
    let mut out = String::new();
    if original.contains('\n') && original.contains("  ") {
        write_json_pretty(node, &mut out).ok()?;
    } else {
        node.write_go_json(&mut out).ok()?;
    }
    Some(out)
}
