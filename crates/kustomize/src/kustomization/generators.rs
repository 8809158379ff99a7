//! The arguments of the ConfigMap and Secret generators (KZ-901, KZ-930).

use std::collections::BTreeMap;

use weir_yaml::Node;

use super::decode::decodes;
use super::decoder::{DecodeError, Fields};
use super::{Decode, Decoder, decode_struct};

/// An entry of `configMapGenerator`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigMapArgs {
    /// Name of the generated object.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// `create`, `replace` or `merge`.
    pub behavior: String,
    /// `key=value` pairs.
    pub literals: Vec<String>,
    /// Files, as `path` or `key=path`.
    pub files: Vec<String>,
    /// Files of `KEY=VALUE` lines.
    pub envs: Vec<String>,
    /// One more of them (deprecated).
    pub env: String,
    /// Options of this object alone.
    pub options: Option<GeneratorOptions>,
}

/// An entry of `secretGenerator`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretArgs {
    /// Arguments that both generators share.
    pub common: ConfigMapArgs,
    /// The type of the Secret; `Opaque` when empty.
    pub secret_type: String,
}

/// `generatorOptions`, and `options` of one generator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GeneratorOptions {
    /// Labels of the generated objects.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the generated objects.
    pub annotations: BTreeMap<String, String>,
    /// Leaves the hash out of the name.
    pub disable_name_suffix_hash: bool,
    /// Marks the objects immutable.
    pub immutable: bool,
}

decodes!(GeneratorOptions as "GeneratorOptions" {
    labels = "labels",
    annotations = "annotations",
    disable_name_suffix_hash = "disableNameSuffixHash",
    immutable = "immutable",
});

impl ConfigMapArgs {
    fn read(fields: &mut Fields<'_>, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(Self {
            name: fields.take_inline("name", decoder)?,
            namespace: fields.take_inline("namespace", decoder)?,
            behavior: fields.take_inline("behavior", decoder)?,
            literals: fields.take_inline("literals", decoder)?,
            files: fields.take_inline("files", decoder)?,
            envs: fields.take_inline("envs", decoder)?,
            env: fields.take_inline("env", decoder)?,
            options: fields.take_inline("options", decoder)?,
        })
    }
}

impl Decode for ConfigMapArgs {
    fn go_type() -> String {
        "types.ConfigMapArgs".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        decode_struct("ConfigMapArgs", node, decoder, Self::read)
    }
}

impl Decode for SecretArgs {
    fn go_type() -> String {
        "types.SecretArgs".to_owned()
    }

    fn decode(node: &Node, decoder: &mut Decoder) -> Result<Self, DecodeError> {
        decode_struct("SecretArgs", node, decoder, |fields, decoder| {
            Ok(Self {
                common: ConfigMapArgs::read(fields, decoder)?,
                secret_type: fields.take_inline("type", decoder)?,
            })
        })
    }
}

impl GeneratorOptions {
    /// Options of one generator on top of the file's: the local label or annotation wins, flags add up (KZ-930).
    pub(crate) fn merged(local: Option<&Self>, global: Option<&Self>) -> Self {
        let (Some(local), Some(global)) = (local, global) else {
            return local.or(global).cloned().unwrap_or_default();
        };
        let over = |global: &BTreeMap<String, String>, local: &BTreeMap<String, String>| {
            let mut merged = global.clone();
            merged.extend(local.clone());
            merged
        };
        Self {
            labels: over(&global.labels, &local.labels),
            annotations: over(&global.annotations, &local.annotations),
            disable_name_suffix_hash: global.disable_name_suffix_hash || local.disable_name_suffix_hash,
            immutable: global.immutable || local.immutable,
        }
    }
}
