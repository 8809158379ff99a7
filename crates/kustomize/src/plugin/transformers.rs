//! Transformers with a configuration of their own. No default field specs are added here (KZ-1202).

use std::collections::BTreeMap;
use std::rc::Rc;

use super::error::PluginError;
use super::{decode, decode_by};
use crate::build::Build;
use crate::fieldspec::FieldSpec;
use crate::kustomization::{
    Image, ObjectMeta, Patch, PatchOptions, Replacement, Replica, Selector, Strictness, decodes,
};
use crate::loader::Loader;
use crate::patch::{Json6902Transformer, PatchTransformer, StrategicMergeTransformer};
use crate::replacement::ReplacementTransformer;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::transform::Transformer;
use crate::transform::{
    Affix, AffixTransformer, AnnotationsTransformer, ImageTagTransformer, LabelTransformer,
    NamespaceTransformer, ReplicaCountTransformer, SubjectMode, ValueAddTransformer,
};
use crate::{Error, hash};

/// The transformers that have configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransformerKind {
    Annotations,
    Hash,
    ImageTag,
    Label,
    Namespace,
    Patch,
    PatchJson6902,
    PatchStrategicMerge,
    Prefix,
    PrefixSuffix,
    Replacement,
    ReplicaCount,
    Suffix,
    ValueAdd,
}

#[derive(Debug, Default)]
struct Annotations {
    annotations: BTreeMap<String, String>,
    specs: Vec<FieldSpec>,
}

#[derive(Debug, Default)]
struct Labels {
    labels: BTreeMap<String, String>,
    specs: Vec<FieldSpec>,
}

#[derive(Debug, Default)]
struct ImageTag {
    image: Image,
    specs: Vec<FieldSpec>,
}

#[derive(Debug, Default)]
struct Namespace {
    metadata: ObjectMeta,
    specs: Vec<FieldSpec>,
    unset_only: bool,
    subjects: String,
}

#[derive(Debug, Default)]
struct Affixes {
    prefix: String,
    suffix: String,
    specs: Option<Vec<FieldSpec>>,
}

#[derive(Debug, Default)]
struct ReplicaCount {
    replica: Replica,
    specs: Vec<FieldSpec>,
}

#[derive(Debug, Default)]
struct Replacements {
    replacements: Vec<Replacement>,
}

#[derive(Debug, Default)]
struct StrategicMerge {
    paths: Vec<String>,
    patches: String,
}

#[derive(Debug, Default)]
struct JsonPatch {
    target: Option<Selector>,
    path: String,
    operations: String,
}

#[derive(Debug, Default)]
struct AnyPatch {
    path: String,
    patch: String,
    target: Option<Selector>,
    options: PatchOptions,
}

decodes!(Annotations as "plugin" { annotations = "annotations", specs = "fieldSpecs" });
decodes!(Labels as "plugin" { labels = "labels", specs = "fieldSpecs" });
decodes!(ImageTag as "plugin" { image = "imageTag", specs = "fieldSpecs" });
decodes!(Namespace as "plugin" {
    metadata = "metadata", specs = "fieldSpecs", unset_only = "unsetOnly", subjects = "setRoleBindingSubjects",
});
decodes!(Affixes as "plugin" { prefix = "prefix", suffix = "suffix", specs = "fieldSpecs" });
decodes!(ReplicaCount as "plugin" { replica = "replica", specs = "fieldSpecs" });
decodes!(Replacements as "plugin" {} inline { replacements = "replacements" });
decodes!(StrategicMerge as "plugin" { paths = "paths", patches = "patches" });
decodes!(JsonPatch as "plugin" { target = "target", path = "path", operations = "jsonOp" });
decodes!(AnyPatch as "plugin" { path = "path", patch = "patch", target = "target", options = "options" });

/// Makes the transformer that a configuration describes.
pub(super) fn configure(
    build: &Build<'_>,
    loader: &Rc<Loader>,
    config: &Resource,
    kind: TransformerKind,
) -> Result<Box<dyn Transformer>, Error> {
    Ok(match kind {
        TransformerKind::Annotations => {
            let plugin: Annotations = decode(config)?;
            Box::new(AnnotationsTransformer::new(plugin.annotations, &plugin.specs))
        }
        TransformerKind::Label => {
            let plugin: Labels = decode(config)?;
            Box::new(LabelTransformer::new(plugin.labels, &plugin.specs))
        }
        TransformerKind::ImageTag => {
            let plugin: ImageTag = decode(config)?;
            Box::new(ImageTagTransformer::new(plugin.image, &plugin.specs))
        }
        TransformerKind::Namespace => Box::new(namespace(decode(config)?)?),
        TransformerKind::Prefix | TransformerKind::Suffix | TransformerKind::PrefixSuffix => {
            Box::new(affixes(decode_by(config, Strictness::TEXTUAL)?, kind)?)
        }
        TransformerKind::ReplicaCount => {
            let plugin: ReplicaCount = decode(config)?;
            Box::new(ReplicaCountTransformer::new(plugin.replica, &plugin.specs))
        }
        TransformerKind::Replacement => {
            let plugin: Replacements = decode(config)?;
            Box::new(ReplacementTransformer::load(build, loader, &plugin.replacements)?)
        }
        TransformerKind::PatchStrategicMerge => {
            let plugin: StrategicMerge = decode(config)?;
            Box::new(StrategicMergeTransformer::load_both(build, loader, &plugin.paths, &plugin.patches)?)
        }
        TransformerKind::PatchJson6902 => {
            let plugin: JsonPatch = decode(config)?;
            let patch = Patch {
                target: plugin.target,
                path: plugin.path,
                patch: plugin.operations,
                ..Patch::default()
            };
            Box::new(Json6902Transformer::load(build, loader, &patch)?)
        }
        TransformerKind::Patch => {
            let AnyPatch { path, patch, target, options } = decode(config)?;
            Box::new(PatchTransformer::load(build, loader, &Patch { path, patch, target, options })?)
        }
        TransformerKind::ValueAdd => Box::new(ValueAddTransformer::load(build, loader, decode(config)?)?),
        TransformerKind::Hash => Box::new(HashTransformer),
    })
}

fn namespace(plugin: Namespace) -> Result<NamespaceTransformer, PluginError> {
    let mut transformer = NamespaceTransformer::new(&plugin.metadata.namespace, &plugin.specs);
    transformer.unset_only = plugin.unset_only;
    transformer.subjects = match plugin.subjects.as_str() {
        "" | "defaultOnly" => SubjectMode::DefaultOnly,
        "allServiceAccounts" => SubjectMode::AllServiceAccounts,
        "none" => SubjectMode::None,
        other => {
            return Err(PluginError::Config(format!(
                "invalid value \"{other}\" for setRoleBindingSubjects: must be one of \"defaultOnly\", \"none\" or \
                 \"allServiceAccounts\""
            )));
        }
    };
    Ok(transformer)
}

/// A prefix and a suffix with one set of fields.
struct BothAffixes(Vec<AffixTransformer>);

fn affixes(plugin: Affixes, kind: TransformerKind) -> Result<BothAffixes, PluginError> {
    let Some(specs) = plugin.specs else {
        return Err(PluginError::Config("fieldSpecs is not expected to be nil".to_owned()));
    };
    let mut both = Vec::new();
    if kind != TransformerKind::Suffix {
        both.push(AffixTransformer::new(Affix::Prefix(plugin.prefix.into()), &specs));
    }
    if kind != TransformerKind::Prefix {
        both.push(AffixTransformer::new(Affix::Suffix(plugin.suffix.into()), &specs));
    }
    Ok(BothAffixes(both))
}

impl Transformer for BothAffixes {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        self.0.iter().try_for_each(|affix| affix.apply(build, resources))
    }
}

/// Appends hashes at this place instead of at the end.
struct HashTransformer;

impl Transformer for HashTransformer {
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        hash::add_suffixes(resources, build.schema())
    }
}
