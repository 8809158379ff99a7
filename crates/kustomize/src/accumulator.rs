//! The resources, configuration and vars gathered so far.

use std::sync::Arc;

use crate::Error;
use crate::build::Build;
use crate::config::Config;
use crate::resmap::ResMap;
use crate::vars::BoundVars;

/// Everything gathered below one kustomization.
#[derive(Debug, Default)]
pub(crate) struct Accumulator {
    pub(crate) resources: ResMap,
    pub(crate) config: Arc<Config>,
    pub(crate) vars: BoundVars,
}

impl Accumulator {
    /// Adds configuration on top of what is there.
    pub(crate) fn add_config(&mut self, config: &Arc<Config>) -> Result<(), Error> {
        self.config = self.config.merged(config)?;
        Ok(())
    }

    /// Adds all that a base or component has gathered.
    pub(crate) fn absorb(&mut self, other: Self, build: &Build<'_>) -> Result<(), Error> {
        self.resources.append_all(other.resources, build.schema())?;
        self.add_config(&other.config)?;
        self.vars.append(other.vars)?;
        Ok(())
    }
}
