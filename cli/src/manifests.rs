//! The manifests of an installation: `deploy/kustomize`, which is part of this program, built for a namespace and a choice
//! of components (CLI-INS).

mod built;
mod local;
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
    #[arg(long, value_name = "USER:PASSWORD", allow_hyphen_values = true, value_parser = |text: &str| Ok::<_, String>(SecretString::from(text)))]
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
        let registry = self.registry.as_deref().and_then(|registry| registry.split('/').next());
        let registry = registry.filter(|host| !host.is_empty());
        let registry = registry.ok_or_else(|| {
            refused("--registry-creds requires --registry to be set: it names the host that they are for")
        })?;
        Ok(Some(PullSecret { name, registry, username, password }))
    }

    /// The objects of the installation, in the order in which they are applied.
    pub(crate) fn objects(&self, namespace: &str) -> Result<Vec<Value>, Error> {
        self.check()?;
        if let Some(directory) = &self.manifests {
            return local::objects(directory);
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
    /// Host of the registry.
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

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        choice: Choice,
    }

    fn objects(flags: &[&str]) -> Result<Vec<Value>, Error> {
        objects_in("gitops", flags)
    }

    fn objects_in(namespace: &str, flags: &[&str]) -> Result<Vec<Value>, Error> {
        let flags = std::iter::once("install").chain(flags.iter().copied());
        let mut choice = Flags::parse_from(flags).choice;
        choice.drop_empty();
        choice.objects(namespace)
    }

    fn names(objects: &[Value], kind: &str) -> Vec<String> {
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        objects.iter().filter(|object| object["kind"] == kind).map(name).collect()
    }

    #[test]
    fn every_variant_can_be_chosen() {
        assert!(variants().contains(&"monitoring"));
        for variant in variants() {
            let built = objects(&["--with", variant, "--components-extra", "image-reflector-controller"]);
            assert!(built.as_ref().is_ok_and(|objects| !objects.is_empty()), "{variant}: {:?}", built.err());
        }
    }

    #[test]
    fn an_installation_is_built_for_its_namespace() {
        let objects = objects(&[]).unwrap();
        assert_eq!(names(&objects, "Namespace"), ["gitops"]);
        assert_eq!(
            names(&objects, "Deployment"),
            ["kustomize-controller", "notification-controller", "source-controller"]
        );
        for deployment in objects.iter().filter(|object| object["kind"] == "Deployment") {
            let labels = &deployment["spec"]["template"]["metadata"]["labels"];
            assert_eq!(labels["app.kubernetes.io/instance"], "gitops");
            assert_eq!(labels["app.kubernetes.io/component"], deployment["metadata"]["name"]);
        }
        for binding in objects.iter().filter(|object| object["kind"] == "ClusterRoleBinding") {
            let role = binding["roleRef"]["name"].as_str().unwrap();
            assert!(
                role == "cluster-admin" || names(&objects, "ClusterRole").contains(&role.to_owned()),
                "{role}"
            );
            assert!(binding["metadata"]["name"].as_str().unwrap().ends_with("-gitops"));
        }
        let of_images =
            names(&objects, "CustomResourceDefinition").into_iter().filter(|it| it.contains("image"));
        assert_eq!(of_images.count(), 0);
    }

    /// Two installations must not share an object without a namespace: the second would change the first one's.
    #[test]
    fn no_variant_names_another_namespace_or_shares_an_object() {
        let namespace = "my-flux-system";
        for variant in variants() {
            let flags = ["--with", variant, "--components-extra", "image-reflector-controller"];
            for object in objects_in(namespace, &flags).unwrap() {
                let text = object.to_string();
                let rest = text.replace(namespace, "");
                assert!(!rest.contains("flux-system") && !text.contains("my-my-"), "{variant}: {text}");
                let metadata = &object["metadata"];
                let has_own_name = metadata["name"].as_str().unwrap().ends_with(namespace);
                let is_shared = object["kind"] == "CustomResourceDefinition";
                assert!(is_shared || has_own_name || metadata["namespace"] == namespace, "{variant}: {text}");
            }
        }
    }

    /// RBAC cannot limit these rights to clouds and to a Pod; the policies do, if they match the accounts.
    #[rstest::rstest]
    #[case("workload-identity", "workload-identity-audiences-gitops")]
    #[case("source-standby", "source-controller-own-pod-gitops")]
    fn policies_are_about_the_accounts_of_the_namespace(#[case] variant: &str, #[case] name: &str) {
        let objects = objects(&["--with", variant]).unwrap();
        assert_eq!(names(&objects, "ValidatingAdmissionPolicy"), [name]);
        let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
        let condition = &of_kind("ValidatingAdmissionPolicy")["spec"]["matchConditions"][0]["expression"];
        assert!(
            condition.as_str().unwrap().contains("'system:serviceaccount:gitops:source-controller'"),
            "{condition}"
        );
        assert_eq!(of_kind("ValidatingAdmissionPolicyBinding")["spec"]["policyName"], name);
    }

    #[test]
    fn flags_reach_the_deployments() {
        let flags = [
            "--components-extra=image-reflector-controller",
            "--registry=registry.local:5000/mirror",
            "--image-pull-secret=pull",
            "--toleration-keys=gitops",
            "--log-level=debug",
            "--watch-all-namespaces=false",
            "--cluster-domain=corp.local",
            "--network-policy=false",
            "--with=multi-tenancy",
        ];
        let objects = objects(&flags).unwrap();
        assert_eq!(names(&objects, "NetworkPolicy").len(), 0);
        let is_source = |object: &&Value| {
            object["kind"] == "Deployment" && object["metadata"]["name"] == "source-controller"
        };
        let pod = &objects.iter().find(is_source).unwrap()["spec"]["template"]["spec"];
        let shown = json!([pod["containers"][0]["image"], pod["imagePullSecrets"], pod["tolerations"]]);
        let expected = json!([
            format!("registry.local:5000/mirror/source-controller:{VERSION}"),
            [{ "name": "pull" }],
            [{ "key": "gitops", "operator": "Exists" }],
        ]);
        assert_eq!(shown, expected);
        let arguments = pod["containers"][0]["args"].as_array().unwrap();
        let first: Vec<_> = arguments.iter().take(3).map(|it| it.as_str().unwrap()).collect();
        let events = "--events-addr=http://notification-controller.$(RUNTIME_NAMESPACE).svc.corp.local./";
        assert_eq!(first, [events, "--watch-all-namespaces=false", "--log-level=debug"]);
        assert!(arguments.contains(&"--no-cross-namespace-refs=true".into()));
    }

    /// A toleration without a key would be one of every taint.
    #[rstest::rstest]
    #[case("--toleration-keys=")]
    #[case("--toleration-keys=,")]
    #[case("--image-pull-secret=")]
    #[case("--registry-creds=")]
    #[case("--registry=")]
    #[case("--with=")]
    #[case("--manifests=")]
    fn a_flag_without_a_value_is_none(#[case] flag: &str) {
        assert_eq!(objects(&[flag]).unwrap(), objects(&[]).unwrap());
    }

    /// Lists are CSV, as in Flux, so that a key may have a comma in it.
    #[test]
    fn lists_are_records() {
        let objects = objects(&[r#"--toleration-keys="a,b",c"#]).unwrap();
        let tolerations: Vec<_> =
            objects.iter().filter_map(|object| object.pointer("/spec/template/spec/tolerations")).collect();
        let expected = json!([{ "key": "a,b", "operator": "Exists" }, { "key": "c", "operator": "Exists" }]);
        assert_eq!(tolerations, [&expected, &expected, &expected]);
        let refused = Flags::try_parse_from(["install", r#"--components-extra="a"#]).err().unwrap();
        assert!(refused.to_string().contains("extraneous or missing"), "{refused}");
    }

    #[test]
    fn manifests_of_a_directory_are_taken_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("kustomization.yaml", "namePrefix: my-\nresources: [all.yaml]\n");
        write("all.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n");
        let flag = format!("--manifests={}", folder.path().display());
        let expected = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "my-a", "namespace": "other" } });
        assert_eq!(objects(&[&flag]).unwrap(), [expected]);
        assert!(objects(&["--manifests=/nowhere"]).unwrap_err().to_string().starts_with("/nowhere: "));
    }

    #[rstest::rstest]
    #[case("--components=nope", "component nope is not available")]
    #[case(
        "--components-extra=helm-controller",
        "component helm-controller is not available: leave it out here and take Flux's own, which works with Weir; \
         docs/install.md, 'Helm releases', says how"
    )]
    #[case("--registry-creds=a:b", "--registry-creds requires --image-pull-secret to be set")]
    #[case(
        "--registry-creds=a:b --image-pull-secret=pull",
        "--registry-creds requires --registry to be set: it names the host that they are for"
    )]
    #[case(
        "--registry-creds=a --image-pull-secret=pull --registry=r.io/weir",
        "invalid --registry-creds format, expected 'user:password'"
    )]
    fn what_cannot_be_installed_is_refused(#[case] flags: &str, #[case] expected: &str) {
        let flags: Vec<_> = flags.split(' ').collect();
        assert_eq!(objects(&flags).unwrap_err().to_string(), expected);
    }

    #[test]
    fn source_watcher_is_part_of_source_controller() {
        let flags =
            Flags::parse_from(["install", "--components-extra=source-watcher,image-reflector-controller"]);
        let expected = [
            "source-controller",
            "kustomize-controller",
            "notification-controller",
            "image-reflector-controller",
        ];
        assert_eq!(flags.choice.components(), expected);
        assert_eq!(
            names(&objects(&["--components=source-watcher"]).unwrap(), "Deployment"),
            ["source-controller"]
        );
    }
}
