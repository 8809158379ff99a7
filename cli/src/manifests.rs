//! The manifests of an installation: `deploy/kustomize`, which is part of this program, built for a namespace and a choice
//! of components (CLI-INS).

mod built;
#[cfg(test)]
mod tests;
mod tune;

use std::path::PathBuf;

use clap::Args;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use weir_runtime::args::Switch;

pub(crate) use self::built::crds;
use crate::csv::Record;
use crate::enumeration;
use crate::error::Error;
use crate::given::{Given, drop_empty_secret, path};
use crate::kustomization;
use crate::output::{manifest, progress};

/// Path and content of each file of `deploy/kustomize`.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/manifests.rs"));

/// Namespace that these files name.
const WRITTEN_NAMESPACE: &str = "flux-system";

/// Version of the services that the manifests start.
pub(crate) const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The service of Flux that Weir has not, and works with.
pub(crate) const HELM_CONTROLLER: &str = "helm-controller";
/// The service of Flux whose work one of Weir's does.
pub(crate) const SOURCE_WATCHER: &str = "source-watcher";
/// The one that does it.
const SOURCE_CONTROLLER: &str = "source-controller";
/// The variant with its rights.
const BESIDE_HELM_CONTROLLER: &str = "flux-helm-controller";

/// Refuses versions that are not part of this program.
pub(crate) fn check_version(version: Option<&str>) -> Result<(), Error> {
    match version {
        None | Some("" | "latest" | VERSION) => Ok(()),
        Some(version) => {
            Err(Error::Flags(format!("version {version} is not part of this program, which has {VERSION}")))
        }
    }
}

/// The choices about an installation.
#[derive(Args, Debug, Clone)]
pub(crate) struct Choice {
    /// Components to install.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "source-controller,kustomize-controller,notification-controller"
    )]
    components: Vec<Record>,
    /// More components, such as image-reflector-controller,image-automation-controller.
    #[arg(long, value_name = "LIST")]
    components_extra: Vec<Record>,
    /// Variants of the manifests, such as multi-tenancy, tls-self-signed or workload-identity.
    #[arg(long = "with", value_name = "LIST")]
    variants: Vec<Record>,
    /// Registry of the images.
    #[arg(long, value_name = "HOST/PATH")]
    registry: Option<String>,
    /// Name of the Secret for pulling the images.
    #[arg(long, value_name = "NAME")]
    image_pull_secret: Option<String>,
    /// Credentials of the registry, user:password; they become the pull Secret.
    #[arg(long, value_name = "USER:PASSWORD", value_parser = |text: &str| Ok::<_, String>(SecretString::from(text)))]
    registry_creds: Option<SecretString>,
    /// Work on the objects of all namespaces.
    #[arg(long, default_value_t = true, switch())]
    watch_all_namespaces: bool,
    /// Install network policies.
    #[arg(long, default_value_t = true, switch())]
    network_policy: bool,
    /// Lowest level of the lines that the services log.
    #[arg(long, value_parser = enumeration::LOG_LEVEL, default_value = "info")]
    log_level: String,
    /// Domain of the cluster.
    #[arg(long, default_value = "cluster.local", value_name = "DOMAIN")]
    cluster_domain: String,
    /// Taints that the services tolerate.
    #[arg(long, value_name = "LIST")]
    toleration_keys: Vec<Record>,
    /// Directory whose kustomization is installed as it is, instead of the manifests of this program.
    #[arg(long, value_name = "DIR", hide = true, value_parser = path())]
    manifests: Option<PathBuf>,
}

impl Choice {
    /// Takes away what is given without a value.
    pub(crate) fn drop_empty(&mut self) {
        self.registry.drop_empty();
        self.image_pull_secret.drop_empty();
        drop_empty_secret(&mut self.registry_creds);
        self.manifests.drop_empty();
    }

    /// The components, each once.
    pub(crate) fn components(&self) -> Vec<&str> {
        let mut components = Vec::new();
        for name in self.named().map(component) {
            if !name.is_empty() && !components.contains(&name) {
                components.push(name);
            }
        }
        components
    }

    fn variants(&self) -> impl Iterator<Item = &str> {
        Record::items(&self.variants).map(String::as_str)
    }

    /// Keys of the taints that the services tolerate; none of them is empty, which would mean every taint.
    fn toleration_keys(&self) -> impl Iterator<Item = &str> {
        Record::items(&self.toleration_keys).map(String::as_str)
    }

    fn named(&self) -> impl Iterator<Item = &str> {
        Record::items(&self.components).chain(Record::items(&self.components_extra)).map(|name| name.trim())
    }

    /// Warns of components that are installed as a part of others.
    pub(crate) fn warn(&self) {
        if self.named().any(|name| name == SOURCE_WATCHER) {
            warn_of_source_watcher();
        }
    }

    /// The same choice on a cluster where Flux's helm-controller works, which keeps its rights.
    pub(crate) fn beside_helm_controller(&self) -> Self {
        let mut choice = self.clone();
        if !choice.variants().any(|name| name == BESIDE_HELM_CONTROLLER) {
            choice.variants.push(Record::of(BESIDE_HELM_CONTROLLER.to_owned()));
        }
        choice
    }

    /// The Secret with which the images are pulled, if one is to be made.
    pub(crate) fn pull_secret(&self) -> Result<Option<PullSecret<'_>>, Error> {
        let refused = |reason: &str| Error::Flags(reason.to_owned());
        let Some(login) = &self.registry_creds else { return Ok(None) };
        let name = self.image_pull_secret.as_deref();
        let name = name.ok_or_else(|| refused("--registry-creds requires --image-pull-secret to be set"))?;
        let login = login.expose_secret().split_once(':');
        let (username, password) =
            login.ok_or_else(|| refused("invalid --registry-creds format, expected 'user:password'"))?;
        let registry = self.registry.as_deref().ok_or_else(|| {
            refused("--registry-creds requires --registry to be set: it names the host that they are for")
        })?;
        Ok(Some(PullSecret { name, registry, username, password }))
    }

    /// The objects of the installation, in the order in which they are applied.
    pub(crate) fn objects(&self, namespace: &str) -> Result<Vec<Value>, Error> {
        self.check()?;
        if let Some(directory) = &self.manifests {
            let (disk, place) = kustomization::on_disk(directory)?;
            return kustomization::objects(&disk, &place);
        }
        let objects = built::overlay(self.kustomization())?;
        Ok(tune::tune(objects, self, namespace))
    }

    /// The objects as YAML, with a header that says what they are (CLI-INS03).
    pub(crate) fn yaml(&self, namespace: &str) -> Result<String, Error> {
        let mut yaml = format!(
            "---\n# This manifest was generated by weir. DO NOT EDIT.\n# Weir Version: {VERSION}\n# Components: {}\n",
            self.components().join(",")
        );
        for (index, object) in self.objects(namespace)?.iter().enumerate() {
            let document = manifest::document(object)?;
            yaml.push_str(if index == 0 { document.trim_start_matches("---\n") } else { &document });
        }
        Ok(yaml)
    }

    /// Refuses components that there are not, and an installation that could not work.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let components = self.components();
        if components.contains(&HELM_CONTROLLER) {
            return Err(Error::Flags(format!(
                "component {HELM_CONTROLLER} is not available: leave it out here and take Flux's own, which works with Weir; \
                 docs/install.md, 'Helm releases', says how"
            )));
        }
        if components.is_empty() {
            return Err(Error::Flags("no components to install".to_owned()));
        }
        for name in &components {
            if !name.ends_with("-controller") || !exists(&format!("base/{name}")) {
                return Err(Error::Flags(format!("component {name} is not available")));
            }
        }
        for name in self.variants() {
            if name == "image-update" || !exists(&format!("components/{name}")) {
                let known = variants().join(", ");
                return Err(Error::Flags(format!("'{name}' is not a variant; variants are: {known}")));
            }
        }
        self.pull_secret().map(drop)
    }

    /// A kustomization of the chosen parts, in the namespace of the files.
    fn kustomization(&self) -> String {
        let item = |path: String| format!("  - {path}\n");
        let resources: String =
            self.components().iter().map(|name| item(format!("../../base/{name}"))).collect();
        let policies = self.network_policy.then(|| "network-policies".to_owned());
        let components: String = policies
            .into_iter()
            .chain(["critical-pods-quota".to_owned()])
            .chain(self.variants().map(str::to_owned))
            .map(|name| item(format!("../../components/{name}")))
            .collect();
        format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\n\
             kind: Kustomization\n\
             namespace: {WRITTEN_NAMESPACE}\n\
             resources:\n  - ../default/namespace.yaml\n  - ../../crds\n  - ../../base/rbac\n{resources}\
             components:\n{components}\
             labels:\n  - includeTemplates: true\n    pairs:\n      app.kubernetes.io/instance: {WRITTEN_NAMESPACE}\n      \
             app.kubernetes.io/part-of: flux\n      app.kubernetes.io/version: {VERSION}\n"
        )
    }
}

/// The Secret with which the images of an installation are pulled.
pub(crate) struct PullSecret<'a> {
    pub(crate) name: &'a str,
    /// Host of the registry, and the path below which they count, if any.
    pub(crate) registry: &'a str,
    pub(crate) username: &'a str,
    pub(crate) password: &'a str,
}

/// Returns the component of Weir that does the work of one of Flux.
pub(crate) fn component(name: &str) -> &str {
    if name == SOURCE_WATCHER { SOURCE_CONTROLLER } else { name }
}

/// Warns that another component does the work of Flux's source-watcher.
pub(crate) fn warn_of_source_watcher() {
    progress::warning(&format!("{SOURCE_WATCHER} is part of {SOURCE_CONTROLLER} in Weir"));
}

fn exists(folder: &str) -> bool {
    let file = format!("{folder}/kustomization.yaml");
    FILES.iter().any(|(path, _)| *path == file)
}

/// Names of the variants, all folders of components but those that flags stand for.
fn variants() -> Vec<&'static str> {
    let name = |path: &'static str| path.strip_prefix("components/")?.strip_suffix("/kustomization.yaml");
    let names = FILES.iter().filter_map(|(path, _)| name(path));
    names
        .filter(|name| !matches!(*name, "image-update" | "network-policies" | "critical-pods-quota"))
        .collect()
}
