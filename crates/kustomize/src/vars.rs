//! Vars (stub).
use crate::accumulate::Accumulator;
use crate::build::Build;
use crate::kustomization::Var;
use crate::resmap::ResMap;
use crate::schema::Schema;
use crate::Error;
/// Var errors.
#[derive(Debug, thiserror::Error)]
pub enum VarError { /// not yet
 #[error("vars are not implemented yet")] Unimplemented }
#[derive(Debug, Default)]
pub(crate) struct BoundVars;
impl BoundVars {
    pub(crate) fn append(&mut self, _: Self, _: usize) -> Result<(), Error> { Ok(()) }
    pub(crate) fn bind(&mut self, v: &[Var], _: &mut ResMap, _: &Schema) -> Result<(), Error> { if v.is_empty() { Ok(()) } else { Err(VarError::Unimplemented.into()) } }
}
pub(crate) fn resolve(_: &Build<'_>, _: &mut Accumulator) -> Result<(), Error> { Ok(()) }
