//! `weir export` (CLI-EXP01).

use clap::{ArgMatches, Args, Command, FromArgMatches};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Selection};
use crate::error::Error;
use crate::global::Global;
use crate::kind::{Group, Kind, text};
use crate::output::{manifest, print};
use crate::verb::{Target, Verb, is_on};

/// The objects to print.
#[derive(Debug)]
pub(crate) struct Export {
    target: Target,
    name: Option<String>,
    flags: Flags,
    with_credentials: bool,
}

#[derive(Args, Debug)]
struct Name {
    /// Name of the object.
    name: Option<String>,
}

#[derive(Args, Debug)]
struct Flags {
    /// All objects of the namespace.
    #[arg(long)]
    all: bool,
}

#[derive(Args, Debug)]
struct WithCredentials {
    /// Print the Secret of each source, too.
    #[arg(long)]
    with_credentials: bool,
}

impl Verb for Export {
    const WORD: &'static str = "export";
    const EXAMPLES: &'static str = "  # A Kustomization, as it would stand in Git
  weir export kustomization podinfo

  # All Git sources of the namespace, with the Secrets that they name
  weir export source git --all --with-credentials > sources.yaml";

    fn about(target: Target) -> String {
        match target {
            Target::Kind(kind) => format!("Print {} objects as YAML", kind.name),
            Target::Group(group) => format!("Print {} as YAML", group.about()),
            Target::All => "Print everything as YAML".to_owned(),
        }
    }

    fn examples(target: Target, command: &str) -> String {
        let noun = target.noun();
        format!(
            "  # Print one {noun}\n  {command} podinfo\n\n  # All of the namespace, into a file\n  {command} --all > objects.yaml"
        )
    }

    fn common_flags(group: Option<Group>, command: Command) -> Command {
        match group {
            None => Flags::augment_args(command),
            Some(Group::Source) => WithCredentials::augment_args(command),
            Some(_) => command,
        }
    }

    fn arguments(_: Target, command: Command) -> Command {
        Name::augment_args(command)
    }

    fn read(target: Target, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let with_credentials = is_on(matches, "with_credentials");
        let Name { name } = Name::from_arg_matches(matches)?;
        Ok(Self { target, name, flags: Flags::from_arg_matches(matches)?, with_credentials })
    }
}

impl Export {
    /// Prints the objects.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        for kind in self.target.kinds() {
            if !self.flags.all && self.name.is_none() {
                return Err(Error::Flags("name is required".to_owned()));
            }
            let cluster = &global.cluster().await?;
            let objects = match &self.name {
                Some(name) if !self.flags.all => vec![cluster.get(kind, name).await?],
                _ => cluster.list(kind, &Selection::default()).await?,
            };
            if objects.is_empty() {
                return Err(Error::NothingToExport(cluster.namespace.clone()));
            }
            for object in objects {
                let secret = text(&object, "/spec/secretRef/name");
                print(&manifest::document(&exported(kind, object)?)?)?;
                if self.with_credentials && !secret.is_empty() {
                    print(&manifest::document(&credentials(cluster, &secret).await?)?)?;
                }
            }
        }
        Ok(())
    }
}

/// Fields that say nothing when they are empty, and that Flux leaves out then.
const LEFT_OUT_WHEN_EMPTY: [(&str, &[&str]); 6] = [
    ("/spec", &OF_SPEC),
    ("/spec/ref", &["branch", "commit", "digest", "name", "semver", "semverFilter", "tag"]),
    ("/spec/sourceRef", &["apiVersion", "namespace"]),
    ("/spec/images", &["digest", "newName", "newTag"]),
    ("/spec/dependsOn", &["namespace", "readyExpr"]),
    ("/spec/healthChecks", &["apiVersion", "namespace"]),
];

const OF_SPEC: [&str; 8] = [
    "eventSeverity",
    "path",
    "prefix",
    "region",
    "resourceFilter",
    "serviceAccountName",
    "summary",
    "version",
];

fn leave_out_empty(object: &mut Value) {
    for (place, names) in LEFT_OUT_WHEN_EMPTY {
        let found = match object.pointer_mut(place) {
            Some(Value::Array(items)) => items.iter_mut().collect(),
            found => Vec::from_iter(found),
        };
        for fields in found.into_iter().filter_map(Value::as_object_mut) {
            fields.retain(|name, value| *value != "" || !names.contains(&name.as_str()));
        }
    }
}

/// An object as its manifest would be. One that the API's types cannot read is printed as the server sent it.
fn exported(kind: &Kind, object: DynamicObject) -> Result<Value, Error> {
    let mut value = serde_json::to_value(object).map_err(std::io::Error::from)?;
    manifest::set(&mut value, "/apiVersion", format!("{}/{}", kind.group, kind.version));
    manifest::set(&mut value, "/kind", kind.name);
    manifest::strip(&mut value);
    let mut value = (kind.normalized)(value.clone()).unwrap_or(value);
    manifest::strip(&mut value);
    leave_out_empty(&mut value);
    Ok(value)
}

async fn credentials(cluster: &Cluster, name: &str) -> Result<Value, Error> {
    let api: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let got = cluster.in_time(api.get(name)).await?.map_err(Error::from);
    let failed = format!("failed to retrieve secret {name}, error");
    let secret = got.map_err(|error| error.prefixed(&failed))?;
    let mut exported = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name, "namespace": cluster.namespace },
        "type": secret.type_.unwrap_or_default(),
    });
    if let Some(data) = secret.data.filter(|data| !data.is_empty()) {
        manifest::set(&mut exported, "/data", json!(data));
    }
    Ok(exported)
}
