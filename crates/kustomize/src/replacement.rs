//! `replacements`: values copied from one field to others (§11.1).

pub(crate) mod error;
mod structured;
mod target;

use std::rc::Rc;

use weir_yaml::{Node, read_first_document};

use self::error::ReplacementError;
use self::target::CompiledTarget;
use crate::Error;
use crate::build::Build;
use crate::id::{DEFAULT_NAMESPACE, Gvk, ResId};
use crate::kustomization::{Decoder, FiledReplacement, Replacement, ReplacementSource, Strictness};
use crate::loader::Loader;
use crate::path::{self, Part};
use crate::quote;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::transform::Transformer;
use crate::yaml::malformed;

/// The field that is meant when none is named.
const DEFAULT_FIELD: &str = "metadata.name";

/// All replacements of a kustomization, made one after the other.
pub(crate) struct ReplacementTransformer {
    replacements: Vec<Prepared>,
}

/// A replacement with everything compiled that can be.
struct Prepared {
    source: Source,
    targets: Vec<CompiledTarget>,
}

enum Source {
    Value(String),
    Field { selector: Box<ReplacementSource>, path: Vec<Part> },
}

impl ReplacementTransformer {
    /// Loads replacements from their files and compiles their selectors.
    ///
    /// # Errors
    /// A file cannot be read, or an entry lacks something.
    pub(crate) fn load(
        build: &Build<'_>,
        loader: &Rc<Loader>,
        entries: &[Replacement],
    ) -> Result<Self, Error> {
        let mut replacements = Vec::new();
        for entry in entries {
            if entry.path.is_empty() {
                replacements.push(Prepared::new(entry)?);
                continue;
            }
            if entry.source.is_some() || !entry.targets.is_empty() {
                return Err(ReplacementError::PathAndInline.into());
            }
            for replacement in read_file(build, loader, &entry.path)? {
                replacements.push(Prepared::new(&replacement)?);
            }
        }
        Ok(Self { replacements })
    }
}

fn read_file(build: &Build<'_>, loader: &Rc<Loader>, path: &str) -> Result<Vec<Replacement>, Error> {
    let content = loader.read(build, path)?;
    let node = read_first_document(path, content).map_err(malformed(path))?;
    match &node {
        Some(node @ Node::Map(_)) => {
            let FiledReplacement(replacement) = Decoder::document(Strictness::LENIENT, node)?;
            Ok(vec![replacement])
        }
        Some(node @ Node::Seq(_)) => {
            let replacements: Vec<FiledReplacement> = Decoder::document(Strictness::LENIENT, node)?;
            Ok(replacements.into_iter().map(|FiledReplacement(replacement)| replacement).collect())
        }
        Some(Node::Scalar(_)) => Err(ReplacementError::UnsupportedFile("string").into()),
        None => Err(ReplacementError::UnsupportedFile("invalid").into()),
    }
}

impl Prepared {
    fn new(replacement: &Replacement) -> Result<Self, Error> {
        if replacement.targets.is_empty() {
            return Err(ReplacementError::Incomplete.into());
        }
        let source = match (&replacement.source, &replacement.source_value) {
            (None, None) => return Err(ReplacementError::Incomplete.into()),
            (Some(_), Some(_)) => return Err(ReplacementError::TwoSources.into()),
            (None, Some(value)) => Source::Value(value.clone()),
            (Some(selector), None) => {
                let path = path::split_source(non_empty(&selector.field_path));
                Source::Field { selector: Box::new(selector.clone()), path }
            }
        };
        let targets = replacement.targets.iter().map(CompiledTarget::new).collect::<Result<_, _>>()?;
        Ok(Self { source, targets })
    }

    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        let (origin, mut value) = self.source.value(resources)?;
        if let (Some(part), Some(position)) = (self.source.part(&value), origin)
            && resources.get(position).is_some_and(|resource| resource.kind() == "Secret")
            && self.source.is_value()
        {
            build.keep_secret(part);
        }
        for target in &self.targets {
            for position in 0..resources.len() {
                let Some(candidate) = resources.get(position) else { continue };
                if !target.selects(candidate)? {
                    continue;
                }
                let Some(resource) = resources.get_mut(position) else { continue };
                for field in &target.fields {
                    target.set(resource, field, &value)?;
                    // The reference copies from the source's own node, which may just have got another value.
                    if origin == Some(position) {
                        self.source.read_again(resource, &mut value);
                    }
                }
                resource.follow_shared();
            }
        }
        Ok(())
    }
}

fn non_empty(path: &str) -> &str {
    if path.is_empty() { DEFAULT_FIELD } else { path }
}

impl Source {
    /// The value, and the position of the resource that it was found in.
    fn value(&self, resources: &ResMap) -> Result<(Option<usize>, Node), Error> {
        let (selector, path) = match self {
            Self::Value(value) => return Ok((None, Node::plain(value.as_str()))),
            Self::Field { selector, path } => (selector, path),
        };
        let mut matches =
            resources.iter().enumerate().filter(|(_, resource)| is_selected(resource, selector));
        let Some((position, resource)) = matches.next() else {
            return Err(ReplacementError::NoSource(described(selector)).into());
        };
        if matches.next().is_some() {
            return Err(ReplacementError::SeveralSources(described(selector)).into());
        }
        let found = path::get(&resource.node, path).map_err(ReplacementError::SourcePath)?;
        match found.filter(|node| !node.is_null() && !node.is_empty_collection()) {
            Some(node) => Ok((Some(position), refined(resource.kind(), node, selector)?)),
            None => Err(ReplacementError::NoSourceField {
                path: non_empty(&selector.field_path).to_owned(),
                id: selector_id(selector).to_string(),
            }
            .into()),
        }
    }

    /// Returns true when a field that Secrets have for their values is copied.
    fn is_value(&self) -> bool {
        let Self::Field { selector, .. } = self else { return false };
        ["data", "stringData"].iter().any(|field| selector.field_path.trim_start().starts_with(field))
    }

    /// The copied text, if it is a part of a longer one.
    fn part<'v>(&self, value: &'v Node) -> Option<&'v str> {
        let Self::Field { selector, .. } = self else { return None };
        let is_part = selector.options.as_ref().is_some_and(|options| !options.delimiter.is_empty());
        value.text().filter(|_| is_part)
    }

    /// Takes what is in the source now; a part of a text was copied once and for all.
    fn read_again(&self, resource: &Resource, value: &mut Node) {
        let Self::Field { path, .. } = self else { return };
        if self.part(value).is_none()
            && let Ok(Some(node)) = path::get(&resource.node, path)
        {
            value.clone_from(node);
        }
    }
}

fn selector_id(selector: &ReplacementSource) -> ResId<'_> {
    let gvk = Gvk { group: &selector.group, version: &selector.version, kind: &selector.kind };
    ResId { gvk, name: &selector.name, namespace: &selector.namespace }
}

/// Returns true when any id of the resource has the parts that the selector names.
fn is_selected(resource: &Resource, selector: &ReplacementSource) -> bool {
    let wanted = selector_id(selector);
    resource.any_ids().any(|id| {
        id.gvk.is_selected_by(wanted.gvk)
            && (wanted.name.is_empty() || wanted.name == id.name)
            && (wanted.namespace.is_empty()
                || named_namespace(wanted.namespace) == named_namespace(id.namespace))
    })
}

/// The reference does not ask here whether a kind is cluster-scoped.
fn named_namespace(namespace: &str) -> &str {
    if namespace.is_empty() { DEFAULT_NAMESPACE } else { namespace }
}

/// The part of a value that the options name (KZ-1105).
fn refined(kind: &str, node: &Node, selector: &ReplacementSource) -> Result<Node, Error> {
    let Some(options) = selector.options.as_ref().filter(|options| !options.delimiter.is_empty()) else {
        return Ok(node.clone());
    };
    let Node::Scalar(scalar) = node else { return Err(ReplacementError::DelimiterOnCollection.into()) };
    let mut parts = scalar.text.split(options.delimiter.as_str());
    let part = usize::try_from(options.index).ok().and_then(|index| parts.nth(index));
    let Some(part) = part else {
        let value = quote::literal(&scalar.text, kind).to_owned();
        return Err(ReplacementError::IndexOutOfBounds { index: options.index, value }.into());
    };
    Ok(Node::Scalar(weir_yaml::Scalar { text: part.into(), ..scalar.clone() }))
}

fn described(selector: &ReplacementSource) -> String {
    let mut text = selector_id(selector).to_string();
    if !selector.field_path.is_empty() {
        text.push_str(&format!(":{}", selector.field_path));
    }
    if let Some(options) = &selector.options
        && (!options.delimiter.is_empty() || options.create)
    {
        text.push_str(&format!(":{}({}), create={}", options.delimiter, options.index, options.create));
    }
    text
}

impl Transformer for ReplacementTransformer {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        self.replacements.iter().try_for_each(|replacement| {
            build.options.stop.check()?;
            replacement.apply(build, resources)
        })
    }
}

/// The step of loading replacements, for messages.
pub(crate) fn configuring() -> String {
    "trouble configuring builtin ReplacementTransformer".to_owned()
}
