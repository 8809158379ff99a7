//! The resources that a patch or replacement means (KZ-811, KZ-508).

mod labels;

use regex::Regex;
use weir_policy::go_regex::{self, GoRegexError};

pub(crate) use self::labels::LabelSelector;
use crate::id::Gvk;
use crate::kustomization::Selector;
use crate::resource::Resource;
use crate::schema::Schema;

/// A selector that cannot be understood.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SelectorError {
    /// Not a regular expression.
    #[error("selector field '{field}': {cause}")]
    Pattern {
        /// The field of the selector.
        field: &'static str,
        /// The parser's error.
        cause: GoRegexError,
    },
    /// Not a label selector.
    #[error("{problem}")]
    Labels {
        /// The fault in it, in Kubernetes' words.
        problem: String,
    },
}

/// A selector, compiled.
#[derive(Debug, Clone)]
pub struct CompiledSelector {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: Result<LabelSelector, SelectorError>,
    annotations: Result<LabelSelector, SelectorError>,
    /// True when any part of an id is given.
    pub(crate) names_an_id: bool,
    /// True when labels or annotations are given.
    pub(crate) names_metadata: bool,
}

/// An anchored regular expression; most are plain words, which are compared.
#[derive(Debug, Clone)]
enum Pattern {
    Any,
    Exact(String),
    Regex(Regex),
}

impl Pattern {
    fn new(text: &str, field: &'static str) -> Result<Self, SelectorError> {
        if text.is_empty() {
            return Ok(Self::Any);
        }
        if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/')) {
            return Ok(Self::Exact(text.to_owned()));
        }
        match go_regex::compile(&format!("^(?:{text})$")) {
            Ok(regex) => Ok(Self::Regex(regex)),
            Err(cause) => Err(SelectorError::Pattern { field, cause }),
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(wanted) => wanted == text,
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

impl CompiledSelector {
    /// Compiles a selector.
    ///
    /// # Errors
    /// A part of it is no regular expression, or no label selector.
    pub fn new(selector: &Selector) -> Result<Self, SelectorError> {
        let compiled = Self::of_build(selector)?;
        for part in [&compiled.labels, &compiled.annotations] {
            part.as_ref().map_err(SelectorError::clone)?;
        }
        Ok(compiled)
    }

    /// Compiles a selector of a build, whose label selectors have to be right only when a resource is held against them.
    ///
    /// # Errors
    /// A part of it is no regular expression.
    pub(crate) fn of_build(selector: &Selector) -> Result<Self, SelectorError> {
        let id = [&selector.group, &selector.version, &selector.kind, &selector.name, &selector.namespace];
        Ok(Self {
            group: Pattern::new(&selector.group, "group")?,
            version: Pattern::new(&selector.version, "version")?,
            kind: Pattern::new(&selector.kind, "kind")?,
            name: Pattern::new(&selector.name, "name")?,
            namespace: Pattern::new(&selector.namespace, "namespace")?,
            labels: LabelSelector::parse(&selector.label_selector),
            annotations: LabelSelector::parse(&selector.annotation_selector),
            names_an_id: id.iter().any(|part| !part.is_empty()),
            names_metadata: !(selector.label_selector.is_empty() && selector.annotation_selector.is_empty()),
        })
    }

    pub(crate) fn matches_gvk(&self, gvk: Gvk<'_>) -> bool {
        self.group.matches(gvk.group) && self.version.matches(gvk.version) && self.kind.matches(gvk.kind)
    }

    pub(crate) fn matches_name(&self, name: &str) -> bool {
        self.name.matches(name)
    }

    pub(crate) fn matches_namespace(&self, namespace: &str) -> bool {
        self.namespace.matches(namespace)
    }

    /// Returns true when an object that is no resource of a build fits; the functions find its labels and annotations.
    pub fn matches<'v>(
        &self,
        gvk: Gvk<'_>,
        namespace: &str,
        name: &str,
        label: impl Fn(&str) -> Option<&'v str>,
        annotation: impl Fn(&str) -> Option<&'v str>,
    ) -> bool {
        self.matches_gvk(gvk)
            && self.matches_namespace(namespace)
            && self.matches_name(name)
            && self.labels.as_ref().is_ok_and(|labels| labels.matches(label))
            && self.annotations.as_ref().is_ok_and(|annotations| annotations.matches(annotation))
    }

    pub(crate) fn matches_labels(&self, resource: &Resource) -> Result<bool, SelectorError> {
        let labels = self.labels.as_ref().map_err(SelectorError::clone)?;
        Ok(labels.matches(|key| resource.metadata_entry("labels", key)))
    }

    pub(crate) fn matches_annotations(&self, resource: &Resource) -> Result<bool, SelectorError> {
        let annotations = self.annotations.as_ref().map_err(SelectorError::clone)?;
        Ok(annotations.matches(|key| resource.metadata_entry("annotations", key)))
    }

    /// Returns true when a patch with this target applies: by original or current name and namespace, current type.
    pub(crate) fn matches_target(&self, resource: &Resource, schema: &Schema) -> Result<bool, SelectorError> {
        let (current, original) = (resource.id(), resource.original_id());
        let matches_id = self.matches_gvk(current.gvk)
            && (self.matches_namespace(original.effective_namespace(schema))
                || self.matches_namespace(current.effective_namespace(schema)))
            && (self.matches_name(original.name) || self.matches_name(current.name));
        Ok(matches_id && self.matches_labels(resource)? && self.matches_annotations(resource)?)
    }
}

#[cfg(test)]
mod tests;
