//! `patchesJson6902`: a list of operations for selected resources (KZ-804).

use std::rc::Rc;

use super::error::PatchError;
use super::selected;
use crate::Error;
use crate::build::Build;
use crate::error::Context;
use crate::jsonpatch::{self, Operation};
use crate::kustomization::Patch;
use crate::loader::Loader;
use crate::quote;
use crate::resmap::ResMap;
use crate::selector::CompiledSelector;
use crate::transform::Transformer;

/// One entry of the field.
pub(crate) struct Json6902Transformer {
    operations: Vec<Operation>,
    target: CompiledSelector,
}

impl Json6902Transformer {
    /// Loads and parses the operations.
    ///
    /// # Errors
    /// Target or operations are missing, or the text is no JSON patch.
    pub(crate) fn load(build: &Build<'_>, loader: &Rc<Loader>, patch: &Patch) -> Result<Self, Error> {
        let refuse = |problem: &str| Err(PatchError::Json6902(problem.to_owned()).into());
        let Some(target) = patch.target.as_ref().filter(|target| !target.name.is_empty()) else {
            return refuse("must specify the target name");
        };
        let text = match (patch.path.is_empty(), patch.patch.is_empty()) {
            (true, true) => return refuse("empty file path and empty jsonOp"),
            (false, false) => return refuse("must specify a file path or jsonOp, not both"),
            (true, false) => patch.patch.clone().into_bytes(),
            (false, true) => {
                let content = loader.read(build, &patch.path)?;
                if content.is_empty() {
                    return refuse(&format!("patch file '{}' empty seems to be empty", patch.path));
                }
                content
            }
        };
        let lossy = String::from_utf8_lossy(&text);
        let shown = quote::patch(&lossy, Some(target));
        let operations = jsonpatch::parse(&patch.path, &text).context(|| format!("decoding {shown}"))?;
        if operations.is_empty() {
            let problem = format!("patch appears to be empty; file={}, JsonOp={shown}", patch.path);
            return refuse(&problem);
        }
        Ok(Self { operations, target: CompiledSelector::of_build(target)? })
    }
}

impl Transformer for Json6902Transformer {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        for position in selected(&self.target, resources, build.schema())? {
            build.options.stop.check()?;
            let Some(resource) = resources.get_mut(position) else { continue };
            resource.replace_node(jsonpatch::apply(&resource.node, &self.operations)?);
        }
        Ok(())
    }
}
