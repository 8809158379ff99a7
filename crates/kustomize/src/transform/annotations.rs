//! `commonAnnotations` (KZ-740).

use std::collections::BTreeMap;

use super::labels::set_pairs;
use crate::Error;
use crate::build::Build;
use crate::fieldspec::{CompiledSpecs, FieldSpec};
use crate::resmap::ResMap;
use crate::transform::Transformer;

/// Sets annotations in every field that the specs name.
pub(crate) struct AnnotationsTransformer {
    annotations: BTreeMap<String, String>,
    specs: CompiledSpecs,
}

impl AnnotationsTransformer {
    pub(crate) fn new(annotations: BTreeMap<String, String>, specs: &[FieldSpec]) -> Self {
        Self { annotations, specs: CompiledSpecs::new(specs) }
    }
}

impl Transformer for AnnotationsTransformer {
    fn apply(&self, _: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        set_pairs(&self.annotations, &self.specs, resources)
    }
}
