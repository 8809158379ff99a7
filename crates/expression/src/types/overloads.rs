//! Functions and operators by the types that they take. Only types that the tree shows can be wrong.

use super::Type;
use super::parts::{compares, differ};

/// A type without its parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Bytes,
    Double,
    Int,
    List,
    Map,
    Optional,
    Text,
    Uint,
}

/// A method: the kinds that it is called on, the arguments that it needs, and those that may follow.
struct Method {
    names: &'static [&'static str],
    on: &'static [Kind],
    needed: &'static [Kind],
    more: &'static [Kind],
}

use self::Kind::{Bool, Bytes, Double, Int, List, Map, Optional, Text, Uint};

const METHODS: [Method; 13] = [
    Method {
        names: &["contains", "startsWith", "endsWith", "matches"],
        on: &[Text],
        needed: &[Text],
        more: &[],
    },
    Method { names: &["lowerAscii", "upperAscii", "trim", "reverse"], on: &[Text], needed: &[], more: &[] },
    Method { names: &["split", "indexOf", "lastIndexOf"], on: &[Text], needed: &[Text], more: &[Int] },
    Method { names: &["replace"], on: &[Text], needed: &[Text, Text], more: &[Int] },
    Method { names: &["substring"], on: &[Text], needed: &[Int], more: &[Int] },
    Method { names: &["charAt"], on: &[Text], needed: &[Int], more: &[] },
    Method { names: &["format"], on: &[Text], needed: &[List], more: &[] },
    Method { names: &["join"], on: &[List], needed: &[], more: &[Text] },
    Method { names: &["first", "last", "unwrapOpt"], on: &[List], needed: &[], more: &[] },
    Method { names: &["value", "hasValue"], on: &[Optional], needed: &[], more: &[] },
    Method { names: &["size"], on: &[Bytes, List, Map, Text], needed: &[], more: &[] },
    Method { names: &["!_"], on: &[Bool], needed: &[], more: &[] },
    Method { names: &["-_"], on: &[Double, Int], needed: &[], more: &[] },
];

/// Functions of one argument, which are checked as methods of it.
const UNARY: [&str; 3] = ["size", "!_", "-_"];

/// Returns the kind of a type; of a value that is known only later, and of null, there is none.
fn kind(of: Type) -> Option<Kind> {
    Some(match of {
        Type::Bool => Bool,
        Type::Bytes => Bytes,
        Type::Double => Double,
        Type::Int => Int,
        Type::List(_) => List,
        Type::Map => Map,
        Type::Optional(_) => Optional,
        Type::String => Text,
        Type::Uint => Uint,
        Type::Null | Type::Dyn | Type::Open => return None,
    })
}

/// Returns the fault of a call whose function does not take these.
pub(super) fn check(name: &str, on: Option<Type>, arguments: &[Type]) -> Result<(), String> {
    let fits = match (on, arguments) {
        (Some(on), _) => is_method_of(name, on, arguments),
        (None, [one]) if UNARY.contains(&name) => is_method_of(name, *one, &[]),
        (None, [one, other]) => compares(name, *one, *other) && computes(name, *one, *other),
        (None, [condition, _, _]) if name == "_?_:_" => kind(*condition).is_none_or(|kind| kind == Bool),
        _ => true,
    };
    if fits {
        return Ok(());
    }
    let on = on.map(|on| format!("{on}.")).unwrap_or_default();
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    Err(format!("found no matching overload for '{name}' applied to '{on}({})'", arguments.join(", ")))
}

/// Returns the fault of an operand of `&&` and `||`.
pub(super) fn check_operand(name: &str, operand: Type) -> Result<(), String> {
    match kind(operand) {
        Some(kind) if matches!(name, "_&&_" | "_||_") && kind != Bool => {
            Err(format!("expected type 'bool' but found '{operand}'"))
        }
        _ => Ok(()),
    }
}

fn is_method_of(name: &str, on: Type, arguments: &[Type]) -> bool {
    let Some(method) = METHODS.iter().find(|method| method.names.contains(&name)) else { return true };
    let most = method.needed.len() + method.more.len();
    let wanted = method.needed.iter().chain(method.more);
    kind(on).is_none_or(|kind| method.on.contains(&kind))
        && (method.needed.len()..=most).contains(&arguments.len())
        && arguments.iter().zip(wanted).all(|(given, wanted)| kind(*given).is_none_or(|kind| kind == *wanted))
}

/// Returns true unless the operator is one of arithmetic that these types do not have.
fn computes(operator: &str, one: Type, other: Type) -> bool {
    let takes: &[Kind] = match operator {
        "_+_" => &[Bytes, Double, Int, List, Text, Uint],
        "_-_" | "_*_" | "_/_" => &[Double, Int, Uint],
        "_%_" => &[Int, Uint],
        _ => return true,
    };
    let is_taken = |operand| kind(operand).is_none_or(|kind| takes.contains(&kind));
    is_taken(one) && is_taken(other) && !differ(one, other)
}
