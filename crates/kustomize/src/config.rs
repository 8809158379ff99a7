//! Transformer configuration: which fields each transformer knows, by default and from `configurations` (§12.2).

mod crds;
mod table;

use std::sync::{Arc, LazyLock};

use weir_yaml::{Node, emit, read_first_document};

pub(crate) use self::crds::from_crds;
use crate::fieldspec::{ConflictingFieldSpecs, FieldSpec, merge_all};
use crate::id::Gvk;
use crate::kustomization::{Decode, DecodeError, Decoder, Strictness, decode_struct};
use crate::yaml::malformed;
use crate::{Error, order};

static DEFAULTS: LazyLock<Arc<Config>> = LazyLock::new(|| {
    let mut config = table::parse(include_str!("config/defaults.txt"));
    config.sort();
    config.is_settled = true;
    Arc::new(config)
});

/// A set of field specs for each transformer that takes one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Config {
    pub(crate) name_prefix: Vec<FieldSpec>,
    pub(crate) name_suffix: Vec<FieldSpec>,
    pub(crate) namespace: Vec<FieldSpec>,
    pub(crate) common_labels: Vec<FieldSpec>,
    pub(crate) labels: Vec<FieldSpec>,
    pub(crate) template_labels: Vec<FieldSpec>,
    pub(crate) volume_claim_template_labels: Vec<FieldSpec>,
    pub(crate) common_annotations: Vec<FieldSpec>,
    pub(crate) name_reference: Vec<NameReference>,
    pub(crate) var_reference: Vec<FieldSpec>,
    pub(crate) images: Vec<FieldSpec>,
    pub(crate) replicas: Vec<FieldSpec>,
    /// True when a merge into an empty configuration gives the same: no spec is hidden by a more specific one before it.
    is_settled: bool,
}

/// The fields in which names of one kind of resource are written in others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NameReference {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) referrers: Vec<FieldSpec>,
}

impl NameReference {
    /// The kind that is referred to.
    pub(crate) fn gvk(&self) -> Gvk<'_> {
        Gvk { group: &self.group, version: &self.version, kind: &self.kind }
    }
}

/// A transformer configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Field specs of two files contradict each other.
    #[error("failed to merge {section} fieldSpec: {cause}")]
    Conflict {
        /// The section of the configuration.
        section: &'static str,
        /// The contradiction.
        cause: ConflictingFieldSpecs,
    },
    /// A section or field that does not exist, or of the wrong type (KZ-1204).
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Decode(#[source] DecodeError),
    /// A `crds` file that is not a map of type names (KZ-1206).
    #[error("unable to parse open API definition from '{file}': {problem}")]
    Crds {
        /// The file, as the kustomization names it.
        file: String,
        /// The fault found.
        problem: String,
    },
}

impl Config {
    /// The configuration every kustomization starts from.
    pub(crate) fn defaults() -> Arc<Self> {
        Arc::clone(&DEFAULTS)
    }

    /// Reads one file of `configurations`.
    pub(crate) fn read(file: &str, content: Vec<u8>) -> Result<Self, Error> {
        let node = read_first_document(file, content).map_err(malformed(file))?;
        let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(Self::default()) };
        // Printing it finds keys that stand twice.
        emit(&node, &mut String::new()).map_err(malformed(file))?;
        let mut config: Self = Decoder::document(Strictness::KNOWN, &node).map_err(ConfigError::Decode)?;
        config.sort();
        Ok(config)
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Both configurations as one; shared ones are not looked at again.
    pub(crate) fn merged(self: &Arc<Self>, other: &Arc<Self>) -> Result<Arc<Self>, ConfigError> {
        if Arc::ptr_eq(self, other) || other.is_empty() {
            return Ok(Arc::clone(self));
        }
        let is_first = self.is_empty();
        if is_first && other.is_settled {
            return Ok(Arc::clone(other));
        }
        let mut merged = Self::clone(self);
        merged.add(other)?;
        merged.sort();
        merged.is_settled = is_first;
        Ok(Arc::new(merged))
    }

    fn add(&mut self, other: &Self) -> Result<(), ConfigError> {
        let mut incoming = other.clone();
        for ((section, specs), (_, added)) in self.sections_mut().into_iter().zip(incoming.sections_mut()) {
            merge_all(specs, std::mem::take(added))
                .map_err(|cause| ConfigError::Conflict { section, cause })?;
        }
        for reference in incoming.name_reference {
            match self.name_reference.iter_mut().find(|known| known.gvk() == reference.gvk()) {
                Some(known) => merge_all(&mut known.referrers, reference.referrers)
                    .map_err(|cause| ConfigError::Conflict { section: "NameReference", cause })?,
                None => self.name_reference.push(reference),
            }
        }
        Ok(())
    }

    /// Every section but the name references, with the name that messages use.
    fn sections_mut(&mut self) -> [(&'static str, &mut Vec<FieldSpec>); 11] {
        [
            ("NamePrefix", &mut self.name_prefix),
            ("NameSuffix", &mut self.name_suffix),
            ("NameSpace", &mut self.namespace),
            ("CommonAnnotations", &mut self.common_annotations),
            ("CommonLabels", &mut self.common_labels),
            ("Labels", &mut self.labels),
            ("TemplateLabels", &mut self.template_labels),
            ("VolumeClaimTemplateLabels", &mut self.volume_claim_template_labels),
            ("VarReference", &mut self.var_reference),
            ("Images", &mut self.images),
            ("Replicas", &mut self.replicas),
        ]
    }

    /// Brings every section into the order of kinds (KZ-704).
    fn sort(&mut self) {
        for (_, specs) in self.sections_mut() {
            specs.sort_by_cached_key(|spec| order::gvk_key(spec.gvk()));
        }
        for reference in &mut self.name_reference {
            reference.referrers.sort_by_cached_key(|spec| order::gvk_key(spec.gvk()));
        }
        self.name_reference.sort_by_cached_key(|reference| order::gvk_key(reference.gvk()));
    }
}

impl Decode for Config {
    fn go_type() -> String {
        "builtinconfig.TransformerConfig".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        decode_struct("TransformerConfig", node, decoder, |fields, decoder| {
            Ok(Self {
                name_prefix: fields.take("namePrefix", decoder)?,
                name_suffix: fields.take("nameSuffix", decoder)?,
                namespace: fields.take("namespace", decoder)?,
                common_labels: fields.take("commonLabels", decoder)?,
                labels: fields.take("labels", decoder)?,
                template_labels: fields.take("templateLabels", decoder)?,
                volume_claim_template_labels: fields.take("volumeClaimTemplateLabels", decoder)?,
                common_annotations: fields.take("commonAnnotations", decoder)?,
                name_reference: fields.take("nameReference", decoder)?,
                var_reference: fields.take("varReference", decoder)?,
                images: fields.take("images", decoder)?,
                replicas: fields.take("replicas", decoder)?,
                is_settled: false,
            })
        })
    }
}

impl Decode for NameReference {
    fn go_type() -> String {
        "builtinconfig.NameBackReferences".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        decode_struct("NameBackReferences", node, decoder, |fields, decoder| {
            Ok(Self {
                group: fields.take_inline("group", decoder)?,
                version: fields.take_inline("version", decoder)?,
                kind: fields.take_inline("kind", decoder)?,
                referrers: fields.take("fieldSpecs", decoder)?,
            })
        })
    }
}

#[cfg(test)]
mod tests;
