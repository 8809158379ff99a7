//! Bounds that the evaluator does not have itself.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// Bytes of an expression; the longest in Flux's documentation has 200.
const MAX_TEXT: usize = 4 * 1024;
/// Brackets in brackets. The parser recurses for each; 32 are safe by far on the stack below.
const MAX_NESTING: usize = 32;
/// Operators and selections. A chain of them is a tree as deep as it is long, and the parser recurses along it.
const MAX_OPERATORS: usize = 256;
/// Loops in loops: with two of them the work is at most the square of the number of values.
const MAX_LOOPS: usize = 2;
/// The parser needs 100 KiB per level in a debug build, and chains of operators recurse as well.
const STACK: usize = 64 * 1024 * 1024;

/// Refuses what is too long or too deep before the parser sees it.
pub(super) fn check_text(text: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT {
        return Err(format!("expression is longer than {MAX_TEXT} bytes"));
    }
    let mut depth = 0_usize;
    let mut operators = 0_usize;
    let mut rest = text;
    loop {
        let mut characters = rest.chars();
        let Some(character) = characters.next() else { return Ok(()) };
        if let Some(after) = after_opaque(rest) {
            rest = after;
            continue;
        }
        rest = characters.as_str();
        match character {
            // A ternary recurses like a bracket that is closed at the very end.
            '(' | '[' | '{' | '?' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '+' | '-' | '*' | '/' | '%' | '!' | '&' | '|' | '<' | '>' | '=' | '.' => operators += 1,
            _ => {}
        }
        if operators > MAX_OPERATORS {
            return Err(format!("expression has more than {MAX_OPERATORS} operators"));
        }
        if depth > MAX_NESTING {
            return Err(format!("expression is nested deeper than {MAX_NESTING} levels"));
        }
    }
}

/// Returns what follows the comment, quoted name, word or text literal at the beginning, if there is one: no bracket or operator
/// of it counts.
fn after_opaque(text: &str) -> Option<&str> {
    if let Some(comment) = text.strip_prefix("//") {
        return Some(comment.split_once('\n').map_or("", |(_, after)| after));
    }
    if let Some(name) = text.strip_prefix('`') {
        return Some(name.split_once('`').map_or("", |(_, after)| after));
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    let is_raw = ["r", "br", "rb"].iter().any(|prefix| word.eq_ignore_ascii_case(prefix));
    let is_literal =
        after.starts_with(['"', '\'']) && (is_raw || word.is_empty() || word.eq_ignore_ascii_case("b"));
    if is_literal { Some(after_literal(after, is_raw)) } else { Some(after).filter(|_| end > 0) }
}

/// Returns what follows the literal whose quote is at the beginning. Backslashes quote nothing in a raw one.
fn after_literal(text: &str, is_raw: bool) -> &str {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let quote = quotes.into_iter().find(|quote| text.starts_with(quote)).unwrap_or_default();
    let mut rest = text.strip_prefix(quote).unwrap_or_default();
    while !rest.starts_with(quote) {
        let mut characters = rest.chars();
        match characters.next() {
            Some('\\') if !is_raw => drop(characters.next()),
            Some(_) => {}
            None => return "",
        }
        rest = characters.as_str();
    }
    rest.strip_prefix(quote).unwrap_or_default()
}

/// Refuses loops in loops in loops.
pub(super) fn check_loops(expression: &IdedExpr) -> Result<(), String> {
    if loops(expression) > MAX_LOOPS {
        return Err(format!("more than {MAX_LOOPS} comprehensions are nested"));
    }
    Ok(())
}

fn loops(expression: &IdedExpr) -> usize {
    let deepest = |parts: &[&IdedExpr]| parts.iter().map(|part| loops(part)).max().unwrap_or(0);
    match &expression.expr {
        Expr::Comprehension(comprehension) => {
            let body = deepest(&[&comprehension.loop_cond, &comprehension.loop_step]) + 1;
            body.max(deepest(&[&comprehension.iter_range, &comprehension.accu_init, &comprehension.result]))
        }
        Expr::Call(call) => {
            let parts: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
            deepest(&parts)
        }
        Expr::List(list) => deepest(&list.elements.iter().collect::<Vec<_>>()),
        Expr::Map(map) => map.entries.iter().map(|entry| entry_loops(&entry.expr)).max().unwrap_or(0),
        Expr::Struct(fields) => {
            fields.entries.iter().map(|entry| entry_loops(&entry.expr)).max().unwrap_or(0)
        }
        Expr::Select(select) => loops(&select.operand),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 0,
    }
}

fn entry_loops(entry: &EntryExpr) -> usize {
    match entry {
        EntryExpr::StructField(field) => loops(&field.value),
        EntryExpr::MapEntry(entry) => loops(&entry.key).max(loops(&entry.value)),
    }
}

/// Runs on a thread of its own with a large stack, and waits for it: to be called where blocking is allowed.
pub(super) fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().name("cel".to_owned()).stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("no thread to evaluate on: {error}"))?;
        thread.join().map_err(|_| "the evaluator failed".to_owned())
    })
}
