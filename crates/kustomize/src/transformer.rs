//! A step that changes resources.

use crate::build::Build;
use crate::error::Error;
use crate::resmap::ResMap;

/// A change to all resources gathered so far.
pub(crate) trait Transformer {
    /// Makes the change.
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error>;
}
