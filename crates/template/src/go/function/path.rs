//! Slash-separated paths; those of the system are the same, as Flux runs on Linux.

use super::{Function, text};
use crate::go::value::Value;

pub(super) fn find(name: &str) -> Option<Function> {
    match name {
        "base" | "osBase" => Function::exactly(1, |a| Ok(Value::text(base(text(a, 0)?)))),
        "dir" | "osDir" => Function::exactly(1, |a| Ok(Value::text(dir(text(a, 0)?)))),
        "ext" | "osExt" => Function::exactly(1, |a| Ok(Value::text(ext(text(a, 0)?)))),
        "clean" | "osClean" => Function::exactly(1, |a| Ok(Value::text(clean(text(a, 0)?)))),
        "isAbs" | "osIsAbs" => Function::exactly(1, |a| Ok(Value::Bool(text(a, 0)?.starts_with('/')))),
        _ => None,
    }
}

fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        _ if path.is_empty() => ".",
        Some("") | None => "/",
        Some(last) => last,
    }
}

fn dir(path: &str) -> String {
    clean(path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or_default())
}

fn ext(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').and_then(|dot| name.get(dot..)).unwrap_or_default()
}

/// The shortest path that means the same.
fn clean(path: &str) -> String {
    let is_rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_rooted => {}
            other => parts.push(other),
        }
    }
    match (is_rooted, parts.join("/")) {
        (true, joined) => format!("/{joined}"),
        (false, joined) if joined.is_empty() => ".".to_owned(),
        (false, joined) => joined,
    }
}
