//! The transformers of a kustomization, in the order they run (KZ-406).

mod affix;
mod annotations;
mod images;
mod labels;
mod namespace;
mod replicas;
mod value_add;

use std::rc::Rc;
use std::sync::Arc;

pub(crate) use affix::{Affix, AffixTransformer};
pub(crate) use annotations::AnnotationsTransformer;
pub(crate) use images::ImageTagTransformer;
pub(crate) use labels::LabelTransformer;
pub(crate) use namespace::{NamespaceTransformer, SubjectMode};
pub(crate) use replicas::ReplicaCountTransformer;
pub(crate) use value_add::ValueAddTransformer;

use crate::Error;
use crate::build::Build;
use crate::config::Config;
use crate::error::Context;
use crate::fieldspec::{FieldSpec, merge_all, merge_one};
use crate::origin::Origin;
use crate::patch::{Json6902Transformer, PatchTransformer, StrategicMergeTransformer};
use crate::replacement::ReplacementTransformer;
use crate::resmap::ResMap;
use crate::target::Target;
use crate::{patch, replacement};

/// A change to all resources gathered so far.
pub(crate) trait Transformer {
    /// Makes the change.
    fn apply(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error>;
}

/// A configured transformer and what is recorded about it.
pub(crate) struct Step {
    pub(crate) transformer: Box<dyn Transformer>,
    pub(crate) origin: Option<Arc<Origin>>,
}

/// Configures the built-in transformers of a kustomization, in the order they run.
pub(crate) fn built_in(build: &Build<'_>, target: &Target, config: &Config) -> Result<Vec<Step>, Error> {
    Builtins { build, target, steps: Vec::new() }.configure(config)
}

impl Step {
    /// Changes the resources, and notes its origin at those it has changed.
    pub(crate) fn run(&self, build: &Build<'_>, resources: &mut ResMap) -> Result<(), Error> {
        build.options.stop.check()?;
        self.transformer.apply(build, resources)?;
        if let Some(origin) = &self.origin {
            for resource in resources.contents_mut() {
                resource.track(origin);
            }
        }
        resources.drop_empty();
        Ok(())
    }
}

/// Collects the steps of one kustomization.
struct Builtins<'t, 'b> {
    build: &'t Build<'b>,
    target: &'t Target,
    steps: Vec<Step>,
}

impl Builtins<'_, '_> {
    fn add(&mut self, name: &str, transformer: impl Transformer + 'static) {
        let home = self.target.loader.home(&self.build.root);
        let origin = self.build.is_tracking.then(|| Origin::builtin(&self.target.file, home, name));
        self.steps.push(Step { transformer: Box::new(transformer), origin });
    }

    fn configure(mut self, config: &Config) -> Result<Vec<Step>, Error> {
        let kustomization = Rc::clone(&self.target.kustomization);
        self.add_patches()?;
        if !kustomization.namespace.is_empty() {
            let transformer = NamespaceTransformer::new(&kustomization.namespace, &config.namespace);
            self.add("NamespaceTransformer", transformer);
        }
        if !kustomization.name_prefix.is_empty() {
            let prefix = Affix::Prefix(kustomization.name_prefix.as_str().into());
            self.add("PrefixTransformer", AffixTransformer::new(prefix, &config.name_prefix));
        }
        if !kustomization.name_suffix.is_empty() {
            let suffix = Affix::Suffix(kustomization.name_suffix.as_str().into());
            self.add("SuffixTransformer", AffixTransformer::new(suffix, &config.name_suffix));
        }
        self.add_labels(config)?;
        if !kustomization.common_annotations.is_empty() {
            let annotations = AnnotationsTransformer::new(
                kustomization.common_annotations.clone(),
                &config.common_annotations,
            );
            self.add("AnnotationsTransformer", annotations);
        }
        for patch in &kustomization.patches_json6902 {
            let loaded = Json6902Transformer::load(self.build, &self.target.loader, patch)
                .context(|| patch::configuring("PatchJson6902Transformer", patch))?;
            self.add("PatchJson6902Transformer", loaded);
        }
        for replica in &kustomization.replicas {
            let transformer = ReplicaCountTransformer::new(replica.clone(), &config.replicas);
            self.add("ReplicaCountTransformer", transformer);
        }
        for image in &kustomization.images {
            self.add("ImageTagTransformer", ImageTagTransformer::new(image.clone(), &config.images));
        }
        if !kustomization.replacements.is_empty() {
            let loaded =
                ReplacementTransformer::load(self.build, &self.target.loader, &kustomization.replacements)
                    .context(replacement::configuring)?;
            self.add("ReplacementTransformer", loaded);
        }
        Ok(self.steps)
    }

    fn add_patches(&mut self) -> Result<(), Error> {
        let kustomization = Rc::clone(&self.target.kustomization);
        let loader = &self.target.loader;
        if !kustomization.patches_strategic_merge.is_empty() {
            let sources = &kustomization.patches_strategic_merge;
            let loaded = StrategicMergeTransformer::load(self.build, loader, sources)
                .context(|| patch::configuring_list("PatchStrategicMergeTransformer", sources))?;
            self.add("PatchStrategicMergeTransformer", loaded);
        }
        for patch in &kustomization.patches {
            let loaded = PatchTransformer::load(self.build, loader, patch)
                .context(|| patch::configuring("PatchTransformer", patch))?;
            self.add("PatchTransformer", loaded);
        }
        Ok(())
    }

    /// The entries of `labels`, each with its own set of fields, then `commonLabels` (KZ-730, KZ-731).
    fn add_labels(&mut self, config: &Config) -> Result<(), Error> {
        let kustomization = Rc::clone(&self.target.kustomization);
        let merging = || "failed to merge labels".to_owned();
        for label in &kustomization.labels {
            let mut specs = label.fields.clone();
            merge_all(&mut specs, config.labels.clone()).context(merging)?;
            if label.include_selectors {
                merge_all(&mut specs, config.common_labels.clone()).context(merging)?;
            } else {
                if label.include_templates {
                    let claims_are_separate = label.include_volume_claim_templates.is_some();
                    let is_claim = |spec: &FieldSpec| config.volume_claim_template_labels.contains(spec);
                    let templates =
                        config.template_labels.iter().filter(|spec| !(claims_are_separate && is_claim(spec)));
                    merge_all(&mut specs, templates.cloned())
                        .context(|| "failed to merge template fieldSpec".to_owned())?;
                }
                if label.include_volume_claim_templates == Some(true) {
                    merge_all(&mut specs, config.volume_claim_template_labels.clone()).context(merging)?;
                }
                merge_one(&mut specs, own_labels()).context(merging)?;
            }
            self.add("LabelTransformer", LabelTransformer::new(label.pairs.clone(), &specs));
        }
        if !(kustomization.labels.is_empty() && kustomization.common_labels.is_empty()) {
            let common = LabelTransformer::new(kustomization.common_labels.clone(), &config.common_labels);
            self.add("LabelTransformer", common);
        }
        Ok(())
    }
}

/// Field in which every resource has its labels.
fn own_labels() -> FieldSpec {
    FieldSpec { path: "metadata/labels".to_owned(), create: true, ..FieldSpec::default() }
}
