//! The type of an expression, as far as its syntax tree shows it, and errors with their place.

mod overloads;
mod parts;

use std::fmt;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use cel::{ParseErrors, Program};

/// The type of a result; `dyn` where the tree does not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `bool`
    Bool,
    /// `string`
    String,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `double`
    Double,
    /// `bytes`
    Bytes,
    /// `null_type`
    Null,
    /// A list of these.
    List(&'static Self),
    /// An optional of this.
    Optional(&'static Self),
    /// `map(dyn, dyn)`
    Map,
    /// Known only when evaluated.
    Dyn,
    /// Not decided: it becomes the type of the value that it meets, and is shown as `dyn` when it meets none.
    Open,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::String => "string",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::Null => "null_type",
            Self::List(element) => return write!(f, "list({element})"),
            Self::Optional(value) => return write!(f, "optional_type({value})"),
            Self::Map => "map(string, dyn)",
            Self::Dyn | Self::Open => "dyn",
        })
    }
}

/// Names of types, which stand for themselves in expressions such as `type(x) == string`.
const TYPE_NAMES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// Functions by the type of their result, whatever their arguments; `Dyn` where it depends.
const FUNCTIONS: &[(Type, &[&str])] = &[
    (
        Type::Bool,
        &[
            "!_",
            "_&&_",
            "_||_",
            "_==_",
            "_!=_",
            "_<_",
            "_<=_",
            "_>_",
            "_>=_",
            "@in",
            "_in_",
            "contains",
            "startsWith",
            "endsWith",
            "matches",
            "bool",
            "hasValue",
            "@not_strictly_false",
            "sets.contains",
            "sets.equivalent",
            "sets.intersects",
        ],
    ),
    (
        Type::String,
        &[
            "string",
            "lowerAscii",
            "upperAscii",
            "replace",
            "substring",
            "trim",
            "charAt",
            "join",
            "format",
            "strings.quote",
            "base64.encode",
        ],
    ),
    (
        Type::Int,
        &[
            "size",
            "int",
            "indexOf",
            "lastIndexOf",
            "getFullYear",
            "getMonth",
            "getDate",
            "getDayOfMonth",
            "getDayOfWeek",
            "getDayOfYear",
            "getHours",
            "getMinutes",
            "getSeconds",
            "getMilliseconds",
        ],
    ),
    (Type::Uint, &["uint"]),
    (Type::Double, &["double"]),
    (Type::Bytes, &["bytes", "base64.decode"]),
    (Type::List(&Type::Dyn), &["unwrapOpt", "optional.unwrap"]),
    (Type::List(&Type::String), &["split"]),
    (Type::Optional(&Type::Open), &["optional.none"]),
    (
        Type::Dyn,
        &[
            "dyn",
            "type",
            "duration",
            "timestamp",
            "first",
            "last",
            "value",
            "orValue",
            "or",
            "reverse",
            "optional.of",
            "optional.ofNonZeroValue",
            "_[_]",
            "_[?_]",
            "_?._",
            "optMap",
            "optFlatMap",
        ],
    ),
];

/// The type of a program's result; an error when it names a variable or function that does not exist.
pub(super) fn infer(program: &Program, text: &str, variables: &[&str]) -> Result<Type, String> {
    let mut scope: Vec<(&str, Type)> = variables.iter().map(|name| (*name, Type::Map)).collect();
    visit(program.expression(), &mut scope).map_err(|Fault { text: fault, id }| {
        let offset = program.source_info().offset_for(id).map_or(0, |(start, _)| start as usize);
        let before = text.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        pointed(text, line, column, &fault)
    })
}

/// The parser's complaints in the layout of Go's.
pub(super) fn syntax_errors(text: &str, errors: &ParseErrors) -> String {
    let place = |number: isize| usize::try_from(number).unwrap_or(0).saturating_sub(1);
    let lines =
        errors.errors.iter().map(|error| pointed(text, place(error.pos.0), place(error.pos.1), &error.msg));
    lines.collect::<Vec<_>>().join("\n")
}

/// A message with the line it is about and a pointer below the place; both counted from zero.
fn pointed(text: &str, line: usize, column: usize, message: &str) -> String {
    let snippet = text.lines().nth(line).unwrap_or_default();
    let dots = ".".repeat(column);
    format!("ERROR: <input>:{}:{}: {message}\n | {snippet}\n | {dots}^", line + 1, column + 1)
}

/// A fault and the part of the tree that has it.
struct Fault {
    text: String,
    id: u64,
}

impl Fault {
    fn undeclared(name: &str, id: u64) -> Self {
        Self { text: format!("undeclared reference to '{name}' (in container '')"), id }
    }
}

fn visit<'a>(expression: &'a IdedExpr, scope: &mut Vec<(&'a str, Type)>) -> Result<Type, Fault> {
    Ok(match &expression.expr {
        Expr::Unspecified => Type::Dyn,
        Expr::Ident(name) => match scope.iter().rev().find(|(known, _)| known == name) {
            Some((_, known)) => *known,
            None if TYPE_NAMES.contains(&name.as_str()) => Type::Dyn,
            None => return Err(Fault::undeclared(name, expression.id)),
        },
        Expr::Literal(literal) => literal_type(literal),
        Expr::Select(select) => {
            let selected = element_type(&select.operand, scope)?;
            if select.test { Type::Bool } else { selected }
        }
        Expr::Call(call) => call_type(call, expression.id, scope)?,
        Expr::List(list) => {
            let mut elements = None;
            for item in &list.elements {
                join(&mut elements, item, scope)?;
            }
            parts::list_of(elements.unwrap_or(Type::Dyn))
        }
        Expr::Map(_) => {
            element_type(expression, scope)?;
            Type::Map
        }
        Expr::Struct(fields) => {
            for entry in &fields.entries {
                visit_entry(&entry.expr, scope)?;
            }
            Type::Dyn
        }
        Expr::Comprehension(comprehension) => comprehension_type(comprehension, scope)?,
    })
}

/// Returns the type of what a key selects; it is known of a map that the expression spells out.
fn element_type<'a>(map: &'a IdedExpr, scope: &mut Vec<(&'a str, Type)>) -> Result<Type, Fault> {
    let Expr::Map(map) = &map.expr else {
        return visit(map, scope).map(parts::selected);
    };
    let (mut keys, mut values) = (None, None);
    for entry in &map.entries {
        if let EntryExpr::MapEntry(entry) = &entry.expr {
            join(&mut keys, &entry.key, scope)?;
            join(&mut values, &entry.value, scope)?;
        }
    }
    Ok(values.unwrap_or(Type::Dyn))
}

/// Adds one more part to those of a list or map, which are of one type.
fn join<'a>(
    others: &mut Option<Type>,
    part: &'a IdedExpr,
    scope: &mut Vec<(&'a str, Type)>,
) -> Result<(), Fault> {
    let found = visit(part, scope)?;
    if let Some(others) = others.filter(|others| parts::differ(*others, found)) {
        let text = format!("expected type '{others}' but found '{found}'");
        return Err(Fault { text, id: part.id });
    }
    *others = Some(others.map_or(found, |others| parts::either(others, found)));
    Ok(())
}

fn visit_entry<'a>(entry: &'a EntryExpr, scope: &mut Vec<(&'a str, Type)>) -> Result<(), Fault> {
    match entry {
        EntryExpr::StructField(field) => visit(&field.value, scope).map(drop),
        EntryExpr::MapEntry(entry) => {
            visit(&entry.key, scope)?;
            visit(&entry.value, scope).map(drop)
        }
    }
}

fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

fn call_type<'a>(call: &'a CallExpr, id: u64, scope: &mut Vec<(&'a str, Type)>) -> Result<Type, Fault> {
    if let (name @ ("_[_]" | "_[?_]" | "_?._"), [map, key]) = (call.func_name.as_str(), call.args.as_slice())
        && matches!(map.expr, Expr::Map(_))
    {
        let selected = element_type(map, scope)?;
        let selected = if name == "_[_]" { selected } else { parts::optional_of(selected) };
        return visit(key, scope).map(|_| selected);
    }
    let mut name = call.func_name.clone();
    let mut on = None;
    if let Some(target) = call.target.as_deref() {
        match &target.expr {
            // A function of a namespace, such as `base64.encode`, looks like a method of an unknown variable.
            Expr::Ident(space) if is_known(&format!("{space}.{name}")) => name = format!("{space}.{name}"),
            _ => on = Some(visit(target, scope)?),
        }
    }
    let arguments = argument_types(call, &name, scope)?;
    overloads::check(&name, on, &arguments).map_err(|text| Fault { text, id })?;
    if let (Some(on), "or" | "orValue", [other]) = (on, name.as_str(), arguments.as_slice()) {
        return parts::fallen_back(&name, on, *other).map_err(|text| Fault { text, id });
    }
    match (name.as_str(), arguments.as_slice()) {
        (operators::CONDITIONAL, [_, one, other]) => Ok(parts::either(*one, *other)),
        ("_+_", [one @ Type::List(_), other @ Type::List(_)]) => Ok(parts::either(*one, *other)),
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [one, other]) => {
            // A value that is known only later takes the type of the one that is known now.
            Ok(if matches!(one, Type::Dyn | Type::Open) { *other } else { *one })
        }
        ("-_", [one]) => Ok(*one),
        _ => {
            let on = on.or_else(|| arguments.first().copied());
            let yielded = on.and_then(|on| parts::of_call(&name, on)).or_else(|| known(&name));
            yielded.ok_or_else(|| Fault::undeclared(&call.func_name, id))
        }
    }
}

fn argument_types<'a>(
    call: &'a CallExpr,
    name: &str,
    scope: &mut Vec<(&'a str, Type)>,
) -> Result<Vec<Type>, Fault> {
    let mut types = Vec::with_capacity(call.args.len());
    for argument in &call.args {
        types.push(match &argument.expr {
            // A text may be made of values of different types.
            Expr::List(list) if name == "format" => {
                for item in &list.elements {
                    visit(item, scope)?;
                }
                Type::List(&Type::Dyn)
            }
            _ => visit(argument, scope)?,
        });
    }
    for (argument, found) in call.args.iter().zip(&types) {
        overloads::check_operand(name, *found).map_err(|text| Fault { text, id: argument.id })?;
    }
    Ok(types)
}

fn comprehension_type<'a>(
    comprehension: &'a ComprehensionExpr,
    scope: &mut Vec<(&'a str, Type)>,
) -> Result<Type, Fault> {
    let range = visit(&comprehension.iter_range, scope)?;
    let initial = visit(&comprehension.accu_init, scope)?;
    let outer = scope.len();
    match &comprehension.iter_var2 {
        None => scope.push((&comprehension.iter_var, parts::element(range))),
        Some(second) => {
            // The index or the key, and the value.
            scope.push((&comprehension.iter_var, Type::Dyn));
            scope.push((second, parts::element(range)));
        }
    }
    scope.push((&comprehension.accu_var, initial));
    visit(&comprehension.loop_cond, scope)?;
    let stepped = visit(&comprehension.loop_step, scope)?;
    if let (Type::List(_), Some((_, result))) = (initial, scope.last_mut()) {
        *result = parts::either(initial, stepped);
    }
    let yielded = visit(&comprehension.result, scope)?;
    scope.truncate(outer);
    Ok(yielded)
}

fn known(name: &str) -> Option<Type> {
    FUNCTIONS.iter().find(|(_, names)| names.contains(&name)).map(|(yields, _)| *yields)
}

fn is_known(name: &str) -> bool {
    known(name).is_some()
}

#[cfg(test)]
mod tests;
