//! The kustomization file as a document: its fields, how it is found, read and brought up to date.

mod decode;
mod decoder;
mod deprecated;
mod generators;
mod replacement;

use std::collections::BTreeMap;

use weir_yaml::Node;

pub(crate) use self::decode::decodes;
pub use self::decoder::DecodeError;
pub(crate) use self::decoder::{Decode, Decoder, Strictness, decode_struct};
pub use self::generators::{ConfigMapArgs, GeneratorOptions, SecretArgs};
pub(crate) use self::replacement::FiledReplacement;
pub use self::replacement::{
    Replacement, ReplacementSource, ReplacementTarget, TargetSelector, ValueOptions,
};
use crate::fieldspec::FieldSpec;
use crate::fs::{FileSystem, FsPath};
use crate::yaml::MAX_FILE;

/// Names a kustomization file may have, in the order they are looked for (KZ-201).
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A kustomization file. `Default` is a file without any field.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs, reason = "the fields are those of the file, described in its documentation")]
pub struct Kustomization {
    pub api_version: String,
    pub kind: String,
    pub metadata: Option<ObjectMeta>,
    pub openapi: BTreeMap<String, String>,
    pub name_prefix: String,
    pub name_suffix: String,
    pub namespace: String,
    pub common_labels: BTreeMap<String, String>,
    pub labels: Vec<Label>,
    pub common_annotations: BTreeMap<String, String>,
    pub patches_strategic_merge: Vec<String>,
    pub patches_json6902: Vec<Patch>,
    pub patches: Vec<Patch>,
    pub images: Vec<Image>,
    pub image_tags: Vec<Image>,
    pub replacements: Vec<Replacement>,
    pub replicas: Vec<Replica>,
    pub vars: Vec<Var>,
    pub sort_options: Option<SortOptions>,
    pub resources: Vec<String>,
    pub bases: Vec<String>,
    pub components: Vec<String>,
    pub crds: Vec<String>,
    pub config_map_generator: Vec<ConfigMapArgs>,
    pub secret_generator: Vec<SecretArgs>,
    pub generator_options: Option<GeneratorOptions>,
    pub helm_globals: Option<HelmGlobals>,
    pub helm_charts: Vec<Opaque>,
    pub helm_chart_inflation_generator: Vec<Opaque>,
    pub configurations: Vec<String>,
    pub generators: Vec<String>,
    pub transformers: Vec<String>,
    pub validators: Vec<String>,
    pub build_metadata: Vec<String>,
    /// True when a list or mapping stands in the file without entries; such a file is not empty (KZ-205).
    pub has_empty_collections: bool,
}

/// `metadata` of a kustomization file; has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the fields of the file")]
pub struct ObjectMeta {
    pub name: String,
    pub namespace: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// An entry of `labels`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Label {
    /// The labels to set.
    pub pairs: BTreeMap<String, String>,
    /// Also in selectors and templates.
    pub include_selectors: bool,
    /// Also in templates.
    pub include_templates: bool,
    /// Also in volume claim templates. Without a choice they count as templates, as in release v5.8.1 (QK-16).
    pub include_volume_claim_templates: Option<bool>,
    /// Further places.
    pub fields: Vec<FieldSpec>,
}

/// An entry of `patches` or `patchesJson6902`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Patch {
    /// A file that holds the patch; empty when it is inline.
    pub path: String,
    /// The patch itself; empty when it is in a file.
    pub patch: String,
    /// Target of the patch; `None` lets a strategic merge patch name its object itself.
    pub target: Option<Selector>,
    /// Fields that the patch may change beside content.
    pub options: PatchOptions,
}

/// `options` of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PatchOptions {
    /// The patch may rename its target.
    pub allow_name_change: bool,
    /// The patch may change the kind of its target.
    pub allow_kind_change: bool,
}

/// Selects resources by anchored regular expressions and selectors; empty parts select everything (KZ-811).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the fields of the file")]
pub struct Selector {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
    pub label_selector: String,
    pub annotation_selector: String,
}

/// An entry of `images` (KZ-750).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Image {
    /// The image name to look for, without tag.
    pub name: String,
    /// The name to put in its place; empty keeps it.
    pub new_name: String,
    /// Appended to the tag that is there.
    pub tag_suffix: String,
    /// The tag to put in place.
    pub new_tag: String,
    /// The digest to put in place.
    pub digest: String,
}

/// An entry of `replicas`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replica {
    /// Name of the workload.
    pub name: String,
    /// Number of replicas.
    pub count: i64,
}

/// An entry of `vars` (deprecated).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Var {
    /// The name used as `$(NAME)`.
    pub name: String,
    /// The object the value comes from.
    pub object: ObjectReference,
    /// The field of the object, `metadata.name` when empty.
    pub field_path: String,
}

/// `objref` of a var.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the fields of the file")]
pub struct ObjectReference {
    pub api_version: String,
    pub group: String,
    pub version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
}

/// `sortOptions` (KZ-1301).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SortOptions {
    /// `fifo` or `legacy`.
    pub order: String,
    /// Kinds that come first and last in the legacy order.
    pub legacy: Option<LegacySortOptions>,
}

/// `legacySortOptions`; replaces the default lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LegacySortOptions {
    /// Kinds in front, in this order.
    pub order_first: Vec<String>,
    /// Kinds at the end, in this order.
    pub order_last: Vec<String>,
}

/// `helmGlobals`: read and without effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the fields of the file")]
pub struct HelmGlobals {
    pub chart_home: String,
    pub config_home: String,
}

/// A field that is recognised but has no engine here (Helm).
#[derive(Debug, Clone, PartialEq)]
pub struct Opaque(pub(crate) Node);

/// The treatment of fields that the engine does not know, and of numbers and booleans where it wants strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownFields {
    /// Fail, as the reference does (KZ-203).
    Reject,
    /// Leave the fields out and print the values, as Flux does when it rewrites the file.
    Drop,
}

impl Kustomization {
    /// Returns the kustomization files of `directory`, one of each name at most; a build takes one only (KZ-201).
    pub fn files_of(directory: &FsPath, is_file: impl Fn(&FsPath) -> bool) -> Vec<FsPath> {
        FILE_NAMES.into_iter().map(|name| directory.child(name)).filter(is_file).collect()
    }

    /// Returns the only kustomization file of `directory`, if there is one.
    ///
    /// # Errors
    /// There are several.
    pub(crate) fn file_of(
        directory: &FsPath,
        is_file: impl Fn(&FsPath) -> bool,
    ) -> Result<Option<FsPath>, crate::Error> {
        let mut found = Self::files_of(directory, is_file);
        let only = found.pop();
        if found.is_empty() { Ok(only) } else { Err(crate::Error::SeveralKustomizations(directory.clone())) }
    }

    /// Finds and reads the kustomization file of `directory`.
    ///
    /// # Errors
    /// There are several, or the file cannot be read or decoded.
    pub fn load(
        fs: &dyn FileSystem,
        directory: &FsPath,
        unknown: UnknownFields,
    ) -> Result<Option<(FsPath, Self)>, crate::Error> {
        let Some(path) = Self::file_of(directory, |path| fs.is_file(path))? else { return Ok(None) };
        let content = fs.read(&path, MAX_FILE)?;
        let kustomization = Self::parse_file(&path.to_string(), content, unknown)?;
        Ok(Some((path, kustomization)))
    }

    /// Reads a kustomization document.
    ///
    /// # Errors
    /// The text is not YAML, or a field is unknown or of the wrong type.
    pub fn parse(content: &[u8], unknown: UnknownFields) -> Result<Self, crate::Error> {
        Self::parse_file("kustomization.yaml", content.to_vec(), unknown)
    }

    /// Returns true when the document is a component.
    pub(crate) fn is_component(&self) -> bool {
        self.kind == "Component"
    }
}
