//! `namePrefix` and `nameSuffix` (§7.3).

use std::sync::Arc;

use weir_yaml::Tag;

use crate::Error;
use crate::build::Build;
use crate::fieldspec::{CompiledSpecs, Creation, FieldSpec, set_scalar};
use crate::id::Gvk;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::transform::Transformer;

/// The text put before or behind a name.
#[derive(Debug, Clone)]
pub(crate) enum Affix {
    Prefix(Arc<str>),
    Suffix(Arc<str>),
}

impl Affix {
    fn text(&self) -> &str {
        match self {
            Self::Prefix(text) | Self::Suffix(text) => text,
        }
    }

    fn put_on(&self, name: &str) -> String {
        match self {
            Self::Prefix(prefix) => format!("{prefix}{name}"),
            Self::Suffix(suffix) => format!("{name}{suffix}"),
        }
    }
}

/// Adds a prefix or suffix to names, and remembers what the names were.
pub(crate) struct AffixTransformer {
    affix: Affix,
    /// Specs one by one, because the name of the resource is treated on its own.
    specs: Vec<(FieldSpec, CompiledSpecs)>,
}

/// The field that holds the name of a resource.
const OWN_NAME: &str = "metadata/name";

impl AffixTransformer {
    pub(crate) fn new(affix: Affix, specs: &[FieldSpec]) -> Self {
        let compile = |spec: &FieldSpec| (spec.clone(), CompiledSpecs::new(std::slice::from_ref(spec)));
        Self { affix, specs: specs.iter().map(compile).collect() }
    }

    fn apply_to(&self, resource: &mut Resource, schema: &Schema) -> Result<(), Error> {
        if keeps_its_name(resource.original_id().gvk) {
            return Ok(());
        }
        for (spec, compiled) in &self.specs {
            if !resource.original_id().gvk.is_selected_by(spec.gvk()) {
                continue;
            }
            if spec.path == OWN_NAME && !self.affix.text().is_empty() {
                match &self.affix {
                    Affix::Prefix(prefix) => resource.prefixes.push(Arc::clone(prefix)),
                    Affix::Suffix(suffix) => resource.suffixes.push(Arc::clone(suffix)),
                }
                resource.store_previous_id(schema);
            }
            compiled.apply(resource, Creation::Scalar, |node| {
                let Some(name) = node.text() else { return Err(Error::wrong_kind("ScalarNode", node)) };
                let name = self.affix.put_on(name);
                set_scalar(node, &name, Tag::Unset)
            })?;
        }
        Ok(())
    }
}

impl Transformer for AffixTransformer {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        let schema = build.schema();
        resources.iter_mut().try_for_each(|resource| self.apply_to(resource, schema))
    }
}

/// Kinds whose name means something outside of the build (KZ-720).
fn keeps_its_name(gvk: Gvk<'_>) -> bool {
    matches!(gvk.kind, "CustomResourceDefinition" | "Namespace")
        || (gvk.kind == "APIService" && gvk.group == "apiregistration.k8s.io")
}
