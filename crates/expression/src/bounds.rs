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
    let mut quote = None;
    let mut is_escaped = false;
    for character in text.chars() {
        match (quote, character) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            // A ternary recurses like a bracket that is closed at the very end.
            (None, '(' | '[' | '{' | '?') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, '+' | '-' | '*' | '/' | '%' | '!' | '&' | '|' | '<' | '>' | '=' | '.') => operators += 1,
            (None, _) => {}
        }
        if operators > MAX_OPERATORS {
            return Err(format!("expression has more than {MAX_OPERATORS} operators"));
        }
        if depth > MAX_NESTING {
            return Err(format!("expression is nested deeper than {MAX_NESTING} levels"));
        }
    }
    Ok(())
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
