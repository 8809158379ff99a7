//! The walk through the tree of kustomizations (§4).

mod plugins;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, Scope};

use crate::accumulator::Accumulator;
use crate::build::Build;
use crate::config::Config;
use crate::error::Context;
use crate::files::Documents;
use crate::fs::FsPath;
use crate::kustomization::Kustomization;
use crate::loader::Loader;
use crate::origin::Origin;
use crate::remote::RemoteError;
use crate::resource::Resource;
use crate::target::Target;
use crate::{Error, config, input};

/// Large files that wait to be added while they are parsed. More threads than these would be taken from other builds.
const PARSED_AT_ONCE: usize = 4;

impl Target {
    /// Gathers this kustomization on top of `accumulated`, which is empty unless this is a component.
    pub(crate) fn accumulate(
        &self,
        build: &Build<'_>,
        accumulated: Accumulator,
    ) -> Result<Accumulator, Error> {
        let kustomization = &self.kustomization;
        let mut accumulated = self
            .add_resources(build, accumulated, &kustomization.resources)
            .context(|| "accumulating resources".to_owned())?;
        self.add_configs(build, &mut accumulated)?;
        self.generate(build, &mut accumulated)?;
        accumulated = self
            .add_components(build, accumulated, &kustomization.components)
            .context(|| "accumulating components".to_owned())?;
        self.transform(build, &mut accumulated)?;
        self.validate(build, &mut accumulated)?;
        accumulated
            .vars
            .bind(&kustomization.vars, &mut accumulated.resources, build.schema())
            .context(|| "merging vars".to_owned())?;
        Ok(accumulated)
    }

    /// Adds files and directories in the order they are listed (KZ-401). Large files in a row are parsed side by side.
    fn add_resources(
        &self,
        build: &Build<'_>,
        mut accumulated: Accumulator,
        references: &[String],
    ) -> Result<Accumulator, Error> {
        thread::scope(|scope| {
            let mut opened = VecDeque::new();
            for reference in references {
                let file = self.open_file(build, scope, reference);
                let may_wait =
                    if matches!(file, Ok((_, Documents::Parsing(_)))) { PARSED_AT_ONCE } else { 0 };
                opened.push_back((reference, file));
                while opened.len() > may_wait
                    && let Some((reference, file)) = opened.pop_front()
                {
                    accumulated = self.add(build, accumulated, reference, file)?;
                }
            }
            let mut rest = opened.into_iter();
            rest.try_fold(accumulated, |accumulated, (reference, file)| {
                self.add(build, accumulated, reference, file)
            })
        })
    }

    /// Finds the file that a resource names and begins to read it.
    fn open_file<'s>(
        &self,
        build: &Build<'_>,
        scope: &'s Scope<'s, '_>,
        reference: &str,
    ) -> Result<(FsPath, Documents<'s>), Error> {
        let path = self.loader.locate(build, reference)?;
        let documents = build.files.open(scope, &path, reference)?;
        Ok((path, documents))
    }

    /// Adds a resource: the file, or the directory of that name where there is no such file.
    fn add(
        &self,
        build: &Build<'_>,
        mut accumulated: Accumulator,
        reference: &str,
        file: Result<(FsPath, Documents<'_>), Error>,
    ) -> Result<Accumulator, Error> {
        build.options.stop.check()?;
        let Err(file_error) = self.add_file(build, &mut accumulated, reference, file) else {
            return Ok(accumulated);
        };
        if file_error.remote().is_some_and(RemoteError::is_final) {
            return Err(file_error);
        }
        let loader = match self.loader.enter(build, reference) {
            Ok(loader) => loader,
            // A repository that did not answer in time may be what was meant.
            Err(error) if file_error.is_malformed_yaml() && !error.is_timeout() => return Err(file_error),
            Err(error) => return Err(error.context(format!("accumulation err='{file_error}'"))),
        };
        self.add_directory(build, accumulated, loader, Role::Base)
            .context(|| format!("accumulation err='{file_error}'"))
    }

    fn add_file(
        &self,
        build: &Build<'_>,
        accumulated: &mut Accumulator,
        reference: &str,
        file: Result<(FsPath, Documents<'_>), Error>,
    ) -> Result<(), Error> {
        let loading = || format!("accumulating resources from '{reference}'");
        let (path, documents) = file.context(loading)?;
        let documents = documents.parsed().context(loading)?;
        let mut resources = input::resources(documents).context(loading)?;
        resources.iter_mut().for_each(Resource::open_annotations);
        if build.is_tracking {
            let origin = Origin::resource(reference, &path, self.loader.home(&build.root));
            resources.iter_mut().for_each(|resource| resource.track(&origin));
        }
        let before = accumulated.resources.len();
        for resource in resources {
            build.note_schema_use(&resource);
            accumulated.resources.append(resource, build.schema()).map_err(|error| match error {
                // A file is read as a whole first, and added then.
                Error::DuplicateId { first, .. } if first >= before => error.context(loading()),
                other => other.context(format!("merging resources from '{reference}'")),
            })?;
        }
        Ok(())
    }

    fn add_directory(
        &self,
        build: &Build<'_>,
        mut accumulated: Accumulator,
        loader: Rc<Loader>,
        role: Role,
    ) -> Result<Accumulator, Error> {
        let directory = loader.root().clone();
        let child = Self::open(build, loader, None)
            .context(|| format!("couldn't make target for path '{directory}'"))?;
        child.set_schema(build)?;
        role.check(&child.kustomization, &directory.to_string())?;
        let recursing = || format!("recursed accumulation of path '{directory}'");
        // Components work on what their parent has gathered, and all of it is merged into nothing afterwards.
        let start = match role {
            Role::Component => std::mem::take(&mut accumulated),
            Role::Base => Accumulator::default(),
        };
        let gathered = child.accumulate(build, start).context(recursing)?;
        accumulated
            .absorb(gathered, build)
            .context(|| format!("recursed merging from path '{directory}'"))?;
        Ok(accumulated)
    }

    fn add_components(
        &self,
        build: &Build<'_>,
        mut accumulated: Accumulator,
        references: &[String],
    ) -> Result<Accumulator, Error> {
        let failed = |step| move |cause| Error::Component { step, cause: Box::new(cause) };
        for reference in references {
            let loader = self.loader.enter(build, reference).map_err(failed("loader.New"))?;
            let added = self.add_directory(build, accumulated, loader, Role::Component);
            accumulated = added.map_err(failed("accumulateDirectory:"))?;
        }
        Ok(accumulated)
    }

    /// Adds `configurations` on top of the defaults, and what `crds` say (KZ-402, KZ-403).
    fn add_configs(&self, build: &Build<'_>, accumulated: &mut Accumulator) -> Result<(), Error> {
        let mut files = Arc::new(Config::default());
        for reference in &self.kustomization.configurations {
            let content = self.loader.read(build, reference)?;
            let file = Config::read(reference, content).context(|| format!("loading '{reference}'"))?;
            files = files.merged(&Arc::new(file))?;
        }
        let own = build.defaults.merged(&files)?;
        accumulated.add_config(&own).context(|| "merging config".to_owned())?;
        let mut files = Arc::new(Config::default());
        for reference in &self.kustomization.crds {
            let loading = || format!("loading CRDs [{}]", self.kustomization.crds.join(" "));
            let content = self.loader.read(build, reference).context(loading)?;
            let file = config::from_crds(reference, content).context(loading)?;
            files = files.merged(&Arc::new(file))?;
        }
        accumulated.add_config(&files).context(|| "merging CRDs".to_owned())
    }
}

/// As what a directory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Base,
    Component,
}

impl Role {
    fn check(self, kustomization: &Kustomization, directory: &str) -> Result<(), Error> {
        match (self, kustomization.is_component()) {
            (Self::Base, false) | (Self::Component, true) => Ok(()),
            (Self::Component, false) => Err(Error::WrongKind(format!(
                "expected kind 'Component' for path '{directory}' but got '{}'",
                kustomization.kind
            ))),
            (Self::Base, true) => {
                Err(Error::WrongKind(format!("expected kind != 'Component' for path '{directory}'")))
            }
        }
    }
}
