//! Generators, transformers and validators that have files of their own, at their places in the walk (§12.1).

use crate::accumulator::Accumulator;
use crate::build::Build;
use crate::error::Context;
use crate::origin::Origin;
use crate::resource::Resource;
use crate::target::Target;
use crate::transform::Step;
use crate::{Error, generate, input, plugin, transform};

impl Target {
    /// Runs all generators, built-in ones first (KZ-404).
    pub(super) fn generate(&self, build: &Build<'_>, accumulated: &mut Accumulator) -> Result<(), Error> {
        generate::run(build, self, accumulated)?;
        let configurations = self
            .configurations(build, &self.kustomization.generators)
            .context(|| "loading generator plugins".to_owned())?;
        let made = plugin::generate(build, &self.loader, &configurations)?;
        generate::absorb(build, accumulated, made)
    }

    /// Configures all transformers, then runs them, built-in ones first (KZ-406, KZ-415).
    pub(super) fn transform(&self, build: &Build<'_>, accumulated: &mut Accumulator) -> Result<(), Error> {
        let mut steps = transform::built_in(build, self, &accumulated.config)?;
        steps.extend(self.transformers(build, &self.kustomization.transformers)?);
        steps.iter().try_for_each(|step| step.run(build, &mut accumulated.resources))
    }

    /// Runs the validators (KZ-407).
    pub(super) fn validate(&self, build: &Build<'_>, accumulated: &mut Accumulator) -> Result<(), Error> {
        let steps = self.transformers(build, &self.kustomization.validators)?;
        plugin::validate(build, &steps, &mut accumulated.resources)
    }

    fn transformers(&self, build: &Build<'_>, references: &[String]) -> Result<Vec<Step>, Error> {
        plugin::transformers(build, &self.loader, &self.configurations(build, references)?)
    }

    /// Returns the configurations that `references` lead to: inline ones first, then those in files and directories.
    fn configurations(&self, build: &Build<'_>, references: &[String]) -> Result<Vec<Resource>, Error> {
        let mut accumulated = Accumulator::default();
        let mut paths = Vec::new();
        for reference in references {
            let Ok(resources) = input::read("", reference.clone().into_bytes()) else {
                paths.push(reference.clone());
                continue;
            };
            for mut resource in resources {
                resource.origin =
                    build.is_tracking.then(|| Origin::file(&self.file, self.loader.home(&build.root)));
                accumulated
                    .resources
                    .append(resource, build.schema())
                    .context(|| "configuring external plugin".to_owned())?;
            }
        }
        Ok(self.add_resources(build, accumulated, &paths)?.resources.into_resources())
    }
}
