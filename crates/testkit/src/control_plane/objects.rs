use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::core::TypeMeta;
use kube::discovery::{ApiCapabilities, Scope, pinned_kind};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::ControlPlane;
use crate::{Error, eventually, wait_for};

/// The field manager of what tests apply, the same as in the conformance rig.
const FIELD_MANAGER: &str = "user";

/// A CRD is established within milliseconds of its creation; the rest is for a busy machine.
const ESTABLISHED_DEADLINE: Duration = Duration::from_secs(30);

impl ControlPlane {
    /// Applies every CRD file of a folder and waits until the kinds are served. A second call is free.
    ///
    /// # Errors
    /// When a file cannot be read or the API server refuses it.
    pub async fn apply_crds(&self, folder: &Path) -> Result<(), Error> {
        // Held while applying: whoever comes second needs the kinds as well.
        let mut applied = self.applied_crds.lock().await;
        if applied.contains(folder) {
            return Ok(());
        }
        let client = self.client()?;
        let mut names = Vec::new();
        for path in yaml_files(folder)? {
            let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
            for document in documents(&text)? {
                if document.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition") {
                    names.push(apply(&client, "default", document).await?.name_any());
                }
            }
        }
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        for name in names {
            let crd =
                wait_for(&api, &name, "CRD to be established", ESTABLISHED_DEADLINE, is_established).await?;
            for served in crd.iter().flat_map(served_kinds) {
                wait_until_listed(&client, &served).await?;
            }
        }
        applied.insert(folder.to_owned());
        Ok(())
    }

    /// Makes a namespace; one that exists is fine.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn namespace(&self, name: &str) -> Result<(), Error> {
        self.apply("", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
            .await
            .map(drop)
    }

    /// Makes a namespace whose name starts with `prefix` and that no other test has.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn unique_namespace(&self, prefix: &str) -> Result<String, Error> {
        let api: Api<Namespace> = Api::all(self.client()?);
        let namespace = Namespace {
            metadata: kube::api::ObjectMeta {
                generate_name: Some(format!("{prefix}-")),
                ..Default::default()
            },
            ..Default::default()
        };
        let made =
            api.create(&Default::default(), &namespace).await.map_err(Error::kube("make a namespace"))?;
        Ok(made.name_any())
    }

    /// Applies one object server-side; `namespace` is for namespaced objects that name none.
    ///
    /// # Errors
    /// When the kind is unknown or the API server refuses.
    pub async fn apply(&self, namespace: &str, object: Value) -> Result<DynamicObject, Error> {
        apply(&self.client()?, namespace, object).await
    }

    /// Applies the documents of a YAML text server-side, in order.
    ///
    /// # Errors
    /// When the text is no YAML, a kind is unknown, or the API server refuses.
    pub async fn apply_yaml(&self, namespace: &str, text: &str) -> Result<Vec<DynamicObject>, Error> {
        let client = self.client()?;
        let mut applied = Vec::new();
        for document in documents(text)? {
            applied.push(apply(&client, namespace, document).await?);
        }
        Ok(applied)
    }

    /// Deletes the objects of a YAML text without waiting for their end; those that do not exist are fine.
    ///
    /// # Errors
    /// When the text is no YAML, a kind is unknown, or the API server refuses.
    pub async fn delete_yaml(&self, namespace: &str, text: &str) -> Result<(), Error> {
        let client = self.client()?;
        for document in documents(text)? {
            let object = decode(document)?;
            let api = api_of(&client, &object, namespace).await?;
            let name = object.name_any();
            match api.delete(&name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                other => drop(other.map_err(Error::kube(format!("delete {name}")))?),
            }
        }
        Ok(())
    }

    /// Objects of a kind, found by discovery: `plane.api("apps/v1", "Deployment", "default")`.
    ///
    /// # Errors
    /// When the API server serves no such kind.
    pub async fn api(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
    ) -> Result<Api<DynamicObject>, Error> {
        let client = self.client()?;
        let (resource, capabilities) = discover(&client, api_version, kind).await?;
        Ok(scoped(client, &resource, &capabilities, Some(namespace)))
    }

    pub(super) async fn wait_for_default_account(&mut self, deadline: Duration) -> Result<(), Error> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client()?, "default");
        let manager = &mut self.manager;
        eventually("the controller-manager to make the default ServiceAccount", deadline, || {
            let (running, api) = (manager.check_running(), api.clone());
            async move {
                match running {
                    Err(error) => Some(Err(error)),
                    Ok(()) => api.get("default").await.ok().map(|_| Ok(())),
                }
            }
        })
        .await?
    }
}

fn yaml_files(folder: &Path) -> Result<Vec<std::path::PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::file(folder))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "yaml" || end == "yml"));
    files.sort();
    Ok(files)
}

/// Reads the documents of a YAML text; empty ones are left out.
///
/// # Errors
/// When the text is no YAML.
pub fn documents(text: &str) -> Result<Vec<Value>, Error> {
    let mut documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| Error::Yaml(error.to_string()))?;
    documents.retain(|document| !document.is_null());
    Ok(documents)
}

fn decode(document: Value) -> Result<DynamicObject, Error> {
    let shown = document.to_string();
    serde_json::from_value(document).map_err(|error| Error::NotAnObject(format!("{error}: {shown}")))
}

async fn discover(
    client: &Client,
    api_version: &str,
    kind: &str,
) -> Result<(ApiResource, ApiCapabilities), Error> {
    let types = TypeMeta { api_version: api_version.into(), kind: kind.into() };
    let unknown = || Error::UnknownKind { api_version: api_version.into(), kind: kind.into() };
    let kind = GroupVersionKind::try_from(&types).map_err(|_| unknown())?;
    pinned_kind(client, &kind).await.map_err(|_| unknown())
}

fn scoped(
    client: Client,
    resource: &ApiResource,
    capabilities: &ApiCapabilities,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    match (&capabilities.scope, namespace) {
        (Scope::Namespaced, Some(namespace)) => Api::namespaced_with(client, namespace, resource),
        _ => Api::all_with(client, resource),
    }
}

async fn api_of(
    client: &Client,
    object: &DynamicObject,
    namespace: &str,
) -> Result<Api<DynamicObject>, Error> {
    let types = object.types.clone().unwrap_or_default();
    let (resource, capabilities) = discover(client, &types.api_version, &types.kind).await?;
    let namespace = object.metadata.namespace.as_deref().unwrap_or(namespace);
    Ok(scoped(client.clone(), &resource, &capabilities, Some(namespace)))
}

async fn apply(client: &Client, namespace: &str, object: Value) -> Result<DynamicObject, Error> {
    let object = decode(object)?;
    let api = api_of(client, &object, namespace).await?;
    let name = object.name_any();
    let kind = object.types.as_ref().map(|types| types.kind.clone()).unwrap_or_default();
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &params, &Patch::Apply(&object))
        .await
        .map_err(Error::kube(format!("apply {kind} {name}")))
}

fn is_established(crd: Option<&CustomResourceDefinition>) -> bool {
    let conditions = crd.and_then(|crd| crd.status.as_ref()).and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|list| list.iter().any(|c| c.type_ == "Established" && c.status == "True"))
}

fn served_kinds(crd: &CustomResourceDefinition) -> Vec<TypeMeta> {
    let kind = &crd.spec.names.kind;
    let versions = crd.spec.versions.iter().filter(|version| version.served);
    versions
        .map(|version| TypeMeta {
            api_version: format!("{}/{}", crd.spec.group, version.name),
            kind: kind.clone(),
        })
        .collect()
}

/// Discovery follows a CRD with a delay of its own.
async fn wait_until_listed(client: &Client, types: &TypeMeta) -> Result<(), Error> {
    let what = format!("discovery of {} {}", types.api_version, types.kind);
    eventually(&what, ESTABLISHED_DEADLINE, async || {
        discover(client, &types.api_version, &types.kind).await.ok().map(drop)
    })
    .await
}
