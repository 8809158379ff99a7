//! `labels` and `commonLabels` (§7.4).

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_yaml::Scalar;

use crate::Error;
use crate::build::Build;
use crate::fieldspec::{CompiledSpecs, Creation, FieldSpec, set_string_entry};
use crate::resmap::ResMap;
use crate::transform::Transformer;

/// Sets labels in every field that the specs name.
pub(crate) struct LabelTransformer {
    labels: BTreeMap<String, String>,
    specs: CompiledSpecs,
}

impl LabelTransformer {
    pub(crate) fn new(labels: BTreeMap<String, String>, specs: &[FieldSpec]) -> Self {
        Self { labels, specs: CompiledSpecs::new(specs) }
    }
}

impl Transformer for LabelTransformer {
    fn apply(&self, _: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        set_pairs(&self.labels, &self.specs, resources)
    }
}

/// Sets all pairs, in order of keys, wherever the specs lead; mappings that are missing are made.
pub(super) fn set_pairs(
    pairs: &BTreeMap<String, String>,
    specs: &CompiledSpecs,
    resources: &mut ResMap,
) -> Result<(), Error> {
    if pairs.is_empty() {
        return Ok(());
    }
    for resource in resources.contents_mut() {
        let mut places = vec![Vec::new(); pairs.len()];
        specs.apply_by_path(resource, Creation::Mapping, |path, node| {
            for ((key, value), places) in pairs.iter().zip(&mut places) {
                if set_string_entry(node, key, value)? {
                    places.push(Arc::clone(path.parts()));
                }
            }
            Ok(())
        })?;
        for ((key, value), places) in pairs.iter().zip(places) {
            resource.shared.add(key, Scalar::string(value.as_str()), places);
        }
        resource.follow_shared();
    }
    Ok(())
}
