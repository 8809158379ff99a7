//! Manifests applied to a cluster in two stages: what others need first, then the rest (CLI-INS04).

use futures::future::try_join_all;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use serde_json::Value;
use weir_ssa::{Mapper, MappingError};

use crate::builtin;
use crate::cluster::{Cluster, FIELD_MANAGER};
use crate::error::Error;
use crate::output::manifest::text;

/// Kinds of the first stage.
const FIRST: [&str; 3] = ["CustomResourceDefinition", "Namespace", "ClusterRole"];

/// Applies manifests and shows a line for each: created, configured or unchanged.
pub(crate) async fn apply(cluster: &Cluster, objects: &[Value], show: fn(&str)) -> Result<(), Error> {
    let is_first = |object: &&Value| FIRST.contains(&text(object, "/kind"));
    let mapper = Mapper::new(cluster.client.clone());
    for object in objects.iter().filter(is_first) {
        apply_one(cluster, &mapper, object, show).await?;
    }
    let definitions = objects.iter().filter(|object| text(object, "/kind") == "CustomResourceDefinition");
    try_join_all(definitions.map(|definition| established(cluster, definition))).await?;
    for object in objects.iter().filter(|object| !is_first(object)) {
        apply_one(cluster, &mapper, object, show).await?;
    }
    Ok(())
}

async fn apply_one(cluster: &Cluster, mapper: &Mapper, object: &Value, show: fn(&str)) -> Result<(), Error> {
    let (api, name) = (api_of(cluster, mapper, object).await?, text(object, "/metadata/name").to_owned());
    let before = cluster.in_time(api.get_metadata_opt(&name)).await??;
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let after = cluster.in_time(api.patch(&name, &params, &Patch::Apply(object))).await??;
    let action = match before.map(|object| object.metadata.resource_version) {
        None => "created",
        Some(version) if version == after.metadata.resource_version => "unchanged",
        Some(_) => "configured",
    };
    let namespace = text(object, "/metadata/namespace");
    let place = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
    show(&format!("{}/{place} {action}", text(object, "/kind")));
    Ok(())
}

async fn established(cluster: &Cluster, definition: &Value) -> Result<(), Error> {
    let api = Api::all(cluster.client.clone());
    let name = text(definition, "/metadata/name");
    let waited = await_condition(api, name, conditions::is_crd_established());
    let waited = cluster.in_time(waited).await?;
    waited.map(drop).map_err(|error| Error::Api(error.to_string()))
}

/// The requests for objects of a manifest's kind. The API server knows its plural and its scope; a moment after a definition was
/// applied it does not yet, and both are guessed.
async fn api_of(cluster: &Cluster, mapper: &Mapper, object: &Value) -> Result<Api<DynamicObject>, Error> {
    let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let (resource, is_namespaced) = match cluster.in_time(mapper.mapping(api_version, kind)).await? {
        Ok(mapping) => (mapping.resource.clone(), mapping.is_namespaced),
        Err(MappingError::NoMatch { .. }) => (builtin::resource(api_version, kind), namespace.is_some()),
        Err(error) => return Err(Error::Api(error.to_string())),
    };
    let client = cluster.client.clone();
    match (is_namespaced, namespace) {
        (true, Some(namespace)) => Ok(Api::namespaced_with(client, namespace, &resource)),
        (true, None) => {
            let place = format!("{kind}/{}", text(object, "/metadata/name"));
            Err(Error::Api(format!("{place}: an empty namespace may not be set during creation")))
        }
        (false, _) => Ok(Api::all_with(client, &resource)),
    }
}
