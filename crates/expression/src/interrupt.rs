//! Loops that end when their time is over: the evaluator does not look at a clock (KS-DEP-10).

use std::sync::atomic::{AtomicBool, Ordering};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, operators};
use cel::common::types::CelBool;
use cel::common::value::CowVal;
use cel::context::VariableResolver;

use super::go;

/// A variable that is there while there is time. No expression can name it: `@` is no part of a name.
const TIME: &str = "@time";

/// The time of one evaluation.
pub(super) struct Time<F> {
    has_time: F,
    is_over: AtomicBool,
}

impl<F: Fn() -> bool + Send + Sync> Time<F> {
    /// There is time for as long as `has_time` says so, which each turn of each loop asks.
    pub(super) fn new(has_time: F) -> Self {
        Self { has_time, is_over: AtomicBool::new(false) }
    }

    /// Returns true when the evaluation was ended, so that its result means nothing.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl<F: Fn() -> bool + Send + Sync> VariableResolver for Time<F> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        if variable != TIME {
            return None;
        }
        // Loops around this one end too, even where the clock would say otherwise.
        if self.is_over() || !(self.has_time)() {
            self.is_over.store(true, Ordering::Relaxed);
            return None;
        }
        Some(CowVal::Borrowed(&CelBool::TRUE))
    }
}

/// The same expression, with loops that look at each turn whether there is time, and with the functions of `go`.
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

/// Makes a loop look at the time where each of its turns comes by.
fn watch(comprehension: &mut ComprehensionExpr) {
    let is_endless = matches!(comprehension.loop_cond.expr, Expr::Literal(_));
    // The evaluator knows `map` and `filter` by their form, to which the condition belongs: with another one they would copy
    // their list at each turn.
    let in_step = if is_endless { part_of_each_turn(&mut comprehension.loop_step) } else { None };
    look(in_step.unwrap_or(&mut comprehension.loop_cond));
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

/// Replaces a part by one of the same value that fails without time. A conditional does, `&&` would absorb the failure.
fn look(part: &mut IdedExpr) {
    let time = || IdedExpr { id: part.id, expr: Expr::Ident(TIME.to_owned()) };
    let args = vec![time(), part.clone(), time()];
    part.expr = Expr::Call(CallExpr { func_name: operators::CONDITIONAL.to_owned(), target: None, args });
}
