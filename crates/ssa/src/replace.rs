//! An object that cannot be changed into what is wanted is deleted and made anew (KS-SSA-51).

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::watch_object;
use tokio::time::timeout;

use crate::Error;
use crate::error::{is_outdated, shown};
use crate::precise::Precise;
use crate::request::Target;

/// How long finalizers may hold up an object that is being replaced. Flux waits as long as its run may take.
const GONE: Duration = Duration::from_secs(300);

/// Deletes an object and waits, by watch, until it is gone.
///
/// # Errors
/// [`Error::Outdated`] if the object is no longer in the state in which it was judged; nothing is deleted then.
pub(crate) async fn delete_and_wait(target: &Target<'_>, judged: &Precise) -> Result<(), Error> {
    let id = target.id;
    match target.delete(judged).await {
        Ok(()) => {}
        Err(error) if is_outdated(&error) => return Err(Error::Outdated { id: id.clone() }),
        Err(error) => return Err(Error::ReplaceDelete { id: id.clone(), message: shown(id, &error) }),
    }
    let waited = timeout(GONE, gone(target, &judged.uid)).await;
    waited.map_err(|_| Error::ReplaceWait {
        id: id.clone(),
        message: format!("still there after {} seconds", GONE.as_secs()),
    })
}

async fn gone(target: &Target<'_>, uid: &str) {
    let (client, resource) = (target.client.clone(), &target.mapping.resource);
    let api: Api<PartialObjectMeta<DynamicObject>> = if target.mapping.is_namespaced {
        Api::namespaced_with(client, &target.id.namespace, resource)
    } else {
        Api::all_with(client, resource)
    };
    let mut states = pin!(watch_object(api, &target.id.name));
    while let Some(state) = states.next().await {
        match state {
            Ok(None) => return,
            // Somebody has made it anew already.
            Ok(Some(found)) if found.metadata.uid.as_deref() != Some(uid) => return,
            Ok(Some(_)) => {}
            // Who may delete but not watch asks again and again.
            Err(_) => {
                if matches!(target.metadata().await, Ok(None)) {
                    return;
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}
