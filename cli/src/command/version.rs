//! `weir version` (CLI-VER01).

use clap::Args;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ListParams;
use serde_json::json;
use weir_api::PART_OF_LABEL;

use crate::builtin;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::global::Global;
use crate::installation::Installation;
use crate::output::{manifest, print};

/// Forms of the output.
const FORMS: [&str; 2] = ["yaml", "json"];

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
    #[arg(short, long, value_name = "yaml|json", default_value = "yaml")]
    output: String,
}

/// Names with their versions, in the order of printing.
type Versions = Vec<(String, String)>;

impl Version {
    /// Prints the versions.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        if !FORMS.contains(&self.output.as_str()) {
            let reason = format!("--output must be json or yaml, not {}", self.output);
            return Err(Error::Flags(reason));
        }
        let mut versions = vec![("weir".to_owned(), format!("v{}", env!("CARGO_PKG_VERSION")))];
        if !self.client {
            let cluster = global.cluster().await?;
            let found = Installation::find(&cluster).await?.map(|found| found.distribution);
            let distribution = found.filter(|distribution| !distribution.is_empty());
            versions.extend(distribution.map(|version| ("distribution".to_owned(), version)));
            versions.extend(services(&cluster).await?);
        }
        print(&self.render(versions)?)
    }

    fn render(&self, mut versions: Versions) -> Result<String, Error> {
        if self.output == "yaml" {
            // A line each: in one document the names would be sorted. A tag may be a number (`2.10`), which needs quotes.
            return versions
                .iter()
                .map(|(name, version)| manifest::yaml(&json!({ name: version })))
                .collect();
        }
        versions.sort();
        let versions: serde_json::Map<_, _> =
            versions.into_iter().map(|(name, version)| (name, version.into())).collect();
        let text = serde_json::to_string_pretty(&versions).map_err(std::io::Error::from)?;
        Ok(format!("{text}\n"))
    }
}

/// The images of the Deployments of the namespace, by the last part of their names.
async fn services(cluster: &Cluster) -> Result<Versions, Error> {
    let api = builtin::namespaced::<Deployment>(&cluster.client, &cluster.namespace);
    let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux"));
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

    #[test]
    fn tags_that_are_numbers_stay_texts() {
        let versions =
            || vec![("weir".to_owned(), "v1.0.0".to_owned()), ("app".to_owned(), "2.10".to_owned())];
        let version = |output: &str| Version { client: false, output: output.to_owned() };
        assert_eq!(version("yaml").render(versions()).unwrap(), "weir: v1.0.0\napp: \"2.10\"\n");
        let json = "{\n  \"app\": \"2.10\",\n  \"weir\": \"v1.0.0\"\n}\n";
        assert_eq!(version("json").render(versions()).unwrap(), json);
    }

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
