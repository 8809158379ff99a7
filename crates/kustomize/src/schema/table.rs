//! Reads the compact table of the built-in schema. The table is part of the program, so lines that make no sense
//! are a bug that the tests catch; they are skipped here.

use std::collections::HashMap;

use super::{Field, Schema, Type, TypeId};

/// The type of kinds that the table gives no other.
const PLAIN_OBJECT: &str = "Object";

pub(super) fn parse(table: &str) -> Schema {
    let lines = || table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let type_lines: Vec<(&str, &str)> = lines().filter_map(|line| line.split_once(": ")).collect();
    let ids: HashMap<&str, TypeId> =
        type_lines.iter().enumerate().map(|(id, (name, _))| (*name, id)).collect();
    let mut schema = Schema::default();
    for (_, fields) in &type_lines {
        let fields = fields.split(' ').map(|field| parse_field(field, &ids)).collect();
        schema.types.push(Type { fields, additional: None });
    }
    for (owner, names) in lines().filter_map(|line| line.split_once(" = ")) {
        for name in names.split(' ') {
            match owner.strip_prefix('@') {
                Some(package) => add_definition(&mut schema, package, name, &ids),
                None => add_kind(&mut schema, owner, name, &ids),
            }
        }
    }
    schema
}

fn parse_field(text: &str, ids: &HashMap<&str, TypeId>) -> (String, Field) {
    let (text, target) = match text.split_once('>') {
        Some((text, target)) => (text, ids.get(target).copied()),
        None => (text, None),
    };
    match text.split_once('*') {
        Some((name, keys)) => {
            let keys = keys.split(',').filter(|key| !key.is_empty()).map(str::to_owned).collect();
            (name.to_owned(), Field { target, merge_keys: Some(keys) })
        }
        None => (text.to_owned(), Field { target, merge_keys: None }),
    }
}

fn add_kind(schema: &mut Schema, api_version: &str, text: &str, ids: &HashMap<&str, TypeId>) {
    let (kind, type_name) = text.split_once('>').unwrap_or((text, PLAIN_OBJECT));
    let (kind, is_cluster_scoped) = match kind.strip_prefix('!') {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    let key = format!("{api_version}/{kind}");
    if is_cluster_scoped {
        schema.cluster_scoped.insert(key.clone());
    }
    if let Some(id) = ids.get(type_name) {
        schema.kinds.insert(key, *id);
    }
}

fn add_definition(schema: &mut Schema, package: &str, text: &str, ids: &HashMap<&str, TypeId>) {
    let (name, type_name) = text.split_once('>').unwrap_or((text, text));
    if let Some(id) = ids.get(type_name) {
        schema.definitions.insert(format!("{package}.{name}"), *id);
    }
}
