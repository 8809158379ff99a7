//! The Kustomization whose spec counts, and its variables (CLI-BLD01).

use std::path::Path;

use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};
use weir_api::Kustomization;
use weir_kustomize::MAX_FILE;
use weir_kustomize_controller::variables::{self, Variables};
use weir_yaml::{YamlError, read_documents};

use super::values::Values;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::input;
use crate::kind::Kind;

/// The places in which Kustomizations are looked for.
pub(crate) struct Specs<'a> {
    /// Nothing in a dry run.
    pub(super) cluster: Option<Cluster>,
    /// `--kustomization-file`.
    pub(super) file: Option<&'a Path>,
    /// ConfigMaps and Secrets that are not as they are in the cluster.
    pub(crate) values: Values,
}

impl Specs<'static> {
    /// Those of a cluster alone.
    pub(crate) fn of_cluster(cluster: Cluster) -> Self {
        Self { cluster: Some(cluster), file: None, values: Values::default() }
    }
}

impl Specs<'_> {
    /// Returns the wanted Kustomization. With a cluster it has to exist there, even if the file decides the content:
    /// something that exists is built.
    pub(crate) async fn of(&self, name: &str, namespace: &str) -> Result<Kustomization, Error> {
        let live = match &self.cluster {
            Some(cluster) => {
                let found = cluster.in_namespace(namespace).get(Kind::named("Kustomization")?, name).await;
                let found = found.map_err(|error| match error {
                    Error::Deadline => error,
                    error => Error::KustomizationObject(error.to_string()),
                });
                let found = found?.try_parse().map_err(|error| Error::KustomizationObject(error.to_string()));
                Some(found?)
            }
            None => None,
        };
        self.chosen(live, name, namespace)
    }

    /// As [`Specs::of`], but the Kustomization of the file need not exist in the cluster.
    pub(crate) async fn of_new(&self, name: &str, namespace: &str) -> Result<Kustomization, Error> {
        let live = match &self.cluster {
            Some(cluster) => {
                cluster.in_time(api(cluster, namespace).get_opt(name)).await?.map_err(unknown)?
            }
            None => None,
        };
        self.chosen(live, name, namespace)
    }

    /// The spec of the file goes before that of the cluster; the status is always the cluster's.
    fn chosen(
        &self,
        live: Option<Kustomization>,
        name: &str,
        namespace: &str,
    ) -> Result<Kustomization, Error> {
        match (self.file, live) {
            (Some(file), live) => {
                let found = of_file(file, name, namespace)?;
                Ok(Kustomization { status: live.and_then(|live| live.status), ..found })
            }
            (None, Some(live)) => Ok(live),
            (None, None) => Err(Error::DryRunWithoutFile),
        }
    }

    /// As it is in the cluster, or as it was built when it is not there yet.
    pub(crate) async fn of_nested(&self, built: Kustomization) -> Result<Kustomization, Error> {
        let Some(cluster) = &self.cluster else { return Ok(built) };
        let namespace = built.namespace().unwrap_or_default();
        let named = cluster.in_namespace(&namespace).check_namespace();
        named.map_err(|error| Error::KustomizationObject(error.to_string()))?;
        let live = cluster.in_time(api(cluster, &namespace).get_opt(&built.name_any())).await?;
        Ok(live.map_err(unknown)?.unwrap_or(built))
    }

    /// The variables of a Kustomization; those of ConfigMaps and Secrets only with a cluster.
    pub(crate) async fn variables(
        &self,
        kustomization: &Kustomization,
    ) -> Result<Option<Result<Variables, variables::Error>>, Error> {
        Ok(match &self.cluster {
            Some(cluster) => {
                let known = |reference: &_| self.values.named(kustomization, reference);
                let loading = Variables::load_over(&cluster.client, kustomization, known);
                cluster.in_time(loading).await?.transpose()
            }
            None => kustomization.spec.post_build.as_ref().map(Variables::inline),
        })
    }
}

fn api(cluster: &Cluster, namespace: &str) -> Api<Kustomization> {
    Api::namespaced(cluster.client.clone(), namespace)
}

fn unknown(error: kube::Error) -> Error {
    Error::KustomizationObject(Error::from(error).to_string())
}

/// The Kustomization of a name among the documents of a file; one without namespace is meant too.
fn of_file(file: &Path, name: &str, namespace: &str) -> Result<Kustomization, Error> {
    let shown = file.display().to_string();
    // A pipe will do, such as `<(…)` of a shell.
    if file.is_dir() || !file.exists() {
        return Err(Error::KustomizationFile(shown));
    }
    let refused = |reason: String| {
        Error::KustomizationObject(format!("failed to unmarshall kustomization file {shown}: {reason}"))
    };
    for document in documents(file).map_err(refused)? {
        let object = match type_of(&document) {
            "object" => document,
            other => {
                return Err(refused(format!(
                    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {other} into Go value of type v1.Kustomization"
                )));
            }
        };
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let is_meant =
            text("/metadata/name") == name && [namespace, ""].contains(&text("/metadata/namespace"));
        if is_kustomization(&object) && is_meant {
            let mut found = read(object).map_err(|error| refused(error.to_string()))?;
            found.metadata.namespace.get_or_insert_with(|| namespace.to_owned());
            return Ok(found);
        }
    }
    Err(Error::KustomizationObject(format!(
        "failed find kustomization with name '{name}' and namespace '{namespace}' in file '{shown}'"
    )))
}

/// The documents of a file that are not empty.
fn documents(file: &Path) -> Result<Vec<Value>, String> {
    let content = input::bytes(file, MAX_FILE).map_err(|error| error.to_string())?;
    let shown = file.display().to_string();
    let broken = |error: YamlError| format!("error converting YAML to JSON: {error}");
    let nodes = read_documents(&shown, content).map_err(broken)?;
    nodes.iter().map(|node| node.to_json_of_yaml11().map_err(broken)).collect()
}

/// The type of a value, as Go's library calls it.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null => "null",
    }
}

/// The Kustomization that a built object is.
///
/// # Errors
/// It is one, but its fields have other types.
pub(crate) fn kustomization(object: &Value) -> Result<Option<Kustomization>, Error> {
    if !is_kustomization(object) {
        return Ok(None);
    }
    let found = read(object.clone());
    found.map(Some).map_err(|error| Error::KustomizationObject(error.to_string()))
}

/// Reads a Kustomization. Fields that the API server asks for may be missing, as in Flux: a base has only a part of them, and its
/// overlays patch in the rest.
fn read(mut object: Value) -> Result<Kustomization, serde_json::Error> {
    let missing = [
        ("interval", json!("0s")),
        ("prune", json!(false)),
        ("sourceRef", json!({ "kind": "", "name": "" })),
    ];
    if let Some(object) = object.as_object_mut()
        && let Some(spec) = object.entry("spec").or_insert_with(|| json!({})).as_object_mut()
    {
        for (field, value) in missing {
            spec.entry(field).or_insert(value);
        }
    }
    serde_json::from_value(object)
}

fn is_kustomization(object: &Value) -> bool {
    let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split('/').next().unwrap_or_default();
    text("kind") == Kustomization::kind(&()) && group == Kustomization::group(&())
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str =
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: app}\n";
    const NONE: &str = "failed find kustomization with name 'app' and namespace 'apps' in file 'f.yaml'";

    fn found(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.yaml");
        std::fs::write(&path, text).unwrap();
        let place = format!("{}/", folder.path().display());
        match of_file(&path, "app", "apps") {
            Ok(found) => format!("{}/{}", found.namespace().unwrap_or_default(), found.name_any()),
            Err(error) => error.to_string().replace(&place, ""),
        }
    }

    /// CLI-BLD01: others may stand in the file, as in Flux.
    #[rstest::rstest]
    #[case(APP, "apps/app")]
    #[case("# nothing\n---\napiVersion: v1\nkind: ConfigMap\n---\n{}\n---\n@", "apps/app")]
    #[case("@---\n- x\n", "apps/app")]
    #[case("", NONE)]
    #[case("null\n", NONE)]
    #[case("{}\n", NONE)]
    #[case("a: b\n", NONE)]
    fn kustomizations_of_a_file(#[case] text: &str, #[case] expected: &str) {
        assert!(found(&text.replace('@', APP)).ends_with(expected), "{text:?}");
    }

    /// In Flux's words.
    #[rstest::rstest]
    #[case("- a\n", "array")]
    #[case("[]\n", "array")]
    #[case("text\n", "string")]
    #[case("\"x\"\n", "string")]
    #[case("42\n", "number")]
    #[case("a: b\n---\n- x\n", "array")]
    fn documents_that_are_no_objects(#[case] text: &str, #[case] type_: &str) {
        let words = "failed to get kustomization object: failed to unmarshall kustomization file f.yaml: error unmarshaling JSON: \
                     while decoding JSON: json: cannot unmarshal";
        assert_eq!(found(text), format!("{words} {type_} into Go value of type v1.Kustomization"));
    }
}
