//! The objects that `deploy/kustomize` installs, built by Weir's own engine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weir_kustomize::{FsPath, MemoryFs, Options, Output, build};
use weir_testkit::{ControlPlane, repo_path};

/// The services, by the names of their Deployments, ServiceAccounts and programs.
pub const SERVICES: [&str; 5] = [
    "source-controller",
    "kustomize-controller",
    "image-reflector-controller",
    "image-automation-controller",
    "notification-controller",
];

/// CRDs are applied from their files, Deployments need a node, and the last two are kinds of the Prometheus operator.
const NOT_APPLIED: [&str; 4] = ["CustomResourceDefinition", "Deployment", "PodMonitor", "PrometheusRule"];

/// The namespace of the default overlay.
pub const NAMESPACE: &str = "flux-system";

/// A kustomization over the folders of `deploy/kustomize`, as a user has one of one's own.
#[derive(Debug, Clone, Copy)]
pub struct Overlay<'a> {
    /// Folder of `overlays` that it stands on.
    pub base: &'a str,
    /// Folders of `components` that it adds.
    pub components: &'a [&'a str],
    /// A user's patches, a YAML list.
    pub patches: &'a str,
    /// Other places of the images, a YAML list.
    pub images: &'a str,
}

impl Overlay<'_> {
    /// Its place beside the overlays of `deploy/kustomize`.
    pub const PATH: &'static str = "overlays/test";

    /// Its `kustomization.yaml`.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { base, components, patches, images } = self;
        let components: String =
            components.iter().map(|name| format!("\n  - ../../components/{name}")).collect();
        let components = if components.is_empty() { " []".to_owned() } else { components };
        format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../{base}]\n\
             components:{components}\npatches: {patches}\nimages: {images}\n"
        )
    }

    /// Writes it into an empty folder, with all of `deploy/kustomize` beside it; returns its own folder.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf> {
        let own = folder.join(Self::PATH);
        copy_folder(&repo_path("deploy/kustomize"), folder)?;
        std::fs::create_dir_all(&own)?;
        std::fs::write(own.join("kustomization.yaml"), self.text())?;
        Ok(own)
    }

    /// Builds it by Weir's own engine.
    ///
    /// # Errors
    /// When it does not build.
    pub fn build(&self) -> Result<Output> {
        let mut fs = MemoryFs::new();
        add_folder(&mut fs, &repo_path("deploy/kustomize"), "")?;
        fs.insert(&format!("{}/kustomization.yaml", Self::PATH), self.text())?;
        Ok(build(&fs, &FsPath::new(Self::PATH)?, &Options::cli())?)
    }
}

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
        Self::of(Overlay { base: "default", components, patches, images: "[]" })
    }

    /// Builds an overlay.
    ///
    /// # Errors
    /// When it does not build.
    pub fn of(overlay: Overlay<'_>) -> Result<Self> {
        let resources = overlay.build()?.resources;
        let objects = resources.iter().map(|resource| resource.to_json()).collect::<Result<_, _>>()?;
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

    /// The objects of a kind.
    pub fn objects_of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |object| kind_of(object) == kind)
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

    /// Applies everything but the Deployments, which need a node, and the kinds of others. The CRDs are served when this
    /// returns.
    ///
    /// # Errors
    /// When the API server refuses an object.
    pub async fn apply(&self, plane: &ControlPlane) -> Result<()> {
        self.apply_with_crds(plane, &repo_path("deploy/kustomize/crds")).await
    }

    /// As [`Installation::apply`], with the CRDs in another folder.
    ///
    /// # Errors
    /// When the API server refuses an object.
    pub async fn apply_with_crds(&self, plane: &ControlPlane, crds: &Path) -> Result<()> {
        plane.apply_crds(crds).await?;
        plane.namespace(NAMESPACE).await?;
        for object in &self.objects {
            if !NOT_APPLIED.contains(&kind_of(object)) {
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

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
