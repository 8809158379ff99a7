//! Functions that Flux's expressions have and the evaluator lacks: ends of lists, values of optionals in lists, and sets (DEP-CEL-2).

use cel::common::types::{CelBool, CelList, CelOptional, LIST_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

pub(super) type Outcome<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// Adds `first`, `last`, `unwrapOpt`, `optional.unwrap`, `sets.contains`, `sets.equivalent` and `sets.intersects`.
pub(super) fn extension(environment: &mut Env) -> Result<(), DeclarationError> {
    environment.add_member_overload("first", "list.first()", LIST_TYPE, vec![], first)?;
    environment.add_member_overload("last", "list.last()", LIST_TYPE, vec![], last)?;
    environment.add_member_overload("unwrapOpt", "list.unwrapOpt()", LIST_TYPE, vec![], unwrap)?;
    environment.add_overload("optional.unwrap", "optional.unwrap(list)", vec![LIST_TYPE], unwrap)?;
    let lists = || vec![LIST_TYPE, LIST_TYPE];
    environment.add_overload("sets.contains", "sets.contains(list,list)", lists(), contains)?;
    environment.add_overload("sets.equivalent", "sets.equivalent(list,list)", lists(), equivalent)?;
    environment.add_overload("sets.intersects", "sets.intersects(list,list)", lists(), intersects)
}

fn first<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Outcome<'b, 'v> {
    let [list] = take(arguments)?;
    Ok(optional(elements(list.as_ref())?.into_iter().next()))
}

fn last<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Outcome<'b, 'v> {
    let [list] = take(arguments)?;
    Ok(optional(elements(list.as_ref())?.pop()))
}

fn unwrap<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Outcome<'b, 'v> {
    let [list] = take(arguments)?;
    let mut values = Vec::new();
    for element in elements(list.as_ref())? {
        let optional =
            element.downcast_ref::<CelOptional>().ok_or_else(|| unexpected(&*element, "optional_type"))?;
        values.extend(optional.option().map(Val::clone_as_boxed));
    }
    Ok(CowVal::owned(CelList::from(values)))
}

fn contains<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Outcome<'b, 'v> {
    let [set, part] = take(arguments)?;
    let verdict = is_part(&elements(part.as_ref())?, &elements(set.as_ref())?);
    Ok(CowVal::owned(CelBool::from(verdict)))
}

fn equivalent<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Outcome<'b, 'v> {
    let [one, other] = take(arguments)?;
    let (one, other) = (elements(one.as_ref())?, elements(other.as_ref())?);
    Ok(CowVal::owned(CelBool::from(is_part(&one, &other) && is_part(&other, &one))))
}

fn intersects<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Outcome<'b, 'v> {
    let [one, other] = take(arguments)?;
    let (one, other) = (elements(one.as_ref())?, elements(other.as_ref())?);
    let verdict = one.iter().any(|element| other.iter().any(|another| element.equals(another.as_ref())));
    Ok(CowVal::owned(CelBool::from(verdict)))
}

fn is_part<'v>(part: &[Box<dyn Val + 'v>], whole: &[Box<dyn Val + 'v>]) -> bool {
    part.iter().all(|element| whole.iter().any(|another| element.equals(another.as_ref())))
}

fn optional<'b, 'v>(element: Option<Box<dyn Val + 'v>>) -> CowVal<'b, 'v> {
    CowVal::owned(element.map_or_else(CelOptional::none, CelOptional::of))
}

pub(super) fn take<'b, 'v, const N: usize>(
    arguments: Vec<CowVal<'b, 'v>>,
) -> Result<[CowVal<'b, 'v>; N], ExecutionError> {
    let given = arguments.len();
    arguments.try_into().map_err(|_| ExecutionError::invalid_argument_count(N, given))
}

fn elements<'v>(list: &(dyn Val + 'v)) -> Result<Vec<Box<dyn Val + 'v>>, ExecutionError> {
    let iterable = list.as_iterable().ok_or_else(|| unexpected(list, "list"))?;
    let mut iterator = iterable.iter();
    let mut elements = Vec::new();
    while let Some(element) = iterator.next() {
        elements.push(element.clone_as_boxed());
    }
    Ok(elements)
}

fn unexpected(value: &dyn Val, wanted: &str) -> ExecutionError {
    ExecutionError::UnexpectedType { got: value.get_type().name().to_owned(), want: wanted.to_owned() }
}
