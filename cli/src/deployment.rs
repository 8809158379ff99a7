//! Deployments of services: their state, and a wait for it.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DynamicObject;
use kube::runtime::wait::await_condition;
use weir_kstatus::{Assessment, Status, assess};

use crate::builtin;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::output::manifest;

/// Judges a Deployment. Objects of a list do not say their kind, without which every object without conditions would be well.
pub(crate) fn assessed(deployment: &DynamicObject) -> Assessment {
    let mut object = match serde_json::to_value(deployment) {
        Ok(object) => object,
        Err(error) => return Assessment::unknown(error.to_string()),
    };
    manifest::set(&mut object, "/apiVersion", "apps/v1");
    manifest::set(&mut object, "/kind", "Deployment");
    assess(&object, jiff::Timestamp::now())
}

/// Waits until a Deployment runs as it should.
pub(crate) async fn rolled_out(cluster: &Cluster, name: &str) -> Result<(), Error> {
    let is_current = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| assessed(object).status == Status::Current)
    };
    let api = builtin::namespaced::<Deployment>(&cluster.client, &cluster.namespace);
    let waited = cluster.in_time(await_condition(api, name, is_current)).await?;
    waited.map(drop).map_err(|error| Error::Api(error.to_string()))
}
