//! Findings as one screen.

use super::finding::{Finding, State};
use crate::output::plain;

/// Lines of a message that are shown; the first ones name the cause.
const MAX_LINES: usize = 4;

/// Returns the report about an object.
pub(super) fn of(found: &Finding) -> String {
    let mut text = format!("{} {}: {}\n", symbol(found.state), found.subject, found.headline);
    message(found, "  ", &mut text);
    branches(&found.below, "", &mut text);
    let mut hints = found.hints();
    let mut seen = Vec::new();
    hints.retain(|hint| {
        let is_new = !seen.contains(hint);
        seen.push(*hint);
        is_new
    });
    if hints.is_empty() {
        text.push_str("\nNothing is in its way.\n");
    } else {
        text.push_str("\nThis would unblock it:\n");
        hints.iter().for_each(|hint| text.push_str(&format!("  {hint}\n")));
    }
    plain(&text)
}

fn branches(findings: &[Finding], indent: &str, text: &mut String) {
    for (index, found) in findings.iter().enumerate() {
        let is_last = index + 1 == findings.len();
        let (branch, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        let Finding { subject, role, state, headline, .. } = found;
        text.push_str(&format!("{indent}{branch}{} {role} {subject}: {headline}\n", symbol(*state)));
        let indent = format!("{indent}{below}");
        if *state != State::Ready {
            message(found, &format!("{indent}  "), text);
        }
        branches(&found.below, &indent, text);
    }
}

fn message(found: &Finding, indent: &str, text: &mut String) {
    let lines = found.message.lines().map(str::trim_end).filter(|line| !line.is_empty()).take(MAX_LINES);
    lines.for_each(|line| text.push_str(&format!("{indent}{line}\n")));
}

fn symbol(state: State) -> &'static str {
    match state {
        State::Ready => "✔",
        State::Waiting => "◎",
        State::Suspended | State::Unseen => "⚠️",
        State::Failed | State::Missing => "✗",
        State::Hidden => "?",
    }
}
