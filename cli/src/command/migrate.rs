//! `weir migrate`: writes all objects in the version in which their kind is stored (CLI-MIG01), so that older versions can go;
//! with `-f`, writes the newest versions into manifests (CLI-MIG02).

mod files;
mod line;

use std::convert::identity;

use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use weir_api::PART_OF_LABEL;

use crate::builtin;
use crate::cluster::{Cluster, FIELD_MANAGER};
use crate::error::Error;
use crate::global::Global;
use crate::kind::text;
use crate::output::progress;

/// Times that an object is written again because somebody else has written it meanwhile.
const MAX_CONFLICTS: usize = 5;

/// The migration.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  # Before an upgrade that no longer serves old versions
  weir migrate

  # See what would change in the manifests of a Git repository
  weir migrate -f . --dry-run

  # Change them
  weir migrate -f .

  # Templates too, without a question
  weir migrate -f . --extensions=.yaml,.yml,.tpl --yes")]
pub(crate) struct Migrate {
    #[command(flatten)]
    files: files::Flags,
}

/// A kind and the version in which it is stored.
struct Stored {
    name: String,
    resource: ApiResource,
    is_namespaced: bool,
    /// Versions in which objects may be stored, by the server's record.
    recorded: Vec<String>,
}

impl Migrate {
    /// Migrates manifests, or the objects of all kinds of an installation.
    pub(crate) async fn run(self, global: &Global) -> Result<(), Error> {
        if let Some(path) = self.files.path() {
            return self.files.run(path);
        }
        let cluster = &global.cluster().await?;
        progress::action("starting migration of custom resources");
        let definitions = builtin::all::<CustomResourceDefinition>(&cluster.client);
        let params = ListParams::default().labels(&format!("{PART_OF_LABEL}=flux"));
        let listed = cluster.each(definitions.resource_url(), params, identity::<DynamicObject>).await?;
        for definition in listed.map_err(|error| Error::from(error).prefixed("failed to list CRDs"))? {
            let name = definition.name_any();
            let failed = || Error::Api(format!("no storage version found for CRD {name}"));
            let stored = Stored::of(&definition).ok_or_else(failed)?;
            let prefix = format!("failed to migrate resources for CRD {name}");
            stored.migrate(cluster).await.map_err(|error| error.prefixed(&prefix))?;
            stored.record(cluster, &definitions).await?;
        }
        progress::success("custom resources migrated successfully");
        Ok(())
    }
}

impl Stored {
    fn of(definition: &DynamicObject) -> Option<Self> {
        let is_stored = |version: &&Value| version.get("storage") == Some(&Value::Bool(true));
        let version =
            builtin::array(definition, "/spec/versions").iter().find(is_stored)?.get("name")?.as_str()?;
        let group = text(definition, "/spec/group");
        let resource = ApiResource {
            api_version: format!("{group}/{version}"),
            group,
            version: version.to_owned(),
            kind: text(definition, "/spec/names/kind"),
            plural: text(definition, "/spec/names/plural"),
        };
        let recorded = builtin::array(definition, "/status/storedVersions").iter();
        Some(Self {
            name: definition.name_any(),
            resource,
            is_namespaced: text(definition, "/spec/scope") == "Namespaced",
            recorded: recorded.filter_map(|version| version.as_str().map(str::to_owned)).collect(),
        })
    }

    async fn migrate(&self, cluster: &Cluster) -> Result<(), Error> {
        let all: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &self.resource);
        let listed =
            cluster.each(all.resource_url(), ListParams::default(), identity::<DynamicObject>).await?;
        let failed = format!("failed to list resources for CRD {}", self.name);
        for object in listed.map_err(|error| Error::from(error).prefixed(&failed))? {
            self.write(cluster, &object).await?;
            let ApiResource { kind, version, .. } = &self.resource;
            let namespace = object.namespace().unwrap_or_default();
            progress::success(&format!(
                "{kind}/{namespace}/{} migrated to version {version}",
                object.name_any()
            ));
        }
        Ok(())
    }

    /// Writes an object as it is; the server stores it in the new version. One that is gone meanwhile is done.
    async fn write(&self, cluster: &Cluster, object: &DynamicObject) -> Result<(), Error> {
        let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
        let api: Api<DynamicObject> = match self.is_namespaced {
            true => Api::namespaced_with(cluster.client.clone(), &namespace, &self.resource),
            false => Api::all_with(cluster.client.clone(), &self.resource),
        };
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let mut object = object.clone();
        for attempt in 0.. {
            let patch = managers(&object, &self.resource.api_version).unwrap_or_else(|| json!({}));
            let patch = Patch::Merge(patch);
            match cluster.in_time(api.patch(&name, &params, &patch)).await? {
                Ok(_) => break,
                Err(kube::Error::Api(status)) if status.code == 404 => break,
                Err(kube::Error::Api(status)) if status.code == 409 && attempt < MAX_CONFLICTS => {
                    match cluster.in_time(api.get_opt(&name)).await?? {
                        Some(found) => object = found,
                        None => break,
                    }
                }
                Err(error) => {
                    let failed = format!(" {}/{namespace}/{name} failed to migrate", self.resource.kind);
                    return Err(Error::from(error).prefixed(&failed));
                }
            }
        }
        Ok(())
    }

    /// Records that no object is stored in another version any more.
    async fn record(&self, cluster: &Cluster, definitions: &Api<DynamicObject>) -> Result<(), Error> {
        let version = &self.resource.version;
        if self.recorded == [version.clone()] {
            return Ok(());
        }
        let status = json!({ "status": { "storedVersions": [version] } });
        let (patch, params) = (Patch::Merge(status), PatchParams::default());
        let patched =
            cluster.in_time(definitions.patch_subresource("status", &self.name, &params, &patch)).await?;
        let failed = format!("failed to update CRD {} status", self.name);
        patched.map_err(|error| Error::from(error).prefixed(&failed))?;
        progress::success(&format!("{} migrated to storage version {version}", self.name));
        Ok(())
    }
}

/// Returns a patch that names the new version in the lists of field managers, where they name others; the server would else
/// refuse applies once the old version is gone.
fn managers(object: &DynamicObject, api_version: &str) -> Option<Value> {
    let managers = object.metadata.managed_fields.as_ref()?;
    if managers.iter().all(|entry| entry.api_version.as_deref().is_none_or(|found| found == api_version)) {
        return None;
    }
    let managers = managers.iter().cloned().map(|mut entry| {
        entry.api_version = Some(api_version.to_owned());
        entry
    });
    let managers: Vec<_> = managers.collect();
    Some(json!({ "metadata": { "managedFields": managers, "resourceVersion": object.resource_version() } }))
}
