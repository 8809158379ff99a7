//! A kustomization that is being built: its document, file and directory.

use std::rc::Rc;

use weir_yaml::read_first_document;

use crate::Error;
use crate::build::Build;
use crate::fs::FsPath;
use crate::kustomization::{FILE_NAMES, Kustomization};
use crate::loader::Loader;
use crate::schema::{BUILT_IN_VERSION, Schema, SchemaError};
use crate::yaml::malformed;

/// A kustomization and where it stands.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) kustomization: Rc<Kustomization>,
    /// The kustomization file, for origins.
    pub(crate) file: FsPath,
    pub(crate) loader: Rc<Loader>,
}

impl Target {
    /// Reads the kustomization file of the loader's directory, or takes the document that is given in its place.
    pub(crate) fn open(
        build: &Build<'_>,
        loader: Rc<Loader>,
        given: Option<Kustomization>,
    ) -> Result<Self, Error> {
        let directory = loader.root();
        let (file, document) = match given {
            Some(document) => (replaced(build, directory), Rc::new(document)),
            None => {
                let file = find(build, &loader)?;
                let document = build.files.kustomization(&file)?;
                (file, document)
            }
        };
        document.warnings().into_iter().for_each(|warning| build.warn(warning));
        let mut kustomization = Kustomization::clone(&document);
        kustomization.modernise();
        kustomization.validate(directory)?;
        Ok(Self { kustomization: Rc::new(kustomization), file, loader })
    }

    /// Applies the `openapi` field; the first setting of a build counts, and only that one has to be right (KZ-1210,
    /// KZ-1211).
    pub(crate) fn set_schema(&self, build: &Build<'_>) -> Result<(), Error> {
        let openapi = &self.kustomization.openapi;
        let version = openapi.get("version").filter(|version| !version.is_empty());
        let file = match (openapi.get("path"), version) {
            (Some(path), _) => Some((path, self.loader.read(build, path)?)),
            (None, Some(_)) => None,
            (None, None) => return Ok(()),
        };
        build.set_schema(|base| match file {
            Some(_) if openapi.contains_key("version") => Err(SchemaError::VersionAndPath.into()),
            Some((path, content)) => custom_schema(path, content, base),
            None if version.is_some_and(|version| version == BUILT_IN_VERSION) => {
                Ok(Schema::built_in().clone())
            }
            None => Err(SchemaError::UnknownVersion.into()),
        })
    }
}

fn custom_schema(path: &str, content: Vec<u8>, base: Option<&Schema>) -> Result<Schema, Error> {
    let document = read_first_document(path, content).map_err(malformed(path))?;
    let document = document.ok_or(SchemaError::NotASchema)?;
    Ok(Schema::custom(&document, base)?)
}

/// Returns the file that a given document stands for: the one that is there, or the one that would be made.
fn replaced(build: &Build<'_>, directory: &FsPath) -> FsPath {
    let found = Kustomization::files_of(directory, |path| build.files.is_file(path));
    found.into_iter().next().unwrap_or_else(|| directory.child(FILE_NAMES[0]))
}

/// The only kustomization file of a directory (KZ-201). A link to a file that the load restriction excludes is none (KZ-302).
fn find(build: &Build<'_>, loader: &Loader) -> Result<FsPath, Error> {
    let directory = loader.root();
    let is_there = |path: &FsPath| loader.locate(build, path.file_name()).is_ok();
    let found = Kustomization::file_of(directory, is_there)?;
    found.ok_or_else(|| Error::MissingKustomization(directory.clone()))
}
