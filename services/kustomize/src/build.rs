//! From files to manifests: the kustomization file with the spec merged in, the build, the substitution (KS 6, 8).
//!
//! It takes the time of a CPU, and that of the servers which keep keys and remote bases: it is run off the reactor. It knows neither
//! cluster nor clock. `weir build kustomization` builds with it too.

mod document;
mod generate;
mod objects;
mod substitute;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use weir_api::kustomize::KustomizationSpec;
use weir_ignore::Matcher;
use weir_kustomize::{
    FileSystem, FsPath, Kustomization, Options, ReadSet, Remote, SecretPart, Stop, Warning,
    build_kustomization,
};
use weir_ssa::{Manifest, MetadataField};

pub(crate) use self::document::{parsed_by_flux, selector};
pub use self::generate::Error as GenerateError;
pub use self::substitute::to_yaml;
use crate::decryption::{self, Decryption, decrypt_files, decrypt_object};
use crate::room;
use crate::variables::{self, Variables};

/// Returns the manifests below a directory, and the directories that have a kustomization file of their own: what a
/// kustomization file for the directory has to name. YAML files that are no manifests are left out.
///
/// # Errors
/// When a file or a directory cannot be read.
pub fn resources_below(files: &dyn FileSystem, directory: &FsPath) -> Result<Vec<String>, GenerateError> {
    let mut resources = Vec::new();
    for member in generate::members(files, directory)? {
        match member.check(files) {
            Ok(()) => resources.push(member.path().relative_to(directory)),
            Err(GenerateError::Manifest { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(resources)
}

/// The inputs of a build.
pub struct Input<F> {
    /// The files of the source.
    pub files: F,
    /// The directory to build.
    pub directory: FsPath,
    /// Spec that is merged into the directory's kustomization file.
    pub spec: KustomizationSpec,
    /// Nothing when the spec has no `postBuild`.
    pub variables: Option<Result<Variables, variables::Error>>,
    /// Unset variables are errors (KS-ENV-20).
    pub is_strict: bool,
    /// Files and directories that the kustomization file of the directory, or the one made for it, is not to name.
    pub ignored: Matcher,
    /// Decrypts what is encrypted; without it, that stays as it is.
    pub decryption: Option<Decryption>,
    /// Fetcher of remote bases; without it they are refused (KS-BLD-33, KS-BLD-34).
    pub remote: Option<Arc<dyn Remote>>,
    /// Ends the build when it is requested.
    pub stop: Stop,
    /// Called with each warning of the build engine, also by a build that fails.
    pub on_warning: fn(&Warning),
}

/// A finished build.
pub struct Built {
    /// The objects with `commonMetadata`, not yet labelled.
    pub manifests: Vec<Manifest>,
    /// Parts of values of Secrets that stand elsewhere.
    pub(crate) secret_parts: Vec<SecretPart>,
    /// `sha256:<hex>` of the manifests as YAML (KS-REC-54).
    pub(crate) digest: String,
    /// Parts of the source that a new revision must leave unchanged to make the same build.
    pub(crate) footprint: Footprint,
}

/// The files and values that a build depends on.
#[derive(Default)]
pub(crate) struct Footprint {
    document: u64,
    read_set: ReadSet,
}

impl Footprint {
    /// Returns true when remote bases are part of the build: no watch reports their changes.
    pub(crate) fn has_fetched(&self) -> bool {
        self.read_set.has_fetched()
    }

    /// Returns true when a build of the same spec over these files gives the same manifests.
    pub(crate) fn still_holds(
        &self,
        files: &dyn FileSystem,
        directory: &FsPath,
        spec: &KustomizationSpec,
    ) -> bool {
        let document = document::fingerprint(files, directory, spec);
        document.is_ok_and(|document| document == self.document) && self.read_set.still_holds(files)
    }
}

/// Errors that leave a build without manifests.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kustomization file cannot be read or made.
    #[error(transparent)]
    Document(#[from] document::Error),
    /// The build failed (KS-BLD-36).
    #[error("kustomize build failed: {0}")]
    Build(#[source] Box<weir_kustomize::Error>),
    /// An object could not be substituted (KS-SUB-8).
    #[error("post build failed for '{resource}': {source}")]
    Substitute {
        /// The object.
        resource: String,
        /// Cause.
        source: substitute::Error,
    },
    /// The values of variables have left an object without its name or kind. Flux drops such an object, and so deletes it
    /// from the cluster.
    #[error("post build failed for '{resource}': the substitution leaves it without {field}")]
    Lost {
        /// The object, as it was before.
        resource: String,
        /// The missing part.
        field: &'static str,
    },
    /// An object has no version of its API, or a list neither name nor items (KS-BLD-37). Left out, it would be deleted from the cluster.
    #[error("failed to decode Kubernetes apiVersion, kind and name from: {0}")]
    Unidentified(Value),
    /// An object's kind is no text, or its version has no form of one. Left out, it would be deleted from the cluster.
    #[error("error unmarshaling JSON: while decoding JSON: Object 'Kind' is missing in '{0}'")]
    WithoutKind(Value),
    /// A file that is encrypted could not be decrypted (KS-DEC-23).
    #[error("error decrypting sources: {0}")]
    DecryptFiles(#[source] decryption::Error),
    /// An object that is encrypted could not be decrypted (KS-DEC-28).
    #[error("decryption failed for '{resource}': {source}")]
    DecryptObject {
        /// The object.
        resource: String,
        /// Cause.
        source: decryption::Error,
    },
    /// Variables have made two objects one. Either would be applied over the other in each run.
    #[error("in Replace: id matched 2 resources: {0}")]
    Twice(String),
    /// A built object cannot be written as JSON or YAML.
    #[error("kustomize build failed: {0}")]
    Emit(String),
    /// More objects than the inventory of one Kustomization can name.
    #[error("build has {0} objects, whose names do not fit into the status: split the Kustomization")]
    TooMany(usize),
}

/// Builds.
///
/// # Errors
/// The files, the spec or the variables do not make manifests; the text is what the condition will say.
pub fn build<F: FileSystem>(input: Input<F>) -> Result<Built, Error> {
    let Input { files, directory, spec, ignored, decryption, .. } = &input;
    let fingerprint = document::fingerprint(files, directory, spec)?;
    let document = document::merged(files, directory, spec, ignored)?;
    match decryption {
        Some(decryption) => {
            let files = decrypt_files(files, directory, &document, decryption);
            build_from(&files.map_err(Error::DecryptFiles)?, document, fingerprint, &input)
        }
        None => build_from(files, document, fingerprint, &input),
    }
}

fn build_from<F: FileSystem>(
    files: &dyn FileSystem,
    document: Kustomization,
    fingerprint: u64,
    input: &Input<F>,
) -> Result<Built, Error> {
    let Input { directory, spec, variables, is_strict, remote, decryption, stop, on_warning, .. } = input;
    let (remote, on_warning) = (remote.clone(), *on_warning);
    let options = Options { remote, on_warning, stop: stop.clone(), ..Options::gitops() };
    let failed = |error| Error::Build(Box::new(error));
    let output = build_kustomization(files, directory, document, &options).map_err(failed)?;
    let mut manifests = Vec::with_capacity(output.resources.len());
    let mut hasher = Sha256::new();
    let mut known = HashSet::new();
    for (index, resource) in output.resources.iter().enumerate() {
        stop.check().map_err(failed)?;
        let mut object = resource.to_json().map_err(|error| Error::Emit(error.to_string()))?;
        if resource.api_version().is_empty() || resource.name().is_empty() {
            return Err(Error::Unidentified(without_content(&object)));
        }
        let name = resource_name(resource.api_version(), resource.kind(), resource.name());
        let is_decrypted = match decryption {
            Some(decryption) => decrypt_object(&mut object, decryption)
                .map_err(|source| Error::DecryptObject { resource: name.clone(), source })?,
            None => false,
        };
        let yaml = match is_decrypted {
            true => to_yaml(&object).map_err(|error| Error::Emit(error.to_string()))?,
            false => resource.to_yaml().map_err(|error| Error::Emit(error.to_string()))?,
        };
        let expected = objects::count(&object);
        let (object, yaml) = match substitute::substitute(object, yaml, variables.as_ref(), spec, *is_strict)
        {
            Ok(substituted) => substituted,
            Err(source) => return Err(Error::Substitute { resource: name, source }),
        };
        if objects::count(&object) < expected {
            return Err(Error::Lost { resource: name, field: objects::missing(&object) });
        }
        if !objects::has_kind(&object) {
            return Err(Error::WithoutKind(without_content(&object)));
        }
        if !known.insert(identity(&object)) {
            return Err(Error::Twice(name));
        }
        if index > 0 {
            hasher.update(b"---\n");
        }
        hasher.update(yaml.as_bytes());
        objects::collect(object, &mut manifests);
    }
    let named = room::for_first(manifests.iter().map(|manifest| (manifest.id(), manifest.version())));
    if named < manifests.len() {
        return Err(Error::TooMany(manifests.len()));
    }
    manifests.iter_mut().for_each(|manifest| add_common_metadata(manifest, spec));
    let digest = format!("sha256:{}", hex::encode(hasher.finalize()));
    let footprint = Footprint { document: fingerprint, read_set: output.read_set };
    Ok(Built { manifests, secret_parts: output.secret_parts, digest, footprint })
}

/// The directory that `spec.path` names, if there is one.
#[must_use]
pub fn directory(files: &dyn FileSystem, path: &str) -> Option<FsPath> {
    place(path).filter(|directory| files.is_dir(directory))
}

/// The place that `spec.path` names; it cannot lead out of the root (KS-SRC-26).
pub(crate) fn place(path: &str) -> Option<FsPath> {
    let inside = weir_artifact::RelPath::confined(path).ok()?;
    FsPath::new(inside.as_ref().map_or("", weir_artifact::RelPath::as_str)).ok()
}

/// Returns what an object is known by; its content may be secret.
fn without_content(object: &Value) -> Value {
    let metadata = object.get("metadata");
    let field = |name: &str| metadata.and_then(|metadata| metadata.get(name));
    let metadata = json!({"name": field("name"), "namespace": field("namespace")});
    let mut shown =
        json!({"apiVersion": object.get("apiVersion"), "kind": object.get("kind"), "metadata": metadata});
    remove_nulls(&mut shown);
    shown
}

fn remove_nulls(value: &mut Value) {
    let Some(fields) = value.as_object_mut() else { return };
    fields.retain(|_, field| !field.is_null());
    fields.values_mut().for_each(remove_nulls);
}

/// Returns what makes an object the same as another one: version, kind, namespace and name.
fn identity(object: &Value) -> [String; 4] {
    let pointers = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"];
    pointers.map(|pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// An object as errors of the build name it: `Kind.version.group/name`.
fn resource_name(api_version: &str, kind: &str, name: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let group = if group.is_empty() { "[noGrp]" } else { group };
    format!("{kind}.{version}.{group}/{name}")
}

fn add_common_metadata(manifest: &mut Manifest, spec: &KustomizationSpec) {
    let Some(common) = &spec.common_metadata else { return };
    for (field, entries) in
        [(MetadataField::Labels, &common.labels), (MetadataField::Annotations, &common.annotations)]
    {
        manifest.set_metadata(field, entries.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    }
}

#[cfg(test)]
mod tests;
