//! The objects that `deploy/kustomize` installs, built by Weir's own engine.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weir_kustomize::{MemoryFs, Options, RelPath, build};
use weir_testkit::{ControlPlane, repo_path};

/// The services, by the names of their Deployments, ServiceAccounts and programs.
pub const SERVICES: [&str; 5] = [
    "source-controller",
    "kustomize-controller",
    "image-reflector-controller",
    "image-automation-controller",
    "notification-controller",
];

/// The namespace of the default overlay.
pub const NAMESPACE: &str = "flux-system";

/// The objects of an installation.
#[derive(Debug, Clone)]
pub struct Installation {
    objects: Vec<Value>,
}

impl Installation {
    /// Builds the default overlay with further components of `deploy/kustomize/components`.
    ///
    /// # Errors
    /// When it does not build.
    pub fn with_components(components: &[&str]) -> Result<Self> {
        Self::patched(components, "[]")
    }

    /// Builds the default overlay with further components and a user's `patches`, a YAML list.
    ///
    /// # Errors
    /// When it does not build.
    pub fn patched(components: &[&str], patches: &str) -> Result<Self> {
        let mut fs = MemoryFs::new();
        add_folder(&mut fs, &repo_path("deploy/kustomize"), "")?;
        let components: String =
            components.iter().map(|name| format!("\n  - ../../components/{name}")).collect();
        let components = if components.is_empty() { " []".to_owned() } else { components };
        let overlay = format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../default]\n\
             components:{components}\npatches: {patches}\n"
        );
        fs.insert("overlays/test/kustomization.yaml", overlay)?;
        let output = build(&fs, &RelPath::new("overlays/test")?, &Options::cli())?;
        let objects = output.resources.iter().map(|resource| resource.to_json()).collect::<Result<_, _>>()?;
        Ok(Self { objects })
    }

    /// All objects, in the order of the build.
    #[must_use]
    pub fn objects(&self) -> &[Value] {
        &self.objects
    }

    /// The object of a kind with a name.
    ///
    /// # Errors
    /// When there is none.
    pub fn object(&self, kind: &str, name: &str) -> Result<&Value> {
        let has_name =
            |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str) == Some(name);
        let is_it = |object: &&Value| kind_of(object) == kind && has_name(object);
        self.objects.iter().find(is_it).with_context(|| format!("no {kind} {name}"))
    }

    /// Names of the components that the default overlay does not have, as their folders are called.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn optional_components() -> Result<BTreeSet<String>> {
        let default =
            std::fs::read_to_string(repo_path("deploy/kustomize/overlays/default/kustomization.yaml"))?;
        let entries = std::fs::read_dir(repo_path("deploy/kustomize/components"))?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<Result<BTreeSet<String>>>()?;
        names.retain(|name| !default.contains(&format!("components/{name}")));
        Ok(names)
    }

    /// Arguments of a service, as the container of its Deployment has them.
    ///
    /// # Errors
    /// When there is no such Deployment.
    pub fn arguments(&self, service: &str) -> Result<Vec<String>> {
        let deployment = self.object("Deployment", service)?;
        let arguments = deployment.pointer("/spec/template/spec/containers/0/args");
        let arguments =
            arguments.and_then(Value::as_array).with_context(|| format!("{service} has no args"))?;
        arguments.iter().map(|text| Ok(text.as_str().context("an argument is a text")?.to_owned())).collect()
    }

    /// Applies everything but the Deployments, which need a node. The CRDs are served when this returns.
    ///
    /// # Errors
    /// When the API server refuses an object.
    pub async fn apply(&self, plane: &ControlPlane) -> Result<()> {
        plane.apply_crds(&repo_path("deploy/kustomize/crds")).await?;
        plane.namespace(NAMESPACE).await?;
        for object in &self.objects {
            if !["Deployment", "CustomResourceDefinition"].contains(&kind_of(object)) {
                plane.apply(NAMESPACE, object.clone()).await?;
            }
        }
        Ok(())
    }
}

fn kind_of(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

fn add_folder(fs: &mut MemoryFs, folder: &Path, prefix: &str) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            add_folder(fs, &entry.path(), &format!("{path}/"))?;
        } else if kind.is_file() {
            fs.insert(&path, std::fs::read(entry.path())?)?;
        } else {
            bail!("{path} is neither a file nor a folder");
        }
    }
    Ok(())
}
