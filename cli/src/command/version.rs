//! `weir version` (CLI-VER01).

use clap::{Args, ValueEnum};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use weir_api::{COMPONENT_LABEL, FluxObject, GitRepository, PART_OF_LABEL};

use crate::builtin;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::output::print;

/// Label with the version of an installation.
const VERSION_LABEL: &str = "app.kubernetes.io/version";

/// The versions to print, and their format.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # This command, and the services of the cluster
  weir version

  # This command only; no cluster is needed
  weir version --client

  # For programs
  weir version --output json")]
pub(crate) struct Version {
    /// Only the version of this command; no cluster is asked.
    #[arg(long)]
    client: bool,
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = Form::Yaml)]
    output: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Yaml,
    Json,
}

/// Names with their versions, in the order of printing.
type Versions = Vec<(String, String)>;

impl Version {
    /// Prints the versions.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let mut versions = vec![("weir".to_owned(), format!("v{}", env!("CARGO_PKG_VERSION")))];
        if !self.client {
            let cluster = global.cluster().await?;
            versions
                .extend(distribution(&cluster).await?.map(|version| ("distribution".to_owned(), version)));
            versions.extend(services(&cluster).await?);
        }
        print(&self.render(versions)?)
    }

    fn render(&self, mut versions: Versions) -> Result<String, Error> {
        if self.output == Form::Yaml {
            return Ok(versions.iter().map(|(name, version)| format!("{name}: {version}\n")).collect());
        }
        versions.sort();
        let versions: serde_json::Map<_, _> =
            versions.into_iter().map(|(name, version)| (name, version.into())).collect();
        let text = serde_json::to_string_pretty(&versions).map_err(std::io::Error::from)?;
        Ok(format!("{text}\n"))
    }
}

/// Returns the installed version, from the labels of the CRDs.
async fn distribution(cluster: &Cluster) -> Result<Option<String>, Error> {
    let api = builtin::all::<CustomResourceDefinition>(&cluster.client);
    let name = format!("{}.{}", GitRepository::PLURAL, GitRepository::GROUP);
    let Some(definition) = cluster.in_time(api.get_opt(&name)).await?? else { return Ok(None) };
    let labels = definition.metadata.labels.unwrap_or_default();
    let parts = labels.get(PART_OF_LABEL).zip(labels.get(VERSION_LABEL));
    Ok(parts.map(|(part_of, version)| format!("{part_of}-{version}")))
}

/// The images of the Deployments of the namespace, by the last part of their names.
async fn services(cluster: &Cluster) -> Result<Versions, Error> {
    let api = builtin::namespaced::<Deployment>(&cluster.client, &cluster.namespace);
    let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux,{COMPONENT_LABEL}"));
    let deployments = cluster.in_time(api.list(&params)).await??.items;
    if deployments.is_empty() {
        return Err(Error::NoDeployments(cluster.namespace.clone()));
    }
    let images = deployments.iter().flat_map(builtin::images);
    let mut versions = images.map(split).collect::<Result<Versions, Error>>()?;
    versions.sort();
    versions.dedup();
    Ok(versions)
}

/// Splits `registry:5000/path/name:tag@digest` into `name` and `tag@digest`. As in Flux, `name@sha256:digest` becomes `name@sha256`
/// and `digest`.
fn split(image: &str) -> Result<(String, String), Error> {
    let last = image.rsplit('/').next().unwrap_or(image);
    let (name, tag) = last.split_once(':').ok_or_else(|| Error::ImageTag(image.to_owned()))?;
    Ok((name.to_owned(), tag.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("ghcr.io/weir/source-controller:v0.1.0", Some(("source-controller", "v0.1.0")))]
    #[case("localhost:5000/source-controller:v1@sha256:aa", Some(("source-controller", "v1@sha256:aa")))]
    #[case("ghcr.io/weir/source-controller@sha256:aa", Some(("source-controller@sha256", "aa")))]
    #[case("localhost:5000/source-controller", None)]
    fn images_are_names_and_tags(#[case] image: &str, #[case] expected: Option<(&str, &str)>) {
        let found = split(image).ok();
        assert_eq!(found.as_ref().map(|(name, tag)| (name.as_str(), tag.as_str())), expected);
    }
}
