//! One build, as the service builds.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use weir_api::Kustomization;
use weir_artifact::{DirectoryTree, ignore_rules};
use weir_ignore::Matcher;
use weir_kustomize::{FileSystem, FsPath, Remote, RootedFs, Stop, Warning};
use weir_kustomize_controller::build::{self, Input};
use weir_kustomize_controller::variables::{self, Variables};
use weir_ssa::{Manifest, MetadataField};

use super::super::remote::failed;
use super::mask::mask;
use crate::changes::owner;
use crate::error::Error;

/// The files that a Kustomization is built from.
pub(crate) struct Place<F> {
    /// The files.
    pub(crate) files: F,
    /// The directory to build.
    pub(crate) directory: FsPath,
    /// Files that the directory's kustomization file is not to name.
    pub(crate) ignored: Matcher,
}

impl Place<RootedFs> {
    /// A directory of this machine, without the files that patterns name.
    pub(super) fn local(directory: &Path, patterns: &str) -> Result<Self, Error> {
        let refused = |error: &dyn std::error::Error| Error::Build(error.to_string());
        let ignored = matcher(directory, patterns)
            .map_err(|cause| Error::File { path: directory.display().to_string(), cause })?;
        let directory = FsPath::new(&directory.to_string_lossy()).map_err(|error| refused(&error))?;
        // The whole disk, because bases may lie beside the directory.
        let files = RootedFs::new(Path::new("/")).map_err(|error| refused(&error))?;
        Ok(Self { files, directory, ignored })
    }
}

/// The objects of a Kustomization over the files of a directory: labelled with their owner, secrets hidden.
pub(super) fn build<F: FileSystem>(
    kustomization: &Kustomization,
    variables: Option<Result<Variables, variables::Error>>,
    place: Place<F>,
    is_strict: bool,
    remote: Option<Arc<dyn Remote>>,
    on_warning: fn(&Warning),
) -> Result<Vec<Value>, Error> {
    let Place { files, directory, ignored } = place;
    let mut spec = kustomization.spec.clone();
    let has_common_metadata = spec.common_metadata.is_some();
    // Nothing is decrypted here: what is encrypted is hidden.
    spec.decryption = None;
    let decryption = None;
    let built = build::build(Input {
        files,
        directory,
        spec,
        variables,
        is_strict,
        ignored,
        decryption,
        remote,
        stop: Stop::default(),
        on_warning,
    });
    let built = built.map_err(|error| match &error {
        build::Error::Build(cause) => failed(cause, error.to_string()),
        build::Error::Document(_) => Error::Build(format!("failed to generate kustomization.yaml: {error}")),
        // The command names the object alone, the service its kind, too.
        build::Error::Substitute { resource, source } => {
            let name = resource.rsplit('/').next().unwrap_or(resource);
            Error::Build(format!("var substitution failed for '{name}': {source}"))
        }
        _ => Error::Build(error.to_string()),
    });
    let manifests = built?.manifests;
    let owner = owner(kustomization);
    let labels = owner.labels();
    let labels: Vec<_> = labels.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let owned = manifests.into_iter().map(|manifest| {
        let mut object = labelled(manifest, &labels);
        if has_common_metadata {
            fill(&mut object);
        }
        mask(&mut object);
        object
    });
    Ok(owned.collect())
}

/// Returns an object with the labels of its owner. Its others stay, also where one is no text (`version: 1.2`), as in Flux's command:
/// a build shows what comes out of the files, and the service leaves such labels out.
fn labelled(mut manifest: Manifest, labels: &[(&str, &str)]) -> Value {
    let mut object = manifest.value().clone();
    if let Some(own) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        own.extend(labels.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))));
        return object;
    }
    manifest.set_metadata(MetadataField::Labels, labels.iter().copied());
    manifest.value().clone()
}

/// Makes empty texts of labels and annotations without a value, as a variable that is not set leaves them: the API server does
/// so anyway, and Flux's command where there is `commonMetadata` to add.
fn fill(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata") else { return };
    for map in ["labels", "annotations"] {
        let entries = metadata.get_mut(map).and_then(Value::as_object_mut).into_iter().flatten();
        for (_, value) in entries.filter(|(_, value)| value.is_null()) {
            *value = Value::String(String::new());
        }
    }
}

/// Returns the matcher of files that the directory's kustomization file is not to name: those that stay out of an
/// artifact of the directory, and the patterns of `--ignore-paths`.
fn matcher(directory: &Path, patterns: &str) -> io::Result<Matcher> {
    let mut rules = ignore_rules(&DirectoryTree::open_path(directory)?)?;
    rules.read(patterns, &[]);
    Ok(rules.into_matcher())
}
