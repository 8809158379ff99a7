//! Plugins (stub).
use crate::accumulate::{Accumulator, Target};
use crate::build::Build;
use crate::resource::Resource;
use crate::transform::Step;
use crate::Error;
/// Plugin errors.
#[derive(Debug, thiserror::Error)]
pub enum PluginError { /// not yet
 #[error("plugins are not implemented yet")] Unimplemented }
pub(crate) fn generate(_: &Build<'_>, _: &Target, l: &[String]) -> Result<Vec<Resource>, Error> { if l.is_empty() { Ok(vec![]) } else { Err(PluginError::Unimplemented.into()) } }
pub(crate) fn transformers(_: &Build<'_>, _: &Target, l: &[String]) -> Result<Vec<Step>, Error> { if l.is_empty() { Ok(vec![]) } else { Err(PluginError::Unimplemented.into()) } }
pub(crate) fn validate(_: &Build<'_>, _: &Target, _: &mut Accumulator) -> Result<(), Error> { Ok(()) }
