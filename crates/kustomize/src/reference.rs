//! Name references (stub).
use crate::config::Config;
use crate::resmap::ResMap;
use crate::schema::Schema;
use crate::Error;
/// Reference errors.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError { /// not yet
 #[error("not implemented yet")] Unimplemented }
pub(crate) fn fix(_: &mut ResMap, _: &Config, _: &Schema) -> Result<(), Error> { Ok(()) }
