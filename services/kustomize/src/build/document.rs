//! The kustomization file with the fields of the spec merged in (KS-BLD-1, KS-BLD-5, KS-BLD-10..20).

use std::hash::{DefaultHasher, Hash, Hasher};

use weir_api::kustomize as spec;
use weir_api::kustomize::KustomizationSpec;
use weir_ignore::Matcher;
use weir_kustomize::{FileSystem, FsPath, Image, Kustomization, MAX_FILE, Patch, Selector, UnknownFields};

use super::generate;

/// Prefixes of component paths that are not local (KS-BLD-13).
const REMOTE: [&str; 9] =
    ["git::", "gh:", "ssh://", "https://", "http://", "git@", "github.com:", "github.com/", "file:///"];

/// Errors that leave a build without a document.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is there but cannot be read.
    #[error("{}", parsed_by_flux(.0))]
    Parse(Box<weir_kustomize::Error>),
    /// There are several in one directory.
    #[error("kustomize build failed: {0}")]
    Several(Box<weir_kustomize::Error>),
    /// None is there and none can be made.
    #[error(transparent)]
    Generate(#[from] generate::Error),
    /// A component that is not in the source (KS-BLD-13).
    #[error("component path '{path}' must be local and relative")]
    Component {
        /// The component, as the spec names it.
        path: String,
    },
}

/// Flux reads the file before kustomize does, and names the step in which that fails (KS-BLD-1).
pub(crate) fn parsed_by_flux(error: &weir_kustomize::Error) -> String {
    match error {
        weir_kustomize::Error::MalformedKustomization(cause) => {
            format!("error converting YAML to JSON: {cause}")
        }
        weir_kustomize::Error::InvalidKustomization(cause) => {
            format!("error unmarshaling JSON: while decoding JSON: {cause}")
        }
        other => other.to_string(),
    }
}

/// The document that is built in a directory.
pub(super) fn merged(
    files: &dyn FileSystem,
    directory: &FsPath,
    spec: &KustomizationSpec,
    ignored: &Matcher,
) -> Result<Kustomization, Error> {
    // The patterns are about the files of the directory: no URL, and nothing beside it.
    let is_kept = |path: &str| match directory.join(path) {
        Ok(place) if !is_remote(path) && place.is_in_or_below(directory) => {
            !ignored.excludes(&place.relative_to(directory), files.is_dir(&place))
        }
        _ => true,
    };
    let found = Kustomization::load(files, directory, UnknownFields::Drop);
    let found = found.map_err(|error| match error {
        weir_kustomize::Error::SeveralKustomizations(_) => Error::Several(Box::new(error)),
        _ => Error::Parse(Box::new(error)),
    })?;
    let mut document = match found {
        Some((_, mut document)) => {
            for list in [&mut document.resources, &mut document.components, &mut document.crds] {
                list.retain(|path| is_kept(path));
            }
            // An empty file has to build to nothing (KS-BLD-5).
            if document.resources.is_empty() {
                document.build_metadata = vec!["originAnnotations".to_owned()];
            }
            document
        }
        None => generate::generate(files, directory, is_kept)?,
    };
    merge(&mut document, spec);
    for path in &spec.components {
        if is_remote(path) {
            return Err(Error::Component { path: path.clone() });
        }
        let exists = directory.join(path).is_ok_and(|path| files.resolve(&path).is_ok());
        if exists || !spec.ignore_missing_components {
            document.components.push(path.clone());
        }
    }
    Ok(document)
}

/// Returns a number that stays when the document would be the same: of the bytes of the kustomization files, or of what a
/// generated one names, and of the components that are there.
pub(super) fn fingerprint(
    files: &dyn FileSystem,
    directory: &FsPath,
    spec: &KustomizationSpec,
) -> Result<u64, Error> {
    let mut hasher = DefaultHasher::new();
    let found = Kustomization::files_of(directory, |path| files.is_file(path));
    for path in &found {
        path.as_str().hash(&mut hasher);
        files.read(path, MAX_FILE).map_err(generate::Error::from)?.hash(&mut hasher);
    }
    if found.is_empty() {
        for member in generate::members(files, directory)? {
            member.path().as_str().hash(&mut hasher);
        }
    }
    for path in &spec.components {
        directory.join(path).is_ok_and(|path| files.resolve(&path).is_ok()).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

fn merge(document: &mut Kustomization, spec: &KustomizationSpec) {
    let set = |field: &mut String, value: &Option<String>| {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            field.clone_from(value);
        }
    };
    set(&mut document.namespace, &spec.target_namespace);
    set(&mut document.name_prefix, &spec.name_prefix);
    set(&mut document.name_suffix, &spec.name_suffix);
    document
        .patches
        .extend(spec.patches.iter().map(|patch| inline(patch.patch.clone(), patch.target.as_ref())));
    document.patches.extend(legacy_patches(spec));
    spec.images.iter().for_each(|image| merge_image(&mut document.images, image));
    if !spec.build_metadata.is_empty() {
        document.build_metadata.clone_from(&spec.build_metadata);
    }
}

/// Patches of v1beta1 and v1beta2, after those of today (KS-API-21, KS-API-22).
fn legacy_patches(spec: &KustomizationSpec) -> impl Iterator<Item = Patch> + '_ {
    let strategic = spec.patches_strategic_merge.iter().map(|patch| inline(patch.to_string(), None));
    let json = spec.patches_json6902.iter().map(|patches| {
        let operations = serde_json::to_string(&patches.patch).unwrap_or_default();
        inline(operations, Some(&patches.target))
    });
    strategic.chain(json)
}

fn inline(patch: String, target: Option<&spec::Selector>) -> Patch {
    Patch { patch, target: target.map(selector), ..Patch::default() }
}

/// Returns a selector of a spec as the engine knows it.
pub(crate) fn selector(selector: &spec::Selector) -> Selector {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Selector {
        group: text(&selector.group),
        version: text(&selector.version),
        kind: text(&selector.kind),
        name: text(&selector.name),
        namespace: text(&selector.namespace),
        label_selector: text(&selector.label_selector),
        annotation_selector: text(&selector.annotation_selector),
    }
}

/// A tag clears a digest and the other way around (KS-BLD-20).
fn merge_image(images: &mut Vec<Image>, wanted: &spec::ImageOverride) {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (new_name, new_tag, digest) = (text(&wanted.new_name), text(&wanted.new_tag), text(&wanted.digest));
    match images.iter_mut().find(|image| image.name == wanted.name) {
        Some(image) => {
            if !new_name.is_empty() {
                image.new_name = new_name;
            }
            if !new_tag.is_empty() || !digest.is_empty() {
                image.new_tag = new_tag;
                image.digest = digest;
            }
        }
        None => {
            images.push(Image { name: wanted.name.clone(), new_name, new_tag, digest, ..Image::default() })
        }
    }
}

fn is_remote(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.starts_with('/') || REMOTE.iter().any(|prefix| path.starts_with(prefix))
}
