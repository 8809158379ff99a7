//! `vars`: values of fields written as `$(NAME)` elsewhere (§11.2).

pub(crate) mod error;
mod expand;

use std::collections::{BTreeMap, HashSet};

use weir_yaml::{Node, Scalar, Style, Tag, Value, format_float64};

use self::error::VarError;
use crate::build::Build;
use crate::config::Config;
use crate::fieldspec::{CompiledSpecs, Creation};
use crate::id::Gvk;
use crate::kustomization::{ObjectReference, Var};
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::{Error, Warning, path};

/// The vars of a build so far; resources that vars mean carry the names of those vars.
#[derive(Debug, Default)]
pub(crate) struct BoundVars {
    vars: Vec<Var>,
}

impl BoundVars {
    /// Adds the vars of a base.
    pub(crate) fn append(&mut self, other: Self) -> Result<(), Error> {
        other.vars.into_iter().try_for_each(|var| self.add(var))
    }

    fn add(&mut self, var: Var) -> Result<(), Error> {
        if self.vars.iter().any(|known| known.name == var.name) {
            return Err(VarError::Repeated(var.name).into());
        }
        self.vars.push(var);
        Ok(())
    }

    /// Finds the resources that new vars mean, as they are named at this level.
    pub(crate) fn bind(
        &mut self,
        vars: &[Var],
        resources: &mut ResMap,
        schema: &Schema,
    ) -> Result<(), Error> {
        for var in vars {
            let meant: Vec<usize> = resources
                .iter()
                .enumerate()
                .filter(|(_, resource)| !resource.is_empty() && is_meant(var, resource, schema))
                .map(|(position, _)| position)
                .collect();
            match meant.as_slice() {
                [] => {}
                [position] => {
                    if let Some(resource) = resources.content_mut(*position) {
                        resource.var_names.push(var.name.clone());
                    }
                }
                several => {
                    return Err(VarError::Ambiguous { count: several.len(), var: described(var) }.into());
                }
            }
        }
        vars.iter().try_for_each(|var| self.add(var.clone()))
    }
}

fn gvk(var: &Var) -> Gvk<'_> {
    let object = &var.object;
    if object.api_version.is_empty() {
        return Gvk { group: &object.group, version: &object.version, kind: &object.kind };
    }
    Gvk::new(&object.api_version, &object.kind)
}

/// Without a namespace, a var finds its object in any; with one, it finds none that is cluster-scoped.
fn is_meant(var: &Var, resource: &Resource, schema: &Schema) -> bool {
    let (wanted, ObjectReference { name, namespace, .. }) = (gvk(var), &var.object);
    resource.any_ids().any(|id| {
        id.gvk == wanted
            && id.name == *name
            && (namespace.is_empty() || id.effective_namespace(schema) == namespace.as_str())
    })
}

fn described(var: &Var) -> String {
    let field = if var.field_path.is_empty() { "metadata.name" } else { &var.field_path };
    format!("{{{} {} {{{field}}}}}", var.name, gvk(var))
}

/// Replaces `$(NAME)` in every field that may hold vars.
///
/// # Errors
/// A var has no value, or a field holds something unexpected.
pub(crate) fn resolve(
    build: &Build<'_>,
    BoundVars { vars }: BoundVars,
    config: &Config,
    resources: &mut ResMap,
) -> Result<(), Error> {
    if vars.is_empty() {
        return Ok(());
    }
    let mut values = BTreeMap::new();
    // Of several without an object, the reference names the first in this order.
    let mut sorted: Vec<&Var> = vars.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    for var in sorted {
        values.insert(var.name.clone(), value_of(var, resources)?);
    }
    let mut used = HashSet::new();
    let specs = CompiledSpecs::new(&config.var_reference);
    for resource in resources.iter_mut() {
        specs.apply(resource, Creation::Never, |node| expand_in(node, &values, &mut used))?;
        resource.follow_shared();
    }
    let unused: Vec<String> = values.into_keys().filter(|name| !used.contains(name)).collect();
    if !unused.is_empty() {
        build.warn(Warning::UnusedVars(unused));
    }
    Ok(())
}

/// The value of a var; `None` when it is a mapping or list, which is not substituted.
fn value_of(var: &Var, resources: &ResMap) -> Result<Option<Scalar>, Error> {
    let carries = |resource: &&Resource| resource.var_names.contains(&var.name);
    let Some(resource) = resources.iter().find(carries) else {
        return Err(VarError::Unbound(described(var)).into());
    };
    let field = if var.field_path.is_empty() { "metadata.name" } else { &var.field_path };
    match path::get(&resource.node, &path::split_with_indexes(field)) {
        Ok(Some(Node::Scalar(scalar))) => {
            let value = typed(scalar).ok_or_else(|| VarError::NoField(described(var)))?;
            Ok(Some(value))
        }
        Ok(Some(_)) => Ok(None),
        Ok(None) | Err(_) => Err(VarError::NoField(described(var)).into()),
    }
}

/// Returns a var's value with the type of its tag; text without tag is a string. The text of an integer is read as a decimal
/// number, which `0644` is and `0x10` is not; infinite numbers are none.
fn typed(scalar: &Scalar) -> Option<Scalar> {
    let text = &scalar.text;
    let (text, tag) = match scalar.tag {
        Tag::Int => (text.parse::<i64>().ok()?.to_string(), Tag::Int),
        Tag::Float => match scalar.value().ok()? {
            Value::Float(value) if value.is_finite() => (format_float64(value), Tag::Float),
            _ => return None,
        },
        Tag::Bool => match scalar.value().ok()? {
            Value::Bool(value) => (value.to_string(), Tag::Bool),
            _ => return None,
        },
        _ => return Some(Scalar::tagged(text.clone(), Tag::Str)),
    };
    Some(Scalar::tagged(text, tag))
}

/// Values by name.
type Values = BTreeMap<String, Option<Scalar>>;

fn expand_in(node: &mut Node, values: &Values, used: &mut HashSet<String>) -> Result<(), Error> {
    match node {
        node if node.is_null() => {}
        Node::Map(map) => {
            for entry in &mut map.entries {
                expand_string(&mut entry.value, values, used);
            }
        }
        Node::Seq(items) => {
            if !items.iter_mut().all(|item| expand_string(item, values, used)) {
                return Err(VarError::NotAString.into());
            }
        }
        Node::Scalar(_) => {
            expand_string(node, values, used);
        }
    }
    Ok(())
}

/// Replaces the references in a string; returns false for any other node.
fn expand_string(node: &mut Node, values: &Values, used: &mut HashSet<String>) -> bool {
    match node {
        Node::Scalar(scalar) if is_string(scalar) => {
            *scalar = expand::expand(&scalar.text, values, used);
            true
        }
        _ => false,
    }
}

fn is_string(scalar: &Scalar) -> bool {
    matches!(scalar.tag, Tag::Str | Tag::Unset) || scalar.style != Style::Plain
}

#[cfg(test)]
mod tests;
