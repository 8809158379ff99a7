//! Walking a resource along field specs (KZ-701..703).

use std::sync::Arc;

use weir_yaml::{Map, Node};

use super::FieldSpec;
use crate::Error;
use crate::resource::Resource;

/// The value that a transformer puts in place of a missing field when the spec says to make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creation {
    /// Nothing is ever made.
    Never,
    /// A null scalar.
    Scalar,
    /// An empty mapping.
    Mapping,
}

/// A path split once.
#[derive(Debug, Clone)]
pub(crate) struct FieldPath {
    text: String,
    parts: Arc<[String]>,
}

/// Field specs with their paths split once.
#[derive(Debug, Clone)]
pub(crate) struct CompiledSpecs {
    specs: Vec<(FieldSpec, FieldPath)>,
}

/// Splits a slash path: `\/` is a slash, one leading slash means nothing (KZ-611).
pub(crate) fn split_slash_path(path: &str) -> Vec<String> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let mut parts = vec![String::new()];
    let mut characters = path.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&'/') => {
                characters.next();
                push_to_last(&mut parts, '/');
            }
            '/' => parts.push(String::new()),
            other => push_to_last(&mut parts, other),
        }
    }
    parts
}

fn push_to_last(parts: &mut [String], character: char) {
    if let Some(last) = parts.last_mut() {
        last.push(character);
    }
}

/// A step of a walk that failed.
struct Obstacle(String);

/// The change that a transformer makes to a field.
pub(crate) type Change<'c> = dyn FnMut(&mut Node) -> Result<(), Error> + 'c;

enum Failure {
    Obstacle(Obstacle),
    Change(Box<Error>),
}

impl FieldPath {
    pub(crate) fn new(path: &str) -> Self {
        Self { text: path.to_owned(), parts: split_slash_path(path).into() }
    }

    /// The path as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The keys of the path; one may have `[]` behind it.
    pub(crate) fn parts(&self) -> &Arc<[String]> {
        &self.parts
    }

    /// Calls `change` for every field of `resource` that the path leads to.
    ///
    /// # Errors
    /// The path runs into a scalar, or `change` fails; the message names path and resource (KZ-703).
    pub(crate) fn apply(
        &self,
        resource: &mut Resource,
        creation: Creation,
        change: &mut Change<'_>,
    ) -> Result<(), Error> {
        descend(&mut resource.node, &self.parts, creation, change)
            .map_err(|failure| explain(failure, &self.text, resource))
    }
}

impl CompiledSpecs {
    pub(crate) fn new(specs: &[FieldSpec]) -> Self {
        Self { specs: specs.iter().map(|spec| (spec.clone(), FieldPath::new(&spec.path))).collect() }
    }

    /// Calls `change` for every field of `resource` that one of the specs leads to, in the order of the specs.
    ///
    /// # Errors
    /// As [`FieldPath::apply`].
    pub(crate) fn apply(
        &self,
        resource: &mut Resource,
        creation: Creation,
        mut change: impl FnMut(&mut Node) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.apply_by_path(resource, creation, |_, node| change(node))
    }

    /// As [`CompiledSpecs::apply`], for changes that need to know where they are.
    ///
    /// # Errors
    /// As [`FieldPath::apply`].
    pub(crate) fn apply_by_path(
        &self,
        resource: &mut Resource,
        creation: Creation,
        mut change: impl FnMut(&FieldPath, &mut Node) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (spec, path) in &self.specs {
            if resource.gvk().is_selected_by(spec.gvk()) {
                let creation = if spec.create { creation } else { Creation::Never };
                path.apply(resource, creation, &mut |node| change(path, node))?;
            }
        }
        Ok(())
    }
}

fn explain(failure: Failure, path: &str, resource: &Resource) -> Error {
    let cause = match failure {
        Failure::Obstacle(Obstacle(text)) => {
            Error::FieldPath { problem: text, position: resource.node.position() }
        }
        Failure::Change(error) => *error,
    };
    cause.context(format!("considering field '{path}' of object {}", resource.id()))
}

fn descend(
    node: &mut Node,
    path: &[String],
    creation: Creation,
    change: &mut Change<'_>,
) -> Result<(), Failure> {
    let Some((part, rest)) = path.split_first() else {
        return change(node).map_err(|error| Failure::Change(Box::new(error)));
    };
    match node {
        Node::Map(map) => into_field(map, part, rest, creation, change),
        Node::Seq(items) => items.iter_mut().try_for_each(|item| {
            descend(item, path, creation, change).map_err(|failure| in_list(failure, path))
        }),
        node if node.is_null() => Ok(()),
        _ => Err(Failure::Obstacle(Obstacle("expected sequence or mapping node".to_owned()))),
    }
}

fn in_list(failure: Failure, path: &[String]) -> Failure {
    match failure {
        Failure::Obstacle(Obstacle(text)) => {
            Failure::Obstacle(Obstacle(format!("visit traversal on path: [{}]: {text}", path.join(" "))))
        }
        failure => failure,
    }
}

/// Returns the fault of a part that leads into a mapping and means a place in a list, as these do wherever they
/// stand.
fn place_in_list(part: &str) -> Option<&'static str> {
    let is_selector = || part.starts_with('[') && part.ends_with(']');
    match part.parse::<i64>() {
        Ok(..0) => Some("an array index cannot be negative"),
        Err(_) if part == "*" => Some("wildcard is not supported"),
        Err(_) if part != "-" && !is_selector() => None,
        _ => Some("wrong node kind: expected SequenceNode but got MappingNode"),
    }
}

fn into_field(
    map: &mut Map,
    part: &str,
    rest: &[String],
    creation: Creation,
    change: &mut Change<'_>,
) -> Result<(), Failure> {
    let (name, is_list) = match part.strip_suffix("[]") {
        Some(name) => (name.trim(), true),
        None => (part.trim(), false),
    };
    if name.is_empty() {
        return Err(Failure::Obstacle(Obstacle("cannot set or create an empty field name".to_owned())));
    }
    if let Some(problem) = place_in_list(name) {
        return Err(Failure::Obstacle(Obstacle(format!("fieldName: {name}: {problem}"))));
    }
    // A missing or null field is filled: lists are never made, but a null becomes a list where one belongs.
    let made = match creation {
        _ if is_list => Some(Node::Seq(Vec::new())),
        Creation::Never => None,
        Creation::Scalar if rest.is_empty() => Some(Node::plain("")),
        Creation::Scalar | Creation::Mapping => Some(Node::map()),
    };
    let field = match &made {
        Some(made) if !is_list => map.get_or_insert_with(name, || made.clone()),
        _ => map.get_mut(name),
    };
    let Some(field) = field else { return Ok(()) };
    // A null scalar keeps its text.
    if let Some(made) = made
        && field.is_null()
        && made.as_scalar().is_none()
    {
        *field = made;
    }
    descend(field, rest, creation, change)
}
