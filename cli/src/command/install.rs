//! `weir install` (CLI-INS01 to CLI-INS05).

use std::io::IsTerminal;

use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::Api;
use weir_api::{FluxObject, GitRepository};

use super::create;
use crate::apply;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::input;
use crate::manifests::{Choice, VERSION};
use crate::output::{print, progress};

/// Label that the kustomize service puts on what it applies.
const BOOTSTRAPPED: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// Label with the name of another tool that installed the services.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The installation to make.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Install the latest services of this version
  weir install

  # Look at the manifests first
  weir install --export > weir.yaml

  # With image automation, for tenants that do not trust each other
  weir install --components-extra image-reflector-controller,image-automation-controller --with multi-tenancy")]
pub(crate) struct Install {
    #[command(flatten)]
    choice: Choice,
    /// Print the manifests and change nothing.
    #[arg(long)]
    export: bool,
    /// Do not ask, not even on a terminal.
    #[arg(short, long, visible_alias = "yes")]
    silent: bool,
    /// Install over an installation that another tool manages.
    #[arg(long)]
    force: bool,
    /// Version to install; there is only the one that is part of this program.
    #[arg(long, value_name = "VERSION", hide = true)]
    version: Option<String>,
}

impl Install {
    /// Prints or applies the manifests.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        if let Some(version) =
            self.version.as_deref().filter(|version| !matches!(*version, "latest" | VERSION))
        {
            return Err(Error::Flags(format!(
                "version {version} is not part of this program, which has {VERSION}"
            )));
        }
        if self.export {
            return print(&self.choice.yaml(&global.namespace()?)?);
        }
        let cluster = &global.cluster().await?;
        progress::generating("generating manifests");
        let objects = self.choice.objects(&cluster.namespace)?;
        progress::success("manifests build completed");
        self.guard(cluster).await?;
        self.ask(cluster, global)?;
        progress::action(&format!("installing components in {} namespace", cluster.namespace));
        apply::apply(cluster, &objects).await.map_err(failed)?;
        if let (Some(name), Some(login)) = (&self.choice.image_pull_secret, &self.choice.registry_creds) {
            progress::action(&format!("generating image pull secret {name}"));
            create::apply_pull_secret(cluster, name, &self.choice.registry_host(), login).await?;
        }
        progress::waiting("verifying installation");
        for component in self.choice.components() {
            apply::deployed(cluster, component).await.map_err(|error| match error {
                Error::Deadline => Error::Install(format!(
                    ": deployment {component} is not ready in time; `kubectl -n {} describe deployment {component}` \
                     tells more",
                    cluster.namespace
                )),
                error => failed(error),
            })?;
            progress::success(&format!("{component}: deployment ready"));
        }
        progress::success("install finished");
        Ok(())
    }

    /// Refuses to change an installation that somebody else keeps as it is.
    async fn guard(&self, cluster: &Cluster) -> Result<(), Error> {
        let api: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
        let name = format!("{}.{}", GitRepository::PLURAL, GitRepository::GROUP);
        let Some(definition) = cluster.in_time(api.get_opt(&name)).await?? else { return Ok(()) };
        let labels = definition.metadata.labels.unwrap_or_default();
        if labels.contains_key(BOOTSTRAPPED) {
            let version = labels.get("app.kubernetes.io/version").map_or("", String::as_str);
            return Err(Error::Bootstrapped(version.to_owned()));
        }
        let manager = labels.get(MANAGED_BY).filter(|manager| *manager != "flux" && !self.force);
        let question = |manager| {
            format!("Flux has been installed on this cluster with {manager}. Do you want to override it")
        };
        match manager {
            Some(manager) if !input::confirm(&question(manager))? => {
                Err(Error::Flags("installation cancelled".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Tells a person what is going to happen; scripts are not asked.
    fn ask(&self, cluster: &Cluster, global: &Global) -> Result<(), Error> {
        let is_person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if self.silent || !is_person {
            return Ok(());
        }
        let (server, origin) = global.access.place();
        let components = self.choice.components().join(", ");
        let question =
            format!("Install {components} in namespace {} of {server} ({origin})", cluster.namespace);
        if input::confirm(&question)? {
            Ok(())
        } else {
            Err(Error::Flags("installation cancelled".to_owned()))
        }
    }
}

fn failed(error: Error) -> Error {
    Error::Install(format!(": {error}"))
}
