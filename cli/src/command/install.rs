//! `weir install` (CLI-INS01 to CLI-INS05).

mod images;

use std::io::IsTerminal;

use clap::Args;
use serde_json::Value;
use weir_runtime::args::Switch;

use super::create;
use crate::apply;
use crate::cluster::Cluster;
use crate::deployment;
use crate::error::Error;
use crate::global::Global;
use crate::input;
use crate::installation::Installation;
use crate::manifests::{Choice, HELM_CONTROLLER, check_version};
use crate::output::manifest::text;
use crate::output::{print, progress};

/// Warning of what the printed manifests do in the place of Flux's, from which services prune what is gone.
const WITHOUT_HELM_CONTROLLER: &str = "helm-controller is not among these manifests: in a Git repository that has it, \
    they delete it, its CRD and all HelmReleases; weir bootstrap keeps it";

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
    #[arg(short, long, visible_alias = "yes", switched_off())]
    silent: bool,
    /// Install over an installation that another tool manages.
    #[arg(long)]
    force: bool,
    /// Version to install; there is only the one that is part of this program.
    #[arg(short = 'v', long, value_name = "VERSION", hide = true)]
    version: Option<String>,
}

impl Install {
    /// Prints or applies the manifests.
    pub(crate) async fn run(mut self, global: &Global) -> Result<(), Error> {
        self.choice.drop_empty();
        check_version(self.version.as_deref())?;
        self.choice.check()?;
        self.choice.warn();
        if self.export {
            let objects = self.choice.objects(&global.namespace()?)?;
            warn_of_images(&objects)?;
            if !objects.iter().any(is_helm_controller) {
                progress::warning(WITHOUT_HELM_CONTROLLER);
            }
            return print(&self.choice.yaml(&global.namespace()?)?);
        }
        let cluster = &global.cluster().await?;
        progress::generating("generating manifests");
        let choice = match Installation::has_helm_controller(cluster).await? {
            true => &self.choice.beside_helm_controller(),
            false => &self.choice,
        };
        if global.verbose {
            print(&choice.yaml(&cluster.namespace)?)?;
        }
        let objects = choice.objects(&cluster.namespace)?;
        warn_of_images(&objects)?;
        progress::success("manifests build completed");
        self.guard(cluster).await?;
        self.ask(cluster, global)?;
        progress::action(&format!("installing components in {} namespace", cluster.namespace));
        apply::apply(cluster, &objects, progress::detail).await.map_err(failed)?;
        if let Some(secret) = self.choice.pull_secret()? {
            progress::action(&format!("generating image pull secret {}", secret.name));
            create::apply_pull_secret(cluster, &secret).await?;
        }
        progress::waiting("verifying installation");
        if !deployment::all_rolled_out(cluster, &self.choice.components()).await.map_err(failed)? {
            progress::detail(&format!("  try: kubectl -n {} describe deployment", cluster.namespace));
            return Err(Error::Install(String::new()));
        }
        progress::success("install finished");
        Ok(())
    }

    /// Refuses to change an installation that somebody else keeps as it is.
    async fn guard(&self, cluster: &Cluster) -> Result<(), Error> {
        let Some(found) = Installation::find(cluster).await? else { return Ok(()) };
        if found.is_bootstrapped {
            return Err(Error::Bootstrapped(found.version));
        }
        if self.force || found.may_be_changed()? {
            return Ok(());
        }
        Err(Error::Flags("installation cancelled".to_owned()))
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

fn warn_of_images(objects: &[Value]) -> Result<(), Error> {
    if let Some(warning) = images::check(objects)? {
        progress::warning(&warning);
    }
    Ok(())
}

fn is_helm_controller(object: &Value) -> bool {
    (text(object, "/kind"), text(object, "/metadata/name")) == ("Deployment", HELM_CONTROLLER)
}

fn failed(error: Error) -> Error {
    Error::Install(format!(": {error}"))
}
