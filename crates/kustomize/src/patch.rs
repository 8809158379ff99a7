//! Patches (stub).
use crate::build::Build;
use crate::kustomization::Patch;
use crate::loader::Loader;
use crate::resmap::ResMap;
use crate::transform::Transformer;
use crate::Error;
/// Patch errors.
#[derive(Debug, thiserror::Error)]
pub enum PatchError { /// not yet
 #[error("patches are not implemented yet")] Unimplemented }
pub(crate) struct PatchTransformer;
pub(crate) struct Json6902Transformer;
pub(crate) struct StrategicMergeTransformer;
macro_rules! stub { ($t:ident, $arg:ty) => {
impl $t { pub(crate) fn load(_: &Build<'_>, _: &Loader, _: $arg) -> Result<Self, Error> { Err(PatchError::Unimplemented.into()) } }
impl Transformer for $t { fn apply(&self, _: &Build<'_>, _: &mut ResMap) -> Result<(), Error> { Ok(()) } }
}}
stub!(PatchTransformer, &Patch);
stub!(Json6902Transformer, &Patch);
stub!(StrategicMergeTransformer, &[String]);
pub(crate) fn configuring(name: &str, _: &Patch) -> String { format!("trouble configuring builtin {name}") }
pub(crate) fn configuring_list(name: &str, _: &[String]) -> String { format!("trouble configuring builtin {name}") }
