//! The identity of a resource (KZ-501, KZ-502, KZ-508).

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::schema::Schema;

/// The namespace of resources without one.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";
/// Stands for the namespace of cluster-scoped resources when ids are compared.
pub(crate) const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Group, version and kind of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Gvk<'a> {
    /// API group; empty for the core group.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Kind.
    pub kind: &'a str,
}

impl<'a> Gvk<'a> {
    /// Splits an `apiVersion` at its first slash.
    pub fn new(api_version: &'a str, kind: &'a str) -> Self {
        match api_version.split_once('/') {
            Some((group, version)) => Self { group, version, kind },
            None => Self { group: "", version: api_version, kind },
        }
    }

    /// Returns true when every part that `selector` names is equal here.
    pub(crate) fn is_selected_by(&self, selector: Gvk<'_>) -> bool {
        let selects = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        selects(selector.group, self.group)
            && selects(selector.version, self.version)
            && selects(selector.kind, self.kind)
    }
}

/// An empty part of an id reads as its placeholder.
pub(crate) fn or_placeholder<'a>(part: &'a str, placeholder: &'a str) -> &'a str {
    if part.is_empty() { placeholder } else { part }
}

impl fmt::Display for Gvk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{}.{}",
            or_placeholder(self.kind, "[noKind]"),
            or_placeholder(self.version, "[noVer]"),
            or_placeholder(self.group, "[noGrp]")
        )
    }
}

/// The identity of a resource, borrowed from wherever its parts are kept.
#[derive(Debug, Clone, Copy)]
pub struct ResId<'a> {
    /// Type.
    pub gvk: Gvk<'a>,
    /// Name.
    pub name: &'a str,
    /// Namespace as it is written; empty when there is none.
    pub namespace: &'a str,
}

impl<'a> ResId<'a> {
    /// The namespace ids are compared by (KZ-502).
    pub(crate) fn effective_namespace(&self, schema: &Schema) -> &'a str {
        if schema.is_cluster_scoped(self.gvk) {
            return NO_NAMESPACE;
        }
        if self.namespace.is_empty() { DEFAULT_NAMESPACE } else { self.namespace }
    }

    /// The namespace that the object stands in (KZ-502): `default` where it names none; nothing for kinds that Kubernetes keeps
    /// outside of namespaces.
    #[must_use]
    pub fn standing_namespace(&self) -> Option<&'a str> {
        Some(self.effective_namespace(Schema::built_in())).filter(|namespace| *namespace != NO_NAMESPACE)
    }

    /// Returns true when both name the same object.
    pub(crate) fn is_same(&self, other: &ResId<'_>, schema: &Schema) -> bool {
        self.gvk == other.gvk
            && self.name == other.name
            && self.effective_namespace(schema) == other.effective_namespace(schema)
    }

    /// A number that is equal for ids that are the same; used by indexes.
    pub(crate) fn hash(&self, schema: &Schema) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.gvk, self.name, self.effective_namespace(schema)).hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Display for ResId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = or_placeholder(self.name, "[noName]");
        let namespace = or_placeholder(self.namespace, "[noNs]");
        write!(f, "{}/{name}.{namespace}", self.gvk)
    }
}
