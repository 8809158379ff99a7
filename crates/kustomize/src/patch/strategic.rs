//! `patchesStrategicMerge`: patches that name their target themselves.

use std::rc::Rc;

use super::error::PatchError;
use super::{find_target, merge_copy};
use crate::Error;
use crate::build::Build;
use crate::input;
use crate::kustomization::PatchOptions;
use crate::loader::Loader;
use crate::quote;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::transform::Transformer;

/// All patches of the field, in order.
pub(crate) struct StrategicMergeTransformer {
    patches: Vec<Resource>,
}

impl StrategicMergeTransformer {
    /// Loads the entries, each of which is a patch or the path of one (KZ-803).
    ///
    /// # Errors
    /// An entry is neither, or there is no patch at all.
    pub(crate) fn load(build: &Build<'_>, loader: &Rc<Loader>, sources: &[String]) -> Result<Self, Error> {
        Self::load_both(build, loader, sources, "")
    }

    /// As [`Self::load`], with patches that stand in a plugin configuration.
    pub(crate) fn load_both(
        build: &Build<'_>,
        loader: &Rc<Loader>,
        sources: &[String],
        inline: &str,
    ) -> Result<Self, Error> {
        if sources.is_empty() && inline.is_empty() {
            return Err(PatchError::NothingToMerge.into());
        }
        let mut patches = Vec::new();
        for source in sources {
            patches.extend(load_one(build, loader, source)?);
        }
        patches.extend(input::read("", inline.into())?);
        if patches.is_empty() {
            let shown: Vec<&str> = sources.iter().map(|source| quote::patch(source, None)).collect();
            let inline = quote::patch(inline, None).to_owned();
            return Err(PatchError::EmptyStrategicMerge(shown.join(" "), inline).into());
        }
        Ok(Self { patches })
    }
}

fn load_one(build: &Build<'_>, loader: &Rc<Loader>, source: &str) -> Result<Vec<Resource>, Error> {
    match input::read("", source.into()) {
        Ok(patches) => return Ok(patches),
        // The error of the path would repeat a patch.
        Err(error) if !may_be_path(source) && quote::patch(source, None) == quote::HIDDEN => {
            return Err(error);
        }
        Err(_) => {}
    }
    let path = loader.locate(build, source)?;
    input::resources(build.files.documents(&path, source)?)
}

/// Returns false for what is written as a patch: names of files have neither line breaks nor YAML's punctuation.
fn may_be_path(source: &str) -> bool {
    !source.contains(['\n', '{']) && !source.contains(": ")
}

impl Transformer for StrategicMergeTransformer {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        let schema = build.schema();
        for patch in &self.patches {
            build.options.stop.check()?;
            let position = find_target(patch, resources, schema)?;
            merge_copy(patch, position, PatchOptions::default(), resources, schema)?;
        }
        Ok(())
    }
}
