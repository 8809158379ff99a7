//! `weir trace`: who manages an object, and from which source and revision it comes (CLI-TRC01, CLI-TRC02).

mod owner;
mod report;

use clap::Args;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject};

use self::owner::Owners;
use crate::cluster::Cluster;
use crate::discovery::{Discovery, Resource};
use crate::error::Error;
use crate::global::Global;
use crate::output::{print, progress};

/// Message for a command line without an object.
const USAGE: &str = "either `<resource>/<name>` or `<resource> <name>` is required as an argument";

/// The objects to trace.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Source and revision of a Deployment
  weir trace -n apps deployment podinfo

  # Objects of several kinds
  weir trace -n apps pod/podinfo-0 cm/settings

  # Kind and version as flags
  weir trace podinfo --kind HelmRelease --api-version helm.toolkit.fluxcd.io/v2 -n apps")]
pub(crate) struct Trace {
    /// A resource and names, or resource/name pairs.
    #[arg(value_name = "RESOURCE NAME")]
    objects: Vec<String>,
    /// Kind of the object, if the argument is its name alone.
    #[arg(long)]
    kind: Option<String>,
    /// Version of the object's API, if the argument is its name alone.
    #[arg(long)]
    api_version: Option<String>,
}

impl Trace {
    /// Prints a report for each object. An object that is not managed is told, and is no failure.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        let cluster = &global.cluster().await?;
        let objects = match self.kind.is_some() || self.api_version.is_some() {
            true => vec![self.by_kind(cluster).await?],
            false => self.by_resource(cluster).await?,
        };
        let owners = Owners::new(cluster);
        for (index, (kind, object)) in objects.iter().enumerate() {
            if index > 0 {
                print("---\n")?;
            }
            match report::of(cluster, &owners, kind, object).await {
                Ok(report) => print(&report)?,
                Err(error @ (Error::Deadline | Error::Unreachable(_))) => return Err(error),
                Err(error) => {
                    let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
                    progress::detail(&format!(
                        "failed to trace {kind}/{name} in namespace {namespace}: {error}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The object of `--kind` and `--api-version`; its kind is shown as it was written.
    async fn by_kind(&self, cluster: &Cluster) -> Result<(String, DynamicObject), Error> {
        let missing = |what: &str| Error::Flags(format!("object {what}"));
        let name = self.objects.first().ok_or_else(|| missing("name is required"))?;
        let kind = self.kind.as_deref().ok_or_else(|| missing("kind is required (--kind)"))?;
        let api_version = self.api_version.as_deref();
        let api_version = api_version.ok_or_else(|| {
            missing(&format!("apiVersion is required (--api-version)\n  try: weir trace {kind}/{name}"))
        })?;
        let failed = |error: Error| error.prefixed("failed to find object");
        let resource = Discovery::ask(cluster).await?.kind(api_version, kind).map_err(failed)?;
        Ok((kind.to_owned(), get(cluster, &resource, name).await.map_err(failed)?))
    }

    async fn by_resource(&self, cluster: &Cluster) -> Result<Vec<(String, DynamicObject)>, Error> {
        let wanted = pairs(&self.objects)?;
        let discovery = Discovery::ask(cluster).await?;
        let resources = wanted.into_iter().map(|(word, name)| Ok((discovery.resource(word)?, name)));
        let resources = resources.collect::<Result<Vec<_>, Error>>()?;
        let reads = resources.into_iter().map(|(resource, name)| async move {
            match get(cluster, &resource, name).await {
                Err(missing) if resource.is_namespaced => {
                    Err(without_namespace(cluster).await.unwrap_or(missing))
                }
                read => read.map(|object| (resource.api.kind, object)),
            }
        });
        let (mut found, mut failures) = (Vec::new(), Vec::new());
        for read in join_all(reads).await {
            match read {
                Ok(object) => found.push(object),
                Err(error) => failures.push(error),
            }
        }
        match failures.pop() {
            None => Ok(found),
            // Flux puts this letter before the message.
            Some(only) if failures.is_empty() => Err(only.prefixed("x")),
            Some(last) => Err(together(&failures, &last).prefixed("x")),
        }
    }
}

/// Returns several failures as one, each text once, as Go does.
fn together(failures: &[Error], last: &Error) -> Error {
    let mut texts: Vec<String> = Vec::new();
    for text in failures.iter().chain([last]).map(Error::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [text] => Error::Api(text.clone()),
        _ => Error::Api(format!("[{}]", texts.join(", "))),
    }
}

async fn get(cluster: &Cluster, resource: &Resource, name: &str) -> Result<DynamicObject, Error> {
    Ok(cluster.in_time(resource.objects(cluster).get(name)).await??)
}

/// Returns the API server's words about the namespace of the request, when it is not there: then nothing is.
async fn without_namespace(cluster: &Cluster) -> Option<Error> {
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    let read = cluster.in_time(namespaces.get_metadata(&cluster.namespace)).await.ok()?;
    read.err()
        .filter(|error| matches!(error, kube::Error::Api(status) if status.is_not_found()))
        .map(Error::from)
}

/// Returns the pairs of a resource's word and a name: `pod/a cm/b`, or `pod,cm a b`.
fn pairs(arguments: &[String]) -> Result<Vec<(&str, &str)>, Error> {
    if !arguments.iter().any(|argument| argument.contains('/')) {
        let (words, names) = arguments.split_first().ok_or_else(|| refused(USAGE))?;
        if names.is_empty() {
            return Err(refused("resource(s) were provided, but no name was specified"));
        }
        let words = words.split(',');
        return Ok(words.flat_map(|word| names.iter().map(move |name| (word, name.as_str()))).collect());
    }
    arguments.iter().map(|argument| pair(argument)).collect()
}

fn pair(argument: &str) -> Result<(&str, &str), Error> {
    match argument.split_once('/') {
        None => Err(refused(
            "there is no need to specify a resource type as a separate argument when passing arguments in \
             resource/name form (e.g. 'weir trace resource/<resource_name>' instead of 'weir trace resource \
             resource/<resource_name>'",
        )),
        Some((_, name)) if name.contains('/') => {
            Err(refused("arguments in resource/name form may not have more than one slash"))
        }
        Some((word, name)) if word.is_empty() || name.is_empty() => {
            Err(refused("arguments in resource/name form must have a single resource and name"))
        }
        Some(pair) => Ok(pair),
    }
}

fn refused(message: &str) -> Error {
    Error::Flags(message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("pod a", Some(&[("pod", "a")][..]))]
    #[case("pod,cm a b", Some(&[("pod", "a"), ("pod", "b"), ("cm", "a"), ("cm", "b")][..]))]
    #[case("pod/a cm/b", Some(&[("pod", "a"), ("cm", "b")][..]))]
    #[case("", None)]
    #[case("pod", None)]
    #[case("pod pod/a", None)]
    #[case("pod/a/b", None)]
    #[case("pod/", None)]
    fn objects_are_named_in_two_ways(#[case] line: &str, #[case] expected: Option<&[(&str, &str)]>) {
        let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(pairs(&arguments).ok().as_deref(), expected);
    }
}
