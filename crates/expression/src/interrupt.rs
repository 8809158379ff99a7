//! Loops that end when the caller gives up: the evaluator has no limit of its own (KS-DEP-10).

use std::sync::atomic::{AtomicBool, Ordering};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, operators};
use cel::common::types::CelBool;
use cel::common::value::CowVal;
use cel::context::VariableResolver;

use super::go;

/// A variable that is there while the evaluation may go on. No expression can name it: `@` is no part of a name.
const GOES_ON: &str = "@goes_on";

/// The limit of one evaluation.
pub(super) struct Limit<F> {
    may_go_on: F,
    is_reached: AtomicBool,
}

impl<F: Fn() -> bool + Send + Sync> Limit<F> {
    /// Makes a limit that is reached once `may_go_on` returns false. Each turn of each loop asks it.
    pub(super) fn new(may_go_on: F) -> Self {
        Self { may_go_on, is_reached: AtomicBool::new(false) }
    }

    /// Returns true when the evaluation was ended, so that its result means nothing.
    pub(super) fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }
}

impl<F: Fn() -> bool + Send + Sync> VariableResolver for Limit<F> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        if variable != GOES_ON {
            return None;
        }
        // Loops around this one end too, whatever the caller says later.
        if self.is_reached() || !(self.may_go_on)() {
            self.is_reached.store(true, Ordering::Relaxed);
            return None;
        }
        Some(CowVal::Borrowed(&CelBool::TRUE))
    }
}

/// The same expression, with loops that ask at each turn if they may go on, and with the functions of `go`.
pub(super) fn interruptible(expression: &IdedExpr) -> IdedExpr {
    let mut expression = expression.clone();
    rewrite(&mut expression);
    expression
}

fn rewrite(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Comprehension(comprehension) => {
            let ComprehensionExpr { iter_range, accu_init, loop_cond, loop_step, result, .. } =
                &mut **comprehension;
            [iter_range, accu_init, loop_cond, loop_step, result].into_iter().for_each(rewrite);
            watch(comprehension);
        }
        Expr::Call(call) => call.target.as_deref_mut().into_iter().chain(&mut call.args).for_each(rewrite),
        Expr::List(list) => list.elements.iter_mut().for_each(rewrite),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| rewrite_entry(&mut entry.expr)),
        Expr::Struct(fields) => fields.entries.iter_mut().for_each(|entry| rewrite_entry(&mut entry.expr)),
        Expr::Select(select) => rewrite(&mut select.operand),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
    }
    go::replace(expression);
}

fn rewrite_entry(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::StructField(field) => rewrite(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            rewrite(&mut entry.key);
            rewrite(&mut entry.value);
        }
    }
}

/// Makes a loop ask in a part that each of its turns evaluates.
fn watch(comprehension: &mut ComprehensionExpr) {
    let is_endless = matches!(comprehension.loop_cond.expr, Expr::Literal(_));
    // The evaluator knows `map` and `filter` by their form, to which the condition belongs: with another one they would copy
    // their list at each turn.
    let in_step = if is_endless { part_of_each_turn(&mut comprehension.loop_step) } else { None };
    ask(in_step.unwrap_or(&mut comprehension.loop_cond));
}

/// The condition of `filter`, or the item of `map`.
fn part_of_each_turn(step: &mut IdedExpr) -> Option<&mut IdedExpr> {
    let Expr::Call(CallExpr { func_name, args, .. }) = &mut step.expr else { return None };
    match (func_name.as_str(), args.as_mut_slice()) {
        (operators::CONDITIONAL, [condition, ..]) => Some(condition),
        (operators::ADD, [_, IdedExpr { expr: Expr::List(list), .. }]) => list.elements.first_mut(),
        _ => None,
    }
}

/// Replaces a part by one of the same value that fails at the limit. A conditional does, `&&` would absorb the failure.
fn ask(part: &mut IdedExpr) {
    let goes_on = || IdedExpr { id: part.id, expr: Expr::Ident(GOES_ON.to_owned()) };
    let args = vec![goes_on(), part.clone(), goes_on()];
    part.expr = Expr::Call(CallExpr { func_name: operators::CONDITIONAL.to_owned(), target: None, args });
}
