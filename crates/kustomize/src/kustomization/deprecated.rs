//! Old fields: the warnings they get, and how they turn into the new ones (KZ-204, KZ-220..222).

use super::Kustomization;
use crate::{Error, Warning};

const API_VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_API_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

impl Kustomization {
    /// One warning per deprecated field in use.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let fields = [
            (!self.bases.is_empty(), "bases", "resources"),
            (!self.common_labels.is_empty(), "commonLabels", "labels"),
            (!self.image_tags.is_empty(), "imageTags", "images"),
            (!self.patches_json6902.is_empty(), "patchesJson6902", "patches"),
            (!self.patches_strategic_merge.is_empty(), "patchesStrategicMerge", "patches"),
            (!self.vars.is_empty(), "vars", "replacements"),
        ];
        let in_use = fields.into_iter().filter(|(in_use, ..)| *in_use);
        in_use.map(|(_, old, new)| Warning::DeprecatedField { old, new }).collect()
    }

    /// Fills in defaults and moves deprecated fields to where the engine looks for them.
    pub(crate) fn modernise(&mut self) {
        if self.kind.is_empty() {
            self.kind = "Kustomization".to_owned();
        }
        if self.api_version.is_empty() {
            let version = if self.is_component() { COMPONENT_API_VERSION } else { API_VERSION };
            self.api_version = version.to_owned();
        }
        self.resources.append(&mut self.bases);
        self.images.append(&mut self.image_tags);
        self.helm_charts.append(&mut self.helm_chart_inflation_generator);
        let secrets = self.secret_generator.iter_mut().map(|secret| &mut secret.common);
        for args in self.config_map_generator.iter_mut().chain(secrets) {
            if !args.env.is_empty() {
                args.envs.push(std::mem::take(&mut args.env));
            }
        }
    }

    /// Refuses a document without content, and kinds and versions that are not kustomize's (KZ-205, KZ-206).
    pub(crate) fn validate(&self, directory: &crate::FsPath) -> Result<(), Error> {
        let blank =
            Self { kind: self.kind.clone(), api_version: self.api_version.clone(), ..Self::default() };
        if *self == blank {
            return Err(Error::EmptyKustomization);
        }
        let mut problems = Vec::new();
        if !matches!(self.kind.as_str(), "Kustomization" | "Component") {
            problems.push("kind should be Kustomization or Component".to_owned());
        }
        let wanted = if self.is_component() { COMPONENT_API_VERSION } else { API_VERSION };
        if self.api_version != wanted {
            problems.push(format!("apiVersion for {} should be {wanted}", self.kind));
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(Error::InvalidHeader { directory: directory.clone(), problems: problems.join("\n") })
    }
}
