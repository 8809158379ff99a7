//! The order of a build's steps at the root (KZ-107).

use std::borrow::Cow;

use crate::accumulator::Accumulator;
use crate::build::Build;
use crate::files::Files;
use crate::fs::{FileSystem, FsPath};
use crate::kustomization::Kustomization;
use crate::loader::Loader;
use crate::remote::without_secrets;
use crate::resource::Resource;
use crate::target::Target;
use crate::{Error, Options, Output, Warning, finish, hash, input, order, reference, vars};

/// Builds the kustomization in `directory`.
///
/// # Errors
/// Fails for anything from a missing file to a patch without target; the message names the steps and files that led
/// there.
pub fn build(fs: &dyn FileSystem, directory: &FsPath, options: &Options) -> Result<Output, Error> {
    discreet(guarded(|| run(fs, directory, None, options)))
}

/// Builds `kustomization` as if it were the file in `directory`; a file that is there is not read.
///
/// # Errors
/// As [`build`].
pub fn build_kustomization(
    fs: &dyn FileSystem,
    directory: &FsPath,
    kustomization: Kustomization,
    options: &Options,
) -> Result<Output, Error> {
    discreet(guarded(|| run(fs, directory, Some(kustomization), options)))
}

/// Messages repeat references as they are written, secrets included; what leaves a build has none.
fn discreet(result: Result<Output, Error>) -> Result<Output, Error> {
    result.map_err(|error| match without_secrets(&error.to_string()) {
        Cow::Owned(text) if text != error.to_string() => Error::Discreet(text),
        _ => error,
    })
}

/// Turns a panic into an error: a build shares nothing that it could leave half-changed.
fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Error::Panic(text.unwrap_or_else(|| "unknown cause".to_owned())))
    })
}

/// Checks that a file is a Kubernetes manifest as the engine reads them, and counts its resources.
///
/// # Errors
/// The file is not YAML, or holds something that is no resource.
pub fn validate_manifest(path: &FsPath, content: Vec<u8>) -> Result<usize, Error> {
    Ok(input::read(&path.to_string(), content)?.len())
}

fn run(
    fs: &dyn FileSystem,
    directory: &FsPath,
    given: Option<Kustomization>,
    options: &Options,
) -> Result<Output, Error> {
    let files = Files::new(fs, options.remote.clone());
    let loader = Loader::start(&files, directory)?;
    let root = loader.root().clone();
    let mut build = Build::new(files, options, root);
    let target = Target::open(&build, loader, given)?;
    build.is_tracking = !target.kustomization.build_metadata.is_empty();
    let resources = build.make(&target)?;
    Ok(build.into_output(resources))
}

impl Build<'_> {
    fn make(&self, target: &Target) -> Result<Vec<Resource>, Error> {
        let kustomization = &target.kustomization;
        target.set_schema(self)?;
        let mut accumulated = target.accumulate(self, Accumulator::default())?;
        let schema = self.schema();
        hash::add_suffixes(&mut accumulated.resources, schema)?;
        reference::fix(&mut accumulated.resources, &accumulated.config, schema, &self.options.stop)?;
        vars::resolve(self, accumulated.vars, &accumulated.config, &mut accumulated.resources)?;
        finish::drop_local(&mut accumulated.resources)?;
        // Replacements may have given two resources one id.
        accumulated.resources.check_unique(schema)?;
        let mut resources = accumulated.resources.into_resources();
        if kustomization.sort_options.is_some() && self.options.reorder.is_asked_for() {
            self.warn(Warning::SortedTwice);
        }
        order::sort(&mut resources, kustomization.sort_options.as_ref(), self.options.reorder)?;
        finish::clean(&mut resources, &kustomization.build_metadata, self.options.managed_by_label);
        Ok(resources)
    }
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn panics_become_errors() {
        let error = guarded::<()>(|| panic!("engine bug")).unwrap_err();
        assert_eq!(error.to_string(), "recovered from kustomize build panic: engine bug");
    }
}
