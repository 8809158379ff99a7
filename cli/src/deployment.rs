//! Deployments of services: their state, and a wait for it.

use futures::future::try_join_all;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DynamicObject;
use kube::runtime::wait::await_condition;
use weir_kstatus::{Assessment, Status, assess};

use crate::builtin;
use crate::cluster::{Cluster, LAST_LOOK};
use crate::error::Error;
use crate::output::{manifest, progress};

/// Judges a Deployment. It gets its kind first, which objects of a list lack: an object without a kind and without conditions counts as
/// ready.
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

/// State of a Deployment at the end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    NotReady,
    NotFound,
}

/// Waits for Deployments, for all of them at once, and prints a line about each, by name. Returns true when all run as they should.
pub(crate) async fn all_rolled_out(cluster: &Cluster, names: &[&str]) -> Result<bool, Error> {
    let mut names = names.to_vec();
    names.sort_unstable();
    let states = try_join_all(names.iter().map(|name| state(cluster, name))).await?;
    for (name, state) in names.iter().zip(&states) {
        match state {
            State::Ready => progress::success(&format!("{name}: deployment ready")),
            State::NotReady => progress::failure(&format!("{name}: deployment not ready")),
            State::NotFound => progress::failure(&format!("{name}: deployment not found")),
        }
    }
    Ok(states.iter().all(|state| *state == State::Ready))
}

/// Waits for a Deployment until the deadline, behind which it is looked at once more.
async fn state(cluster: &Cluster, name: &str) -> Result<State, Error> {
    match rolled_out(cluster, name).await {
        Ok(()) => return Ok(State::Ready),
        Err(Error::Deadline) => {}
        Err(error) => return Err(error),
    }
    let api = builtin::namespaced::<Deployment>(&cluster.client, &cluster.namespace);
    Ok(match tokio::time::timeout(LAST_LOOK, api.get_opt(name)).await {
        Ok(Ok(None)) => State::NotFound,
        Ok(Ok(Some(deployment))) if assessed(&deployment).status == Status::Current => State::Ready,
        _ => State::NotReady,
    })
}
