//! Types that depend on those of the parts: elements of lists and values of optionals.

use super::Type;

/// Returns the type of a list of these.
pub(super) fn list_of(element: Type) -> Type {
    Type::List(kept(element))
}

/// Returns the type of an optional of this.
pub(super) fn optional_of(value: Type) -> Type {
    Type::Optional(kept(value))
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
        Type::Open => &Type::Open,
        Type::List(_) | Type::Optional(_) | Type::Dyn => &Type::Dyn,
    }
}

/// Returns the type of what a loop over the value binds.
pub(super) fn element(range: Type) -> Type {
    if let Type::List(element) = range { *element } else { Type::Dyn }
}

/// Returns the type of what a key selects: of an optional an optional, else it is known only later.
pub(super) fn selected(from: Type) -> Type {
    if matches!(from, Type::Optional(_)) { Type::Optional(&Type::Dyn) } else { Type::Dyn }
}

/// Returns the type of a value that is one of two. An empty list, and an optional that is not decided, take the type of the other.
pub(super) fn either(one: Type, other: Type) -> Type {
    match (one, other) {
        (Type::List(Type::Dyn), Type::List(_)) => other,
        (Type::List(_), Type::List(Type::Dyn)) => one,
        (Type::List(_), Type::List(_)) if one != other => Type::List(&Type::Dyn),
        (Type::Optional(Type::Open), Type::Optional(_)) => other,
        (Type::Optional(_), Type::Optional(Type::Open)) => one,
        _ if one == other => one,
        _ => Type::Dyn,
    }
}

/// Returns the type of a function's result, where it depends on that of the value it is called on.
pub(super) fn of_call(function: &str, on: Type) -> Option<Type> {
    Some(match (function, on) {
        ("_[_]", Type::List(element)) => *element,
        ("_[_]", Type::Optional(_)) => selected(on),
        ("_[?_]" | "first" | "last", Type::List(element)) => Type::Optional(element),
        ("first" | "last", Type::Dyn | Type::Open) => Type::Optional(&Type::Open),
        ("_[?_]", Type::Map) | ("_?._", Type::Map | Type::Dyn | Type::Open | Type::Optional(_)) => {
            Type::Optional(&Type::Dyn)
        }
        ("value", Type::Optional(value)) => *value,
        ("value", Type::Dyn | Type::Open) => Type::Open,
        // Of what is not known yet, Flux turns round texts only.
        ("reverse", Type::String | Type::Dyn | Type::Open) => Type::String,
        ("optional.of" | "optional.ofNonZeroValue", value) => optional_of(value),
        _ => return None,
    })
}

/// Returns the type of `on.or(other)` and `on.orValue(other)`, or the fault that they do not go together. A value whose type is
/// known only later takes that of what stands in for it.
pub(super) fn fallen_back(function: &str, on: Type, other: Type) -> Result<Type, String> {
    let fault = || Err(format!("found no matching overload for '{function}' applied to '{on}.({other})'"));
    let open = Type::Optional(&Type::Open);
    let on_optional = if matches!(on, Type::Dyn | Type::Open) { open } else { on };
    match (function, on_optional, other) {
        ("or", Type::Optional(_), Type::Dyn | Type::Open) => Ok(on_optional),
        ("or", Type::Optional(_), Type::Optional(_)) if differ(on_optional, other) => fault(),
        ("or", Type::Optional(_), Type::Optional(_)) => Ok(either(on_optional, other)),
        ("orValue", Type::Optional(Type::Open), _) => Ok(other),
        ("orValue", Type::Optional(value), _) if differ(*value, other) => fault(),
        ("orValue", Type::Optional(value), _) => Ok(if other == Type::Dyn { other } else { *value }),
        _ => fault(),
    }
}

/// Returns true for two types of which no value of the one is a value of the other.
pub(super) fn differ(one: Type, other: Type) -> bool {
    let is_known = |part| !matches!(part, Type::Dyn | Type::Open | Type::Null);
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
