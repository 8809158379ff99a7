//! Replacements (stub).
use crate::build::Build;
use crate::kustomization::Replacement;
use crate::loader::Loader;
use crate::resmap::ResMap;
use crate::transform::Transformer;
use crate::Error;
/// Replacement errors.
#[derive(Debug, thiserror::Error)]
pub enum ReplacementError { /// not yet
 #[error("replacements are not implemented yet")] Unimplemented }
pub(crate) struct ReplacementTransformer;
impl ReplacementTransformer { pub(crate) fn load(_: &Build<'_>, _: &Loader, _: &[Replacement]) -> Result<Self, Error> { Err(ReplacementError::Unimplemented.into()) } }
impl Transformer for ReplacementTransformer { fn apply(&self, _: &Build<'_>, _: &mut ResMap) -> Result<(), Error> { Ok(()) } }
pub(crate) fn configuring() -> String { "trouble configuring builtin ReplacementTransformer".to_owned() }
