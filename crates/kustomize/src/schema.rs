//! The engine's knowledge of types: how lists merge, and which kinds are cluster-scoped (§5.1, §8.4).

mod custom;
mod table;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use weir_yaml::Node;

use crate::id::Gvk;

/// The only OpenAPI version that is built in (KZ-1210).
pub(crate) const BUILT_IN_VERSION: &str = "v1.21.2";

static BUILT_IN: LazyLock<Schema> = LazyLock::new(|| table::parse(include_str!("schema/kubernetes.txt")));

/// Type graph and scopes. Lookups are by name at the top and by index below.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schema {
    types: Vec<Type>,
    kinds: HashMap<String, TypeId>,
    /// Types by the names of their OpenAPI definitions, for references of custom schemas.
    definitions: HashMap<String, TypeId>,
    cluster_scoped: HashSet<String>,
}

/// Index of a type in its schema.
pub(crate) type TypeId = usize;

/// The fields of a type that matter for merging.
#[derive(Debug, Clone, Default)]
pub(crate) struct Type {
    fields: HashMap<String, Field>,
    /// The type of every other field.
    additional: Option<Field>,
}

/// A field of a type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Field {
    /// Type of the value, or of the elements of a list.
    pub(crate) target: Option<TypeId>,
    /// Keys by which elements of merging lists are matched; none for lists of scalars.
    pub(crate) merge_keys: Option<Vec<String>>,
}

/// A custom schema that cannot be used (KZ-1210).
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A version other than the one built in.
    #[error("the specified OpenAPI version is not built in")]
    UnknownVersion,
    /// Both a version and a file.
    #[error("builtin version and custom schema provided, cannot use both")]
    VersionAndPath,
    /// The file is not a mapping.
    #[error("invalid schema file: expected a mapping with `definitions`")]
    NotASchema,
}

/// The key of a kind: `apiVersion/kind`, built on the stack of most callers only once per lookup.
fn kind_key(gvk: Gvk<'_>) -> String {
    match gvk.group {
        "" => format!("{}/{}", gvk.version, gvk.kind),
        group => format!("{group}/{}/{}", gvk.version, gvk.kind),
    }
}

impl Schema {
    /// Kubernetes v1.21.2, the schema that the reference carries.
    pub(crate) fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Reads a custom schema. With `base` its types are added to that schema (KZ-1213), otherwise they are all
    /// there is (KZ-1212); the built-in scopes always hold.
    ///
    /// # Errors
    /// The document is not a schema.
    pub(crate) fn custom(document: &Node, base: Option<&Self>) -> Result<Self, SchemaError> {
        custom::read(document, base)
    }

    /// Returns true when the kind certainly has no namespace (KZ-503).
    pub(crate) fn is_cluster_scoped(&self, gvk: Gvk<'_>) -> bool {
        // Most resources are of namespaced kinds that no cluster-scoped kind is named like.
        self.cluster_scoped.contains(&kind_key(gvk))
    }

    /// Returns true when the kind is one of those that the built-in schema covers.
    pub(crate) fn knows(&self, gvk: Gvk<'_>) -> bool {
        let key = kind_key(gvk);
        self.kinds.contains_key(&key) || self.cluster_scoped.contains(&key)
    }

    /// The type of a kind.
    pub(crate) fn type_of(&self, gvk: Gvk<'_>) -> Option<TypeId> {
        self.kinds.get(&kind_key(gvk)).copied()
    }

    /// Returns the description of a type's field.
    pub(crate) fn field(&self, parent: TypeId, name: &str) -> Option<&Field> {
        let parent = self.types.get(parent)?;
        parent.fields.get(name).or(parent.additional.as_ref())
    }
}

#[cfg(test)]
mod tests;
