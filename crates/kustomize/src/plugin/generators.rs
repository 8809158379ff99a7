//! Generators with a configuration of their own.

use std::rc::Rc;

use weir_yaml::{Map, Node};

use super::decode;
use super::error::PluginError;
use crate::Error;
use crate::build::Build;
use crate::generate::error::GenerateError;
use crate::generate::{config_map, secret};
use crate::kustomization::{ConfigMapArgs, SecretArgs, decodes};
use crate::loader::Loader;
use crate::resource::Resource;

/// The generators that have configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeneratorKind {
    ConfigMap,
    Secret,
    IamPolicy,
    /// Needs Helm, which is never run.
    HelmChart,
}

/// `kubernetesService` of an IAM policy.
#[derive(Debug, Default)]
struct KubernetesService {
    namespace: String,
    name: String,
}

/// `serviceAccount` of an IAM policy.
#[derive(Debug, Default)]
struct CloudAccount {
    name: String,
    project_id: String,
}

/// Configuration of `IAMPolicyGenerator`.
#[derive(Debug, Default)]
struct IamPolicy {
    cloud: String,
    service: KubernetesService,
    account: CloudAccount,
}

decodes!(KubernetesService as "KubernetesService" { namespace = "namespace", name = "name" });
decodes!(CloudAccount as "ServiceAccount" { name = "name", project_id = "projectId" });
decodes!(IamPolicy as "IAMPolicyGeneratorArgs" {} inline {
    cloud = "cloud", service = "kubernetesService", account = "serviceAccount",
});

/// Runs one generator.
pub(super) fn run(
    build: &Build<'_>,
    loader: &Rc<Loader>,
    config: &Resource,
    kind: GeneratorKind,
) -> Result<Vec<Resource>, Error> {
    let made = match kind {
        GeneratorKind::ConfigMap => {
            let args = named_after(decode(config)?, config);
            config_map(build, loader, &args, &args.options.clone().unwrap_or_default())?
        }
        GeneratorKind::Secret => {
            let mut args: SecretArgs = decode(config)?;
            args.common = named_after(args.common, config);
            secret(build, loader, &args, &args.common.options.clone().unwrap_or_default())?
        }
        GeneratorKind::IamPolicy => iam_policy(&decode(config)?)?,
        GeneratorKind::HelmChart => {
            let mut text = String::new();
            config.write_yaml(&mut text)?;
            return Err(GenerateError::Helm(text).into());
        }
    };
    Ok(vec![made])
}

/// Name and namespace of the configuration count where the generator has none (KZ-1203). The deprecated `env` counts in
/// kustomization files only.
fn named_after(mut args: ConfigMapArgs, config: &Resource) -> ConfigMapArgs {
    if args.name.is_empty() {
        args.name = config.name().to_owned();
    }
    if args.namespace.is_empty() {
        args.namespace = config.namespace().to_owned();
    }
    args.env.clear();
    args
}

fn iam_policy(policy: &IamPolicy) -> Result<Resource, PluginError> {
    if policy.cloud != "gke" {
        return Err(PluginError::Config(format!("cloud provider {} not supported yet", policy.cloud)));
    }
    let account = format!("{}@{}.iam.gserviceaccount.com", policy.account.name, policy.account.project_id);
    let mut annotations = Map::new();
    annotations.set("iam.gke.io/gcp-service-account", Node::string(account));
    let mut metadata = Map::new();
    metadata.set("annotations", Node::Map(annotations));
    metadata.set("name", Node::string(policy.service.name.as_str()));
    if !policy.service.namespace.is_empty() {
        metadata.set("namespace", Node::string(policy.service.namespace.as_str()));
    }
    let mut object = Map::new();
    object.set("apiVersion", Node::string("v1"));
    object.set("kind", Node::string("ServiceAccount"));
    object.set("metadata", Node::Map(metadata));
    Ok(Resource::new(Node::Map(object)))
}
