//! A resource: its node, and what the build has to remember about it (KZ-504..507).

mod metadata;
mod shared;

use std::sync::Arc;

use weir_yaml::{Node, emit};

pub(crate) use self::shared::SharedValues;
use crate::Error;
use crate::id::{Gvk, ResId};
use crate::origin::Origin;
use crate::quote;
use crate::schema::Schema;

/// A resource of a build. In an [`crate::Output`] it is final; before, transformers change it.
#[derive(Debug, Clone)]
pub struct Resource {
    pub(crate) node: Node,
    /// Names this resource had before, oldest first.
    pub(crate) history: Vec<PreviousId>,
    /// Prefixes in the order they were applied.
    pub(crate) prefixes: Vec<Arc<str>>,
    /// Suffixes in the order they were applied.
    pub(crate) suffixes: Vec<Arc<str>>,
    pub(crate) behavior: Behavior,
    pub(crate) needs_hash: bool,
    pub(crate) origin: Option<Arc<Origin>>,
    pub(crate) transformations: Vec<Arc<Origin>>,
    /// Names of the vars that take their value from here.
    pub(crate) var_names: Vec<String>,
    pub(crate) shared: SharedValues,
}

/// A former (namespace, name, kind) of a resource; group and version are always the current ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreviousId {
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) kind: Arc<str>,
}

/// The effect of a generated object on one that exists already (KZ-920).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Behavior {
    #[default]
    Unspecified,
    Create,
    Replace,
    Merge,
}

impl Behavior {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "create" => Self::Create,
            "replace" => Self::Replace,
            "merge" => Self::Merge,
            _ => Self::Unspecified,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }
}

impl Resource {
    /// Takes over a node that has passed validation. Internal annotations are obeyed, since the reference keeps its
    /// notes there (KZ-507).
    pub(crate) fn new(node: Node) -> Self {
        let annotation = |key: &str| {
            node.text_at(&["metadata", "annotations", &format!("internal.config.kubernetes.io/{key}")])
        };
        let list = |key: &str| -> Vec<Arc<str>> {
            annotation(key).map(|list| list.split(',').map(Arc::from).collect()).unwrap_or_default()
        };
        let needs_hash = annotation("needsHashSuffix") == Some("enabled");
        let behavior = annotation("generatorBehavior").map(Behavior::parse).unwrap_or_default();
        let former =
            list("previousNamespaces").into_iter().zip(list("previousNames")).zip(list("previousKinds"));
        let history: Vec<PreviousId> =
            former.map(|((namespace, name), kind)| PreviousId { namespace, name, kind }).collect();
        let (prefixes, suffixes) = (list("prefixes"), list("suffixes"));
        Self {
            node,
            history,
            prefixes,
            suffixes,
            behavior,
            needs_hash,
            origin: None,
            transformations: Vec::new(),
            var_names: Vec::new(),
            shared: SharedValues::default(),
        }
    }

    /// `apiVersion`; empty when missing.
    pub fn api_version(&self) -> &str {
        self.node.text_at(&["apiVersion"]).unwrap_or_default()
    }

    /// `kind`; empty when missing.
    pub fn kind(&self) -> &str {
        text_at(&self.node, &["kind"])
    }

    /// `metadata.name`; empty when missing.
    pub fn name(&self) -> &str {
        text_at(&self.node, &["metadata", "name"])
    }

    /// `metadata.namespace`; empty when missing.
    pub fn namespace(&self) -> &str {
        text_at(&self.node, &["metadata", "namespace"])
    }

    /// Group, version and kind.
    pub fn gvk(&self) -> Gvk<'_> {
        Gvk::new(self.api_version(), self.kind())
    }

    /// The current id.
    pub fn id(&self) -> ResId<'_> {
        ResId { gvk: self.gvk(), name: self.name(), namespace: self.namespace() }
    }

    /// The resource as typed JSON, keys in the order of the source.
    ///
    /// # Errors
    /// A value does not fit its type (KZ-606).
    pub fn to_json(&self) -> Result<serde_json::Value, Error> {
        self.node.to_json().map_err(|cause| self.render_error(cause))
    }

    /// The resource as the reference prints it.
    ///
    /// # Errors
    /// As [`Resource::to_json`]; also a key that stands twice in a mapping (KZ-609).
    pub fn to_yaml(&self) -> Result<String, Error> {
        let mut out = String::new();
        self.write_yaml(&mut out)?;
        Ok(out)
    }

    pub(crate) fn write_yaml(&self, out: &mut String) -> Result<(), Error> {
        emit(&self.node, out).map_err(|cause| self.render_error(cause))
    }

    fn render_error(&self, cause: weir_yaml::YamlError) -> Error {
        let file = self.node.position().map(|position| position.file).unwrap_or_default();
        Error::Render { id: self.id().to_string(), file, cause: quote::cause(cause, self.kind()) }
    }

    /// Notes that a file or transformer made this resource what it is. The first one is its origin.
    pub(crate) fn track(&mut self, origin: &Arc<Origin>) {
        match &self.origin {
            Some(_) => self.transformations.push(Arc::clone(origin)),
            None => self.origin = Some(Arc::clone(origin)),
        }
        if !self.is_empty() {
            self.stringify("annotations");
            self.ensure_annotations();
        }
    }

    /// Carries a change of a value that stands in several places to all of them.
    pub(crate) fn follow_shared(&mut self) {
        self.shared.follow(&mut self.node);
    }

    /// Former ids, oldest first.
    pub(crate) fn previous_ids(&self) -> impl DoubleEndedIterator<Item = ResId<'_>> {
        let gvk = self.gvk();
        self.history.iter().map(move |previous| ResId {
            gvk: Gvk { kind: &previous.kind, ..gvk },
            name: &previous.name,
            namespace: &previous.namespace,
        })
    }

    /// The first id the resource had (KZ-505).
    pub(crate) fn original_id(&self) -> ResId<'_> {
        self.previous_ids().next().unwrap_or_else(|| self.id())
    }

    /// Former ids and the current one.
    pub(crate) fn any_ids(&self) -> impl Iterator<Item = ResId<'_>> {
        self.previous_ids().chain(std::iter::once(self.id()))
    }

    /// Remembers the current id as a former one (KZ-504).
    pub(crate) fn store_previous_id(&mut self, schema: &Schema) {
        let id = self.id();
        let previous = PreviousId {
            namespace: id.effective_namespace(schema).into(),
            name: id.name.into(),
            kind: id.gvk.kind.into(),
        };
        self.history.push(previous);
        self.ensure_annotations();
    }

    /// Forgets what the reference keeps in annotations (KZ-507), as a patch has taken all of them away. The name gets no hash then.
    pub(crate) fn forget_notes(&mut self) {
        self.history.clear();
        self.prefixes.clear();
        self.suffixes.clear();
        self.behavior = Behavior::Unspecified;
        self.needs_hash = false;
        self.origin = None;
        self.transformations.clear();
    }

    /// Puts what a JSON patch made of the resource in its place.
    pub(crate) fn replace_node(&mut self, node: Node) {
        self.node = node;
        self.shared.clear();
        self.stringify("annotations");
        if !self.history.is_empty() {
            self.ensure_annotations();
        }
    }

    /// Sets the `apiVersion`.
    pub(crate) fn set_api_version(&mut self, api_version: &str) {
        if let Some(map) = self.node.as_map_mut() {
            metadata::set_plain(map, "apiVersion", api_version);
        }
    }

    /// Sets the kind.
    pub(crate) fn set_kind(&mut self, kind: &str) {
        if let Some(map) = self.node.as_map_mut() {
            metadata::set_plain(map, "kind", kind);
        }
    }

    /// Returns true when a patch has removed everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.node.is_null() || self.node.is_empty_collection()
    }
}

/// The text that keys lead to; null has none.
pub(crate) fn text_at<'n>(node: &'n Node, path: &[&str]) -> &'n str {
    node.at(path).filter(|node| !node.is_null()).and_then(Node::text).unwrap_or_default()
}
