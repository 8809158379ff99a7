//! `namespace` (§7.2).

use std::collections::HashMap;

use weir_yaml::{Node, Tag};

use crate::Error;
use crate::build::Build;
use crate::error::Context;
use crate::fieldspec::{CompiledSpecs, Creation, FieldSpec, set_scalar};
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::transform::Transformer;

const OWN_NAMESPACE: &str = "metadata/namespace";
const OWN_NAME: &str = "metadata/name";
const SUBJECT_NAMESPACE: &str = "subjects/namespace";
const HELM_GENERATED: &str = "internal.config.kubernetes.io/helm-generated";

/// The subjects of role bindings that get the namespace (KZ-712).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SubjectMode {
    /// Those named `default`.
    #[default]
    DefaultOnly,
    /// All service accounts.
    AllServiceAccounts,
    /// None.
    None,
}

/// Moves resources into a namespace.
pub(crate) struct NamespaceTransformer {
    namespace: String,
    specs: Vec<FieldSpec>,
    pub(crate) unset_only: bool,
    pub(crate) subjects: SubjectMode,
}

/// The specs as they apply to one sort of resource.
struct SpecSets {
    own: CompiledSpecs,
    /// Resources of the core group's `v1`; there `metadata/name` is the name of a Namespace.
    core: CompiledSpecs,
    core_bindings: CompiledSpecs,
    others: CompiledSpecs,
    other_bindings: CompiledSpecs,
}

impl NamespaceTransformer {
    pub(crate) fn new(namespace: &str, specs: &[FieldSpec]) -> Self {
        Self {
            namespace: namespace.to_owned(),
            specs: specs.to_vec(),
            unset_only: false,
            subjects: SubjectMode::default(),
        }
    }

    fn spec_sets(&self) -> SpecSets {
        let own = FieldSpec { path: OWN_NAMESPACE.to_owned(), create: true, ..FieldSpec::default() };
        let set = |is_core: bool, is_binding: bool| {
            let keeps = |spec: &&FieldSpec| {
                spec.path != OWN_NAMESPACE
                    && (is_core || spec.path != OWN_NAME)
                    && !(is_binding && is_role_binding(&spec.kind) && spec.path == SUBJECT_NAMESPACE)
            };
            let kept: Vec<FieldSpec> = self.specs.iter().filter(keeps).cloned().collect();
            CompiledSpecs::new(&kept)
        };
        SpecSets {
            own: CompiledSpecs::new(&[own]),
            core: set(true, false),
            core_bindings: set(true, true),
            others: set(false, false),
            other_bindings: set(false, true),
        }
    }

    fn set(&self, node: &mut Node) -> Result<(), Error> {
        let has_value = !node.is_null() && node.text().is_some_and(|text| !text.is_empty());
        if self.unset_only && has_value {
            return Ok(());
        }
        set_scalar(node, &self.namespace, Tag::Str)
    }

    /// Sets the namespace of one resource alone.
    pub(super) fn set_own(&self, resource: &mut Resource, schema: &Schema) -> Result<(), Error> {
        self.apply_to(resource, &self.spec_sets(), schema)
    }

    fn apply_to(&self, resource: &mut Resource, sets: &SpecSets, schema: &Schema) -> Result<(), Error> {
        if !schema.is_cluster_scoped(resource.gvk()) {
            sets.own.apply(resource, Creation::Scalar, |node| self.set(node))?;
        }
        let is_binding = is_role_binding(resource.kind());
        if is_binding {
            self.set_subjects(resource)
                .context(|| "setting namespace on (cluster)role binding subjects".to_owned())?;
        }
        let specs = match (resource.api_version() == "v1", is_binding) {
            (true, false) => &sets.core,
            (true, true) => &sets.core_bindings,
            (false, false) => &sets.others,
            (false, true) => &sets.other_bindings,
        };
        specs.apply(resource, Creation::Scalar, |node| self.set(node)).map_err(|error| {
            let step = match error.is_about_a_collection() {
                true => "namespace field specs must target scalar nodes",
                false => "namespace transformation failed",
            };
            error.context(step)
        })
    }

    fn set_subjects(&self, resource: &mut Resource) -> Result<(), Error> {
        let (key, wanted) = match self.subjects {
            SubjectMode::DefaultOnly => ("name", "default"),
            SubjectMode::AllServiceAccounts => ("kind", "ServiceAccount"),
            SubjectMode::None => return Ok(()),
        };
        let subjects = match resource.node.get_mut("subjects") {
            Some(Node::Seq(subjects)) => subjects,
            Some(other) if !other.is_null() => return Err(Error::wrong_kind("SequenceNode", other)),
            _ => return Ok(()),
        };
        for subject in subjects.iter_mut().filter(|subject| !subject.is_null()) {
            let Node::Map(map) = subject else { return Err(Error::wrong_kind("MappingNode", subject)) };
            match map.get(key) {
                Some(Node::Scalar(found)) if found.text == wanted => {}
                None | Some(Node::Scalar(_)) => continue,
                Some(other) => return Err(Error::wrong_kind("ScalarNode", other)),
            }
            if let Some(field) = map.get_or_insert_with("namespace", || Node::plain("")) {
                self.set(field)?;
            }
        }
        Ok(())
    }
}

impl Transformer for NamespaceTransformer {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        if self.namespace.is_empty() {
            return Ok(());
        }
        let schema = build.schema();
        let sets = self.spec_sets();
        // Number of resources that have an id; the check after each change sees the others as they are then (KZ-714).
        let mut counts: HashMap<u64, isize> = HashMap::with_capacity(resources.len());
        for resource in resources.iter() {
            *counts.entry(resource.id().hash(schema)).or_default() += 1;
        }
        for resource in resources.iter_mut() {
            if resource.is_empty() || resource.metadata_entry("annotations", HELM_GENERATED) == Some("true") {
                continue;
            }
            resource.store_previous_id(schema);
            *counts.entry(resource.id().hash(schema)).or_default() -= 1;
            self.apply_to(resource, &sets, schema)?;
            let count = counts.entry(resource.id().hash(schema)).or_default();
            *count += 1;
            if *count != 1 {
                return Err(Error::NamespaceConflict(resource.id().to_string()));
            }
        }
        Ok(())
    }
}

fn is_role_binding(kind: &str) -> bool {
    matches!(kind, "RoleBinding" | "ClusterRoleBinding")
}
