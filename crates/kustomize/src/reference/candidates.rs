//! The resources that references may lead to, found by the names they had.

use std::collections::HashMap;
use std::sync::Arc;

use weir_yaml::Node;

use super::referrers::Lookup;
use super::subject_namespaces;
use crate::Error;
use crate::id::{Gvk, NO_NAMESPACE};
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::schema::Schema;

/// The facts about a renamed resource that references need. Names stay as they are from here on, so these are
/// recorded once.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The current id, for messages.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) effective_namespace: String,
    pub(super) original_namespace: String,
    group: String,
    version: String,
    former_kinds: Vec<Arc<str>>,
    is_service_account: bool,
    affixes: Affixes,
}

/// Prefixes and suffixes, in the order they were applied.
#[derive(Debug)]
struct Affixes {
    prefixes: Vec<Arc<str>>,
    suffixes: Vec<Arc<str>>,
}

impl Affixes {
    fn of(resource: &Resource) -> Self {
        Self { prefixes: resource.prefixes.clone(), suffixes: resource.suffixes.clone() }
    }
}

/// When several candidates are as good as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    Names,
    NamesAndNamespaces,
}

impl Compared {
    pub(super) fn are_equal(self, left: &Candidate, right: &Candidate) -> bool {
        left.name == right.name && (self == Self::Names || left.namespace == right.namespace)
    }
}

impl Candidate {
    fn new(resource: &Resource, schema: &Schema) -> Self {
        let id = resource.id();
        Self {
            id: id.to_string(),
            name: id.name.to_owned(),
            namespace: id.namespace.to_owned(),
            effective_namespace: id.effective_namespace(schema).to_owned(),
            original_namespace: resource.original_id().effective_namespace(schema).to_owned(),
            group: id.gvk.group.to_owned(),
            version: id.gvk.version.to_owned(),
            former_kinds: resource.history.iter().map(|previous| Arc::clone(&previous.kind)).collect(),
            is_service_account: id.gvk.kind == "ServiceAccount",
            affixes: Affixes::of(resource),
        }
    }

    fn is_cluster_scoped(&self) -> bool {
        self.effective_namespace == NO_NAMESPACE
    }

    /// Returns true when the resource was of the kind that is referred to.
    pub(super) fn was_selected_by(&self, target: Gvk<'_>) -> bool {
        self.former_kinds
            .iter()
            .any(|kind| Gvk { group: &self.group, version: &self.version, kind }.is_selected_by(target))
    }
}

/// All candidates, in order.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    all: Vec<Candidate>,
    by_former_name: HashMap<Arc<str>, Vec<usize>>,
    by_original_namespace: HashMap<String, Vec<usize>>,
}

impl Candidates {
    pub(super) fn new(resources: &ResMap, schema: &Schema) -> Self {
        let mut candidates = Self::default();
        for resource in resources.iter() {
            let at = candidates.all.len();
            for previous in &resource.history {
                let named = candidates.by_former_name.entry(Arc::clone(&previous.name)).or_default();
                if named.last() != Some(&at) {
                    named.push(at);
                }
            }
            let candidate = Candidate::new(resource, schema);
            candidates
                .by_original_namespace
                .entry(candidate.original_namespace.clone())
                .or_default()
                .push(at);
            candidates.all.push(candidate);
        }
        candidates
    }

    /// Resources that had this name, in order.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Candidate> {
        let positions = self.by_former_name.get(name).map(Vec::as_slice).unwrap_or_default();
        positions.iter().filter_map(|position| self.all.get(*position))
    }

    /// Returns true when any resource that the referrer may refer to was in this namespace at first.
    pub(super) fn has_original_namespace(&self, namespace: &str, referrer: &Referrer) -> bool {
        namespace != NO_NAMESPACE
            && self.by_original_namespace.get(namespace).is_some_and(|positions| {
                positions
                    .iter()
                    .filter_map(|position| self.all.get(*position))
                    .any(|candidate| referrer.may_refer_to(candidate))
            })
    }
}

/// The resource whose references are fixed.
#[derive(Debug)]
pub(super) struct Referrer {
    effective_namespace: String,
    subject_namespaces: Vec<String>,
    role: Option<(String, String)>,
    affixes: Affixes,
}

impl Referrer {
    pub(super) fn new(resource: &Resource, schema: &Schema) -> Result<Self, Error> {
        let effective_namespace = resource.id().effective_namespace(schema).to_owned();
        let subject_namespaces =
            if effective_namespace == NO_NAMESPACE { Vec::new() } else { subject_namespaces(resource)? };
        let role = |key: &str| resource.node.at(&["roleRef", key]).and_then(Node::text).map(str::to_owned);
        Ok(Self {
            effective_namespace,
            subject_namespaces,
            role: role("apiGroup").zip(role("kind")),
            affixes: Affixes::of(resource),
        })
    }

    fn is_cluster_scoped(&self) -> bool {
        self.effective_namespace == NO_NAMESPACE
    }

    /// Returns true when the candidate is within reach at all (KZ-1002).
    pub(super) fn may_refer_to(&self, candidate: &Candidate) -> bool {
        self.is_cluster_scoped()
            || candidate.is_cluster_scoped()
            || candidate.effective_namespace == self.effective_namespace
            || self.subject_namespaces.contains(&candidate.namespace)
    }

    /// Returns true when `roleRef` means the kind of the candidate, where the reference is a `roleRef`.
    pub(super) fn role_allows(&self, lookup: &Lookup, candidate: &Candidate) -> bool {
        match &self.role {
            Some((group, kind)) if lookup.path.as_str().ends_with("roleRef/name") => {
                candidate.was_selected_by(Gvk { group, version: "", kind })
            }
            _ => true,
        }
    }

    /// Service accounts may be referred to from other namespaces, other resources may not.
    pub(super) fn shares_namespace_with(&self, candidate: &Candidate) -> bool {
        self.is_cluster_scoped()
            || candidate.is_cluster_scoped()
            || candidate.is_service_account
            || candidate.effective_namespace == self.effective_namespace
    }

    /// Returns true when both went through the same levels of prefixes and suffixes.
    pub(super) fn has_compatible_affixes(&self, candidate: &Candidate, allow_empty: bool) -> bool {
        let compatible = |own: &[Arc<str>], other: &[Arc<str>]| match (own.is_empty(), other.is_empty()) {
            (false, false) => own.ends_with(other) || other.ends_with(own),
            (true, true) => true,
            _ => allow_empty,
        };
        compatible(&self.affixes.prefixes, &candidate.affixes.prefixes)
            && compatible(&self.affixes.suffixes, &candidate.affixes.suffixes)
    }
}
