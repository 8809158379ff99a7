//! An object that cannot be changed into what is wanted is deleted and made anew (KS-SSA-51).

use std::pin::pin;

use futures::StreamExt;
use kube::api::{Api, DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::watch_object;
use tokio::time::timeout;

use crate::Error;
use crate::apply::{Applier, Looks, PATIENCE};
use crate::error::{is_outdated, shown};
use crate::precise::Precise;
use crate::request::Target;

impl Applier<'_> {
    /// Deletes an object and waits, by watch, until it is gone. An object that finalizers keep is left to a later apply. Once it is deleted,
    /// this apply is no longer called off, because it has to make the object anew.
    ///
    /// # Errors
    /// [`Error::Outdated`] if the object is no longer in the state in which it was judged; nothing is deleted then.
    pub(crate) async fn delete_and_wait(&self, target: &Target<'_>, judged: &Precise) -> Result<(), Error> {
        let id = target.id;
        match target.delete(judged).await {
            Ok(()) => self.wrote(),
            Err(error) if is_outdated(&error) => return Err(Error::Outdated { id: id.clone() }),
            Err(error) => return Err(Error::ReplaceDelete { id: id.clone(), message: shown(id, &error) }),
        }
        match timeout(PATIENCE, self.gone(target, &judged.uid)).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Ok(Ok(false)) | Err(_) => Err(Error::ReplaceWait {
                id: id.clone(),
                message: format!("still there after {} seconds", PATIENCE.as_secs()),
            }),
        }
    }

    async fn gone(&self, target: &Target<'_>, uid: &str) -> Result<bool, Error> {
        let (client, resource) = (target.client.clone(), &target.mapping.resource);
        let api: Api<PartialObjectMeta<DynamicObject>> = if target.mapping.is_namespaced {
            Api::namespaced_with(client, &target.id.namespace, resource)
        } else {
            Api::all_with(client, resource)
        };
        let mut states = pin!(watch_object(api, &target.id.name));
        let mut looks = Looks::default();
        while let Some(state) = states.next().await {
            match state {
                Ok(None) => return Ok(true),
                // Somebody has made it anew already.
                Ok(Some(found)) if found.metadata.uid.as_deref() != Some(uid) => return Ok(true),
                Ok(Some(_)) => {}
                // An account that may delete but not watch asks again and again.
                Err(_) => {
                    if matches!(target.metadata().await, Ok(None)) {
                        return Ok(true);
                    }
                    if !self.look_again(&mut looks).await? {
                        break;
                    }
                }
            }
        }
        Ok(false)
    }
}
