//! `replicas` (KZ-760).

use weir_yaml::Tag;

use crate::Error;
use crate::build::Build;
use crate::fieldspec::{CompiledSpecs, Creation, FieldSpec, set_scalar};
use crate::kustomization::Replica;
use crate::resmap::ResMap;
use crate::transform::Transformer;

/// Sets the number of replicas of a workload, found by any name it has or had.
pub(crate) struct ReplicaCountTransformer {
    replica: Replica,
    specs: Vec<(FieldSpec, CompiledSpecs)>,
}

impl ReplicaCountTransformer {
    pub(crate) fn new(replica: Replica, specs: &[FieldSpec]) -> Self {
        let compile = |spec: &FieldSpec| (spec.clone(), CompiledSpecs::new(std::slice::from_ref(spec)));
        Self { replica, specs: specs.iter().map(compile).collect() }
    }
}

impl Transformer for ReplicaCountTransformer {
    fn apply(&self, _: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        let count = self.replica.count.to_string();
        let mut found = false;
        for resource in resources.contents_mut() {
            for (spec, compiled) in &self.specs {
                let is_target = resource
                    .any_ids()
                    .any(|id| id.name == self.replica.name && id.gvk.is_selected_by(spec.gvk()));
                if is_target {
                    found = true;
                    compiled.apply(resource, Creation::Scalar, |node| set_scalar(node, &count, Tag::Int))?;
                }
            }
        }
        if found {
            return Ok(());
        }
        let kinds: Vec<String> = self.specs.iter().map(|(spec, _)| spec.gvk().to_string()).collect();
        Err(Error::NoReplicaTarget { name: self.replica.name.clone(), kinds: kinds.join(" ") })
    }
}
