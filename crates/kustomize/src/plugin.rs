//! `generators`, `transformers` and `validators`: builtins configured by files of their own (§12.1).

pub(crate) mod error;
mod generators;
mod transformers;

use std::rc::Rc;
use std::sync::Arc;

use error::PluginError;
use generators::GeneratorKind;
use transformers::TransformerKind;

use crate::Error;
use crate::build::Build;
use crate::error::Context;
use crate::generate::with_origin;
use crate::kustomization::{Decode, Decoder, Strictness};
use crate::loader::Loader;
use crate::normal::{Quotes, normalised};
use crate::origin::{ConfiguredBy, Origin};
use crate::patch::error::PatchError;
use crate::resmap::ResMap;
use crate::resource::Resource;
use crate::transform::Step;

/// The version that marks configurations of builtins.
const BUILTIN: &str = "builtin";
/// The label that validators may add (KZ-407).
const VALIDATED_BY: &str = "validated-by";

/// A builtin that configurations can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Builtin {
    Generator(GeneratorKind),
    Transformer(TransformerKind),
}

impl Builtin {
    /// Returns the builtin of a name; none if there is no such builtin.
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "ConfigMapGenerator" => Self::Generator(GeneratorKind::ConfigMap),
            "SecretGenerator" => Self::Generator(GeneratorKind::Secret),
            "IAMPolicyGenerator" => Self::Generator(GeneratorKind::IamPolicy),
            "HelmChartInflationGenerator" => Self::Generator(GeneratorKind::HelmChart),
            "AnnotationsTransformer" => Self::Transformer(TransformerKind::Annotations),
            "HashTransformer" => Self::Transformer(TransformerKind::Hash),
            "ImageTagTransformer" => Self::Transformer(TransformerKind::ImageTag),
            "LabelTransformer" => Self::Transformer(TransformerKind::Label),
            "NamespaceTransformer" => Self::Transformer(TransformerKind::Namespace),
            "PatchJson6902Transformer" => Self::Transformer(TransformerKind::PatchJson6902),
            "PatchStrategicMergeTransformer" => Self::Transformer(TransformerKind::PatchStrategicMerge),
            "PatchTransformer" => Self::Transformer(TransformerKind::Patch),
            "PrefixTransformer" => Self::Transformer(TransformerKind::Prefix),
            "SuffixTransformer" => Self::Transformer(TransformerKind::Suffix),
            "PrefixSuffixTransformer" => Self::Transformer(TransformerKind::PrefixSuffix),
            "ReplacementTransformer" => Self::Transformer(TransformerKind::Replacement),
            "ReplicaCountTransformer" => Self::Transformer(TransformerKind::ReplicaCount),
            "ValueAddTransformer" => Self::Transformer(TransformerKind::ValueAdd),
            _ => return None,
        })
    }

    /// Returns the builtin that a configuration is for.
    fn of(config: &Resource) -> Result<Self, PluginError> {
        if config.api_version() != BUILTIN {
            return Err(PluginError::External(config.kind().to_owned()));
        }
        Self::parse(config.kind()).ok_or_else(|| PluginError::Unknown(config.gvk().to_string()))
    }
}

/// Runs the generators that `configurations` describe.
pub(crate) fn generate(
    build: &Build<'_>,
    loader: &Rc<Loader>,
    configurations: &[Resource],
) -> Result<Vec<Resource>, Error> {
    let mut generated = Vec::new();
    for config in configurations {
        let kind = generator(config).context(|| "loading generator plugins".to_owned())?;
        let origin = origin_of(config);
        let made = generators::run(build, loader, config, kind)?;
        generated.extend(with_origin(made, origin.as_ref()));
    }
    Ok(generated)
}

/// Returns the generator that a configuration is for.
fn generator(config: &Resource) -> Result<GeneratorKind, Error> {
    match Builtin::of(config) {
        Ok(Builtin::Generator(kind)) => Ok(kind),
        Ok(Builtin::Transformer(_)) => {
            Err(PluginError::NotAGenerator(config.original_id().to_string()).into())
        }
        Err(error) => Err(Error::from(error).context("failed to load generator".to_owned())),
    }
}

/// Makes the transformers that `configurations` describe.
pub(crate) fn transformers(
    build: &Build<'_>,
    loader: &Rc<Loader>,
    configurations: &[Resource],
) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    for config in configurations {
        let Builtin::Transformer(kind) = Builtin::of(config)? else {
            return Err(PluginError::NotATransformer(config.original_id().to_string()).into());
        };
        let transformer = transformers::configure(build, loader, config, kind)
            .context(|| format!("plugin {} fails configuration", config.original_id()))?;
        steps.push(Step { transformer, origin: origin_of(config) });
    }
    Ok(steps)
}

/// Runs validators, which are transformers that may change nothing (KZ-407).
pub(crate) fn validate(build: &Build<'_>, steps: &[Step], resources: &mut ResMap) -> Result<(), Error> {
    for step in steps {
        let before: Vec<Resource> = resources.iter().cloned().collect();
        // Not a step of the build: it leaves no trace in the annotations.
        step.transformer.apply(build, resources)?;
        if before.len() != resources.len() {
            return Err(Error::ValidatorChanged("lists have different number of entries".to_owned()));
        }
        for (before, after) in before.iter().zip(resources.iter()) {
            if without_mark(before) != without_mark(after) || before.history != after.history {
                return Err(Error::ValidatorChanged(format!("nodes unequal: {}", before.id())));
            }
        }
    }
    Ok(())
}

fn without_mark(resource: &Resource) -> weir_yaml::Node {
    let mut node = resource.node.clone();
    let Some(metadata) = node.get_mut("metadata").and_then(weir_yaml::Node::as_map_mut) else { return node };
    if let Some(labels) = metadata.get_mut("labels").and_then(weir_yaml::Node::as_map_mut) {
        labels.remove(VALIDATED_BY);
        if labels.is_empty() {
            metadata.remove("labels");
        }
    }
    node
}

/// Returns the origin recorded for the objects of a configuration.
fn origin_of(config: &Resource) -> Option<Arc<Origin>> {
    let origin = config.origin.as_ref()?;
    Some(Arc::new(Origin {
        path: String::new(),
        repo: origin.repo.clone(),
        reference: origin.reference.clone(),
        configured_in: origin.path.clone(),
        configured_by: ConfiguredBy {
            api_version: config.api_version().to_owned(),
            kind: config.kind().to_owned(),
            name: config.name().to_owned(),
            namespace: config.namespace().to_owned(),
        },
    }))
}

/// Reads a configuration leniently, as most are read.
fn decode<T: Decode>(config: &Resource) -> Result<T, Error> {
    decode_by(config, Strictness::LENIENT)
}

/// Reads a configuration the way the reference does: printed, which refuses keys that stand twice, then decoded.
fn decode_by<T: Decode>(config: &Resource, strictness: Strictness) -> Result<T, Error> {
    config.to_yaml()?;
    let node = normalised(&config.node, Quotes::Yaml).map_err(PatchError::Render)?;
    Ok(Decoder::document(strictness, &node)?)
}

#[cfg(test)]
mod tests;
