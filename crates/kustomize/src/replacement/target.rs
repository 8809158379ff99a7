//! The fields that a value is put into (KZ-1106..1110).

use weir_yaml::Node;

use super::error::ReplacementError;
use super::{DEFAULT_FIELD, structured};
use crate::Error;
use crate::kustomization::{ReplacementTarget, ValueOptions};
use crate::path::{self, Creating, Part};
use crate::resource::Resource;
use crate::selector::{CompiledSelector, SelectorError};

/// A target, compiled.
pub(super) struct CompiledTarget {
    select: CompiledSelector,
    reject: Vec<CompiledSelector>,
    /// The fields that get the value.
    pub(super) fields: Vec<TargetField>,
    options: ValueOptions,
}

/// A field as it is written, and its parts.
pub(super) struct TargetField {
    text: String,
    path: Vec<Part>,
}

impl TargetField {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), path: path::split(text) }
    }
}

impl CompiledTarget {
    pub(super) fn new(target: &ReplacementTarget) -> Result<Self, Error> {
        let Some(select) = &target.select else { return Err(ReplacementError::NoSelect.into()) };
        let reject = target.reject.iter().map(CompiledSelector::of_build).collect::<Result<_, _>>()?;
        let mut fields: Vec<_> = target.field_paths.iter().map(|path| TargetField::new(path)).collect();
        if fields.is_empty() {
            fields.push(TargetField::new(DEFAULT_FIELD));
        }
        let options = target.options.clone().unwrap_or_default();
        Ok(Self { select: CompiledSelector::of_build(select)?, reject, fields, options })
    }

    /// Returns true when the value goes into this resource.
    pub(super) fn selects(&self, resource: &Resource) -> Result<bool, SelectorError> {
        // Ids and metadata of one `reject` exclude independently of each other. Metadata comes first.
        if !fits_metadata(&self.select, resource)? {
            return Ok(false);
        }
        for reject in self.reject.iter().filter(|reject| reject.names_metadata) {
            if fits_metadata(reject, resource)? {
                return Ok(false);
            }
        }
        let has_id = |selector: &CompiledSelector| {
            resource.any_ids().any(|id| {
                selector.matches_gvk(id.gvk)
                    && selector.matches_name(id.name)
                    && selector.matches_namespace(id.namespace)
            })
        };
        Ok(has_id(&self.select) && !self.reject.iter().any(|reject| reject.names_an_id && has_id(reject)))
    }

    /// Puts the value into a field.
    pub(super) fn set(
        &self,
        resource: &mut Resource,
        field: &TargetField,
        value: &Node,
    ) -> Result<(), Error> {
        let TargetField { text, path } = field;
        if value.as_scalar().is_none() {
            let keys = path.iter().map_while(|part| match part {
                Part::Key(key) => Some(key.as_str()),
                _ => None,
            });
            resource.shared.forget_below(&keys.collect::<Vec<_>>());
        }
        let creating = if self.options.create { Creating::like(value) } else { Creating::No };
        let mut put = |node: &mut Node| put(node, value, &self.options);
        if structured::set(&mut resource.node, path, creating, &mut put) {
            return Ok(());
        }
        let cause = match path::visit(&mut resource.node, path, creating, &mut put) {
            Ok(0) => None,
            Ok(_) => return Ok(()),
            Err(cause @ Error::Path(_)) => Some(Box::new(cause)),
            Err(cause) => return Err(cause),
        };
        let is_creating = self.options.create;
        Err(ReplacementError::NoTargetField { path: text.clone(), is_creating, cause }.into())
    }
}

/// Writes a value: into a scalar goes only its text, so that the type of the target stays (KZ-1109).
fn put(node: &mut Node, value: &Node, options: &ValueOptions) -> Result<(), Error> {
    let text = value.text().unwrap_or_default();
    match node {
        Node::Scalar(scalar) => {
            let text = if options.delimiter.is_empty() {
                text.to_owned()
            } else {
                spliced(&scalar.text, text, options)
            };
            scalar.text = text.into();
            Ok(())
        }
        _ if !options.delimiter.is_empty() => Err(ReplacementError::DelimiterOnCollection.into()),
        other => {
            *other = value.clone();
            Ok(())
        }
    }
}

/// The target's text with one part replaced, or one put before or behind the others (KZ-1110).
fn spliced(target: &str, text: &str, options: &ValueOptions) -> String {
    let mut parts: Vec<&str> = target.split(options.delimiter.as_str()).collect();
    match usize::try_from(options.index) {
        Err(_) => parts.insert(0, text),
        Ok(index) => match parts.get_mut(index) {
            Some(part) => *part = text,
            None => parts.push(text),
        },
    }
    parts.join(&options.delimiter)
}

/// Both selectors are read before one of them decides, as in the reference.
fn fits_metadata(selector: &CompiledSelector, resource: &Resource) -> Result<bool, SelectorError> {
    let fits_annotations = selector.matches_annotations(resource)?;
    Ok(selector.matches_labels(resource)? && fits_annotations)
}
