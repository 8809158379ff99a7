//! Deletion of what is no longer wanted (KS-GC-1..7, KS-GC-24).

use std::collections::HashSet;
use std::sync::Arc;

use futures::future::join_all;
use kube::api::DynamicObject;

use crate::error::{is_forbidden, is_outdated, is_unserved, shown};
use crate::policy::may_prune;
use crate::precise::Precise;
use crate::probe::MAX_FINDS;
use crate::request::Target;
use crate::{
    Action, Change, ChangeSet, Conflict, Entry, Error, Mapping, MappingError, ObjectId, Owner, Session, order,
};

/// Times that an object is judged anew because it has changed between the judgement and its deletion. The next run tries
/// again.
const MAX_JUDGEMENTS: usize = 5;

/// Deletions of one prune in flight: as many as objects that are applied at once by default.
const AT_ONCE: usize = 4;

enum Judgement {
    /// Delete it there, if it is still in this state.
    Delete(Arc<Mapping>, Precise),
    /// Leave it, and call that so.
    Leave(Action),
}

/// An object that could not be read.
enum Unread {
    /// The cluster did not say where objects of its kind are.
    Kind(MappingError),
    /// The request for the object failed.
    Object(kube::Error),
}

impl Unread {
    /// Returns the error of an object.
    fn of(&self, id: &ObjectId) -> Error {
        match self {
            Self::Kind(error) => Error::Query { id: id.clone(), message: error.to_string() },
            Self::Object(error) => Error::query(id, error),
        }
    }
}

/// The rest of an object that was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// Nothing: neither it nor, maybe, its kind is there.
    Gone,
    /// It is there, or the server does not say.
    Left,
    /// The session may not see it.
    Hidden,
}

/// The result of a prune.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Every object, in the order in which they were looked at.
    pub changes: ChangeSet,
    /// Errors of objects that could not be deleted.
    pub errors: Vec<Error>,
}

impl Pruned {
    /// Adds what came of one object.
    fn add(&mut self, entry: &Entry, result: Result<Action, Error>) {
        let action = result.unwrap_or_else(|error| {
            self.errors.push(error);
            Action::Unknown
        });
        let (id, version) = (entry.id.clone(), entry.version.clone());
        self.changes.0.push(Change { id, version, action, conflict: Conflict::default() });
    }

    /// The error text, if any object could not be deleted (KS-GC-4).
    pub fn failure(&self) -> Option<String> {
        if self.errors.is_empty() {
            return None;
        }
        let errors: String = self.errors.iter().map(|error| format!("{error};")).collect();
        Some(format!("delete failed, errors: {errors}"))
    }

    /// The entries that are to be tried again: those that were neither deleted nor left alone on purpose (KS-GC-5).
    pub fn unsettled(&self, tried: &[Entry]) -> Vec<Entry> {
        let is_settled = |change: &&Change| matches!(change.action, Action::Deleted | Action::Skipped);
        let settled: HashSet<_> = self.changes.0.iter().filter(is_settled).map(|change| &change.id).collect();
        tried.iter().filter(|entry| !settled.contains(&entry.id)).cloned().collect()
    }
}

impl Session {
    /// Deletes the owner's objects, in the reverse order of their apply; those that do not need each other at once. All are attempted.
    pub async fn prune(&self, owner: &Owner, entries: &[Entry]) -> Pruned {
        let mut entries: Vec<&Entry> = entries.iter().collect();
        entries.sort_by(|a, b| order::key(&b.id).cmp(&order::key(&a.id)));
        let mut pruned = Pruned::default();
        let waves = entries.chunk_by(|a, b| order::wave(&a.id) == order::wave(&b.id));
        for together in waves.flat_map(|wave| wave.chunks(AT_ONCE)) {
            let results = join_all(together.iter().map(|entry| self.prune_entry(owner, entry))).await;
            together.iter().zip(results).for_each(|(entry, result)| pruned.add(entry, result));
        }
        pruned
    }

    async fn prune_entry(&self, owner: &Owner, entry: &Entry) -> Result<Action, Error> {
        (self.kill_point)("before-delete");
        let result = self.prune_one(owner, entry).await;
        (self.kill_point)("after-delete");
        result
    }

    /// Returns the action that a prune would take for each object, in the order of the apply; nothing is deleted. An object that
    /// is already gone, or going, is left unchanged.
    pub async fn preview_prune(&self, owner: &Owner, entries: &[Entry]) -> Pruned {
        let mut entries: Vec<&Entry> = entries.iter().collect();
        entries.sort_by(|a, b| order::by_apply_order(&a.id, &b.id));
        let mut pruned = Pruned::default();
        for entry in entries {
            pruned.add(entry, self.preview_one(owner, entry).await);
        }
        pruned
    }

    async fn preview_one(&self, owner: &Owner, entry: &Entry) -> Result<Action, Error> {
        Ok(match self.judge(owner, entry).await? {
            Judgement::Delete(..) => Action::Deleted,
            Judgement::Leave(Action::Deleted) => Action::Unchanged,
            Judgement::Leave(action) => action,
        })
    }

    async fn prune_one(&self, owner: &Owner, entry: &Entry) -> Result<Action, Error> {
        let id = &entry.id;
        let mapping = self.mapping_of(entry).await.map_err(|error| error.of(id))?;
        let Some(mapping) = mapping else { return Ok(Action::Deleted) };
        let seen = self.ledger().and_then(|ledger| ledger.prunable(owner, id));
        let mut judged = seen.map(|state| (mapping, state));
        self.ledger().inspect(|ledger| ledger.release(owner, id));
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (mapping, state) = match judged.take() {
                Some(judged) => judged,
                None => match self.judge(owner, entry).await? {
                    Judgement::Delete(mapping, state) => (mapping, state),
                    Judgement::Leave(action) => return Ok(action),
                },
            };
            match (Target { client: &self.client, mapping: &mapping, id }).delete(&state).await {
                Ok(()) => return Ok(Action::Deleted),
                // The object has changed since it was judged, or is gone.
                Err(error) if attempts < MAX_JUDGEMENTS && is_outdated(&error) => {}
                Err(error) => return Err(Error::Delete { id: id.clone(), message: shown(id, &error) }),
            }
        }
    }

    /// Returns what is left of an object that was deleted (KS-GC-22).
    pub async fn remains(&self, entry: &Entry) -> Remains {
        match self.find(entry).await {
            Ok(None) => Remains::Gone,
            Err(Unread::Object(error)) if is_forbidden(&error) => Remains::Hidden,
            Ok(Some(_)) | Err(_) => Remains::Left,
        }
    }

    /// Reads an object and decides whether it may be deleted (KS-GC-3).
    async fn judge(&self, owner: &Owner, entry: &Entry) -> Result<Judgement, Error> {
        let id = &entry.id;
        let found = self.find(entry).await.map_err(|error| error.of(id))?;
        let Some((mapping, live)) = found else { return Ok(Judgement::Leave(Action::Deleted)) };
        if !may_prune(owner, &live.metadata) {
            return Ok(Judgement::Leave(Action::Skipped));
        }
        if live.metadata.deletion_timestamp.is_some() {
            return Ok(Judgement::Leave(Action::Deleted));
        }
        let no_version = || Error::Query { id: id.clone(), message: "object has no version".to_owned() };
        let state = Precise::of(&live.metadata).ok_or_else(no_version)?;
        Ok(Judgement::Delete(mapping, state))
    }

    /// Finds an object of an inventory: where it is, and its metadata. A version that is no longer served is forgotten, and another one is
    /// tried. When that is not served either, the object counts as unread and not as gone: the replicas of an API server disagree while a
    /// definition changes.
    async fn find(&self, entry: &Entry) -> Result<Option<(Arc<Mapping>, DynamicObject)>, Unread> {
        let mut finds = 0;
        loop {
            finds += 1;
            let Some(mapping) = self.mapping_of(entry).await? else { return Ok(None) };
            match (Target { client: &self.client, mapping: &mapping, id: &entry.id }).metadata().await {
                Ok(found) => return Ok(found.map(|live| (mapping, live))),
                Err(error) if finds < MAX_FINDS && is_unserved(&error) => {
                    self.mapper.forget(&mapping.resource.api_version);
                }
                Err(error) => return Err(Unread::Object(error)),
            }
        }
    }

    /// Returns the place of an inventory's object in the API; nothing if the cluster no longer has its kind: the object is gone with it.
    async fn mapping_of(&self, entry: &Entry) -> Result<Option<Arc<Mapping>>, Unread> {
        let id = &entry.id;
        let api_version = crate::manifest::join_api_version(&id.group, &entry.version);
        let mut found = self.mapper.mapping(&api_version, &id.kind).await;
        if matches!(found, Err(MappingError::NoMatch { .. })) {
            found = self.mapper.preferred(&id.group, &id.kind).await;
        }
        match found {
            Ok(mapping) => Ok(Some(mapping)),
            Err(MappingError::NoMatch { .. } | MappingError::NoGroupMatch { .. }) => Ok(None),
            Err(error) => Err(Unread::Kind(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use kube::Client;
    use kube::client::Body;

    use super::*;
    use crate::{Mapper, probe};

    /// KS-GC-3: one replica of the API server knows the kind, and the one that is asked for the object does not yet.
    #[tokio::test]
    async fn an_object_that_replicas_disagree_about_is_not_gone() {
        let answer = |request: http::Request<Body>| async move {
            let (code, body) = match request.uri().path() {
                "/apis/example.com" => {
                    let version = r#"{"groupVersion":"example.com/v1","version":"v1"}"#;
                    (200, format!(r#"{{"kind":"APIGroup","name":"example.com","versions":[{version}]}}"#))
                }
                "/apis/example.com/v1" => {
                    let gears = r#"{"name":"gears","singularName":"gear","namespaced":true,"kind":"Gear","verbs":["get"]}"#;
                    let list = format!(
                        r#"{{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[{gears}]}}"#
                    );
                    (200, list)
                }
                _ => (404, "404 page not found\n".to_owned()),
            };
            let body = Body::from(body.into_bytes());
            Ok::<_, Infallible>(http::Response::builder().status(code).body(body).unwrap())
        };
        let client = Client::new(tower::service_fn(answer), "default");
        let session = Session::unwatched(client.clone(), Arc::new(Mapper::new(client)));
        let owner = Owner { group: "g".into(), name: "o".into(), namespace: "apps".into() };
        let entry = Entry { id: "apps_g_example.com_Gear".parse().unwrap(), version: "v1".to_owned() };
        let entries = std::slice::from_ref(&entry);
        let pruned = session.prune(&owner, entries).await;
        assert_eq!(pruned.unsettled(entries), entries);
        assert!(pruned.failure().unwrap().contains("404 page not found"));
        assert_eq!(session.remains(&entry).await, Remains::Left);
        assert!(probe(&session, &entry.id).await.error.is_some());
    }
}
