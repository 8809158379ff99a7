//! `weir debug`: the status of an object, and what its references come to (CLI-DBG01). Values of Secrets are printed.

mod values;

use clap::{Args, Subcommand};
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;
use weir_kustomize_controller::variables::Variables;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::kind::Kind;
use crate::output::{manifest, print};

/// The object to look into.
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  # The variables of a Kustomization
  weir debug kustomization podinfo --show-vars

  # The values of a HelmRelease
  weir debug helmrelease podinfo --show-values"
)]
pub(crate) struct Debug {
    #[command(subcommand)]
    object: Object,
}

#[derive(Subcommand, Debug)]
enum Object {
    /// Print the status, the history or the variables of a Kustomization; values of Secrets are not hidden.
    #[command(
        alias = "ks",
        after_help = "Examples:
  # Its status
  weir debug kustomization podinfo --show-status

  # The variables of its post-build substitution, into a file
  weir debug kustomization podinfo --show-vars > vars.env

  # The revisions that it has applied
  weir debug kustomization podinfo --show-history"
    )]
    Kustomization(Kustomization),
    /// Print the status, the history or the values of a HelmRelease; values of Secrets are not hidden.
    #[command(
        alias = "hr",
        after_help = "Examples:
  # Its status
  weir debug helmrelease podinfo --show-status

  # The values that its chart is rendered with, into a file
  weir debug helmrelease podinfo --show-values > values.yaml

  # The releases that it has made
  weir debug helmrelease podinfo --show-history"
    )]
    Helmrelease(Release),
}

#[derive(Args, Debug)]
struct Kustomization {
    #[command(flatten)]
    common: Common,
    /// Print the variables of post-build substitution, as lines of NAME=value.
    #[arg(long)]
    show_vars: bool,
}

#[derive(Args, Debug)]
struct Release {
    #[command(flatten)]
    common: Common,
    /// Print the values that the chart is rendered with.
    #[arg(long)]
    show_values: bool,
}

#[derive(Args, Debug)]
struct Common {
    /// Name of the object.
    name: Option<String>,
    /// Print the status.
    #[arg(long)]
    show_status: bool,
    /// Print the history.
    #[arg(long)]
    show_history: bool,
}

/// The places that tell what the fields mean.
struct Documentation {
    status: &'static str,
    history: &'static str,
}

const OF_KUSTOMIZATIONS: Documentation = Documentation {
    status: "https://fluxcd.io/flux/components/kustomize/kustomizations/#kustomization-status",
    history: "https://fluxcd.io/flux/components/kustomize/kustomizations/#history",
};

const OF_RELEASES: Documentation = Documentation {
    status: "https://fluxcd.io/flux/components/helm/helmreleases/#helmrelease-status",
    history: "https://fluxcd.io/flux/components/helm/helmreleases/#history",
};

impl Debug {
    /// Prints what is asked for.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        match self.object {
            Object::Kustomization(Kustomization { common, show_vars }) => {
                let (cluster, object) =
                    common.read(global, "Kustomization", show_vars, "--show-vars").await?;
                match show_vars {
                    true => print(&variables(&cluster, &object).await?),
                    false => common.show(&object, &OF_KUSTOMIZATIONS),
                }
            }
            Object::Helmrelease(Release { common, show_values }) => {
                let (cluster, object) =
                    common.read(global, "HelmRelease", show_values, "--show-values").await?;
                match show_values {
                    true => print(&manifest::yaml(&values::of(&cluster, &object).await?)?),
                    false => common.show(&object, &OF_RELEASES),
                }
            }
        }
    }
}

impl Common {
    /// Reads the object, unless other than one thing is to be shown.
    async fn read(
        &self,
        global: &Global,
        kind: &str,
        shows_more: bool,
        flag: &str,
    ) -> Result<(Cluster, DynamicObject), Error> {
        let name = self.name.as_deref();
        let name = name.ok_or_else(|| Error::Flags("accepts 1 arg(s), received 0".to_owned()))?;
        if [self.show_status, self.show_history, shows_more].iter().filter(|is_set| **is_set).count() != 1 {
            let message = format!("exactly one of --show-status, {flag}, or --show-history must be set");
            return Err(Error::Flags(message));
        }
        let kind = Kind::named(kind)?;
        let cluster = global.cluster().await?;
        let mut object = cluster.get(kind, name).await?;
        // The status as the API's types write it.
        let value = serde_json::to_value(&object).map_err(std::io::Error::from)?;
        if let Ok(Value::Object(mut fields)) = (kind.normalized)(value)
            && let Some(data) = object.data.as_object_mut()
        {
            data.insert("status".to_owned(), fields.remove("status").unwrap_or_default());
        }
        add_times(&mut object);
        Ok((cluster, object))
    }

    fn show(&self, object: &DynamicObject, documentation: &Documentation) -> Result<(), Error> {
        let part = |pointer, empty: Value| {
            object.data.pointer(pointer).filter(|it| !it.is_null()).cloned().unwrap_or(empty)
        };
        let (title, url, shown) = match self.show_status {
            true => ("Status", documentation.status, part("/status", serde_json::json!({}))),
            false => ("History", documentation.history, part("/status/history", serde_json::json!([]))),
        };
        print(&format!("# {title} documentation: {url}\n{}", manifest::yaml(&shown)?))
    }
}

/// Times that Flux's type of a release in a history always writes.
const TIMES: [&str; 3] = ["deleted", "firstDeployed", "lastDeployed"];

/// Adds the times that releases of a history do not have, as Flux prints them.
fn add_times(object: &mut DynamicObject) {
    let history = object.data.pointer_mut("/status/history").and_then(Value::as_array_mut);
    let releases = history.into_iter().flatten().filter_map(Value::as_object_mut);
    for release in releases.filter(|release| release.contains_key("chartName")) {
        for time in TIMES {
            release.entry(time).or_insert(Value::Null);
        }
    }
}

async fn variables(cluster: &Cluster, object: &DynamicObject) -> Result<String, Error> {
    let value = serde_json::to_value(object).map_err(std::io::Error::from)?;
    let mut kustomization: weir_api::Kustomization =
        serde_json::from_value(value).map_err(std::io::Error::from)?;
    kustomization.metadata.namespace.get_or_insert_with(|| object.namespace().unwrap_or_default());
    let loaded = cluster.in_time(Variables::load(&cluster.client, &kustomization)).await?;
    let loaded = loaded.map_err(|error| Error::Api(error.to_string()))?;
    let variables = loaded.ok_or_else(|| Error::Api("no post build substitutions found".to_owned()))?;
    Ok(variables.entries().map(|(name, value)| format!("{name}={value}\n")).collect())
}
