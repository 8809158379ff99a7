//! Types that depend on those of the parts: elements of lists and values of optionals.

use super::Type;

/// Returns the type of a list of these.
pub(super) fn list_of(element: Type) -> Type {
    Type::List(kept(element))
}

/// Lists in lists are not told apart: no result of an expression depends on them.
fn kept(part: Type) -> &'static Type {
    match part {
        Type::Bool => &Type::Bool,
        Type::String => &Type::String,
        Type::Int => &Type::Int,
        Type::Uint => &Type::Uint,
        Type::Double => &Type::Double,
        Type::Bytes => &Type::Bytes,
        Type::Null => &Type::Null,
        Type::Map => &Type::Map,
        Type::List(_) | Type::Optional(_) | Type::Dyn => &Type::Dyn,
    }
}

/// Returns the type of what a loop over the value binds.
pub(super) fn element(range: Type) -> Type {
    if let Type::List(element) = range { *element } else { Type::Dyn }
}

/// Returns the type of a value that is one of two. An empty list takes the type of the other.
pub(super) fn either(one: Type, other: Type) -> Type {
    match (one, other) {
        (Type::List(Type::Dyn), Type::List(_)) => other,
        (Type::List(_), Type::List(Type::Dyn)) => one,
        (Type::List(_), Type::List(_)) if one != other => Type::List(&Type::Dyn),
        _ if one == other => one,
        _ => Type::Dyn,
    }
}

/// Returns the type of a function's result, where it depends on that of the value it is called on.
pub(super) fn of_call(function: &str, on: Type) -> Option<Type> {
    Some(match (function, on) {
        ("_[_]", Type::List(element)) => *element,
        ("first" | "last", Type::List(element)) => Type::Optional(element),
        ("value" | "orValue", Type::Optional(value)) => *value,
        ("or", Type::Optional(_)) => on,
        // Of what is not known yet, Flux turns round texts only.
        ("reverse", Type::String | Type::Dyn) => Type::String,
        ("optional.of" | "optional.ofNonZeroValue", value) => Type::Optional(kept(value)),
        _ => return None,
    })
}

/// Returns true for two types of which no value of the one is a value of the other.
pub(super) fn differ(one: Type, other: Type) -> bool {
    let is_known = |part| !matches!(part, Type::Dyn | Type::Null);
    match (one, other) {
        (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
            differ(*one, *other)
        }
        _ => is_known(one) && is_known(other) && one != other,
    }
}

/// Returns true unless the operator is a comparison of values that cannot be compared. Order, and order alone, is known between
/// numbers of different types, and not known at all of values that have parts.
pub(super) fn compares(operator: &str, one: Type, other: Type) -> bool {
    let is_number = |part| matches!(part, Type::Int | Type::Uint | Type::Double);
    let has_parts = |part| matches!(part, Type::List(_) | Type::Optional(_) | Type::Map);
    match operator {
        "_==_" | "_!=_" => !differ(one, other),
        "_<_" | "_<=_" | "_>_" | "_>=_" => {
            let is_ordered = !differ(one, other) || (is_number(one) && is_number(other));
            is_ordered && !has_parts(one) && !has_parts(other)
        }
        _ => true,
    }
}
