//! The kinds whose objects advertise an artifact, with their Rust types forgotten: added in one place, and from then on
//! swept, listed and streamed alike.

use std::sync::Arc;

use kube::Api;
use tonic::async_trait;
use weir_api::{Artifact, FluxObject};
use weir_runtime::grpc::Access;
use weir_runtime::{Cache, Change, ObjectKey, Service, ServiceError, condition};

use crate::source::Published;

/// An object as it stands in a cache, as far as consumers of artifacts care.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) kind: &'static str,
    pub(crate) key: ObjectKey,
    /// Version of the object, by which a watch is resumed.
    pub(crate) version: u64,
    /// Artifact that the object advertises.
    pub(crate) artifact: Option<Artifact>,
    /// True when it is Ready.
    pub(crate) ready: bool,
    /// True when it is gone; the rest is as it was last.
    pub(crate) deleted: bool,
    /// The last request to reconcile that was handled.
    pub(crate) handled: Option<String>,
}

impl Entry {
    fn of<S: Published>(object: &S, deleted: bool) -> Self {
        let version = object.meta().resource_version.as_deref();
        Self {
            kind: S::KIND,
            key: ObjectKey::of(object),
            version: version.and_then(|text| text.parse().ok()).unwrap_or_default(),
            artifact: object.artifact().cloned(),
            ready: condition::is_ready(object.conditions()),
            deleted,
            handled: object.last_handled_reconcile_at().map(str::to_owned),
        }
    }
}

/// A follower of a kind's objects.
pub(crate) type Tell = Box<dyn Fn(Option<Entry>, Entry) + Send + Sync>;

/// One kind.
#[async_trait]
pub(crate) trait Kind: Send + Sync {
    fn name(&self) -> &'static str;
    fn group(&self) -> &'static str;
    fn version(&self) -> &'static str;
    fn plural(&self) -> &'static str;
    fn get(&self, key: &ObjectKey) -> Option<Entry>;
    /// The object as the API server has it now. Our own status may reach a consumer before the answer to its write reaches us.
    async fn current(&self, client: &kube::Client, key: &ObjectKey) -> Result<Option<Entry>, kube::Error>;
    fn list(&self) -> Vec<Entry>;
    /// Calls back with every object that is there, and then with every change: the object before, if it was known, and as it is
    /// now. The callback must be quick.
    fn follow(&self, tell: Tell);
    async fn synced(&self);
    /// True when an object that is not known does not exist.
    fn is_whole(&self) -> bool;
    /// True when an object of that name is known, also one that cannot be read.
    fn knows_of(&self, key: &ObjectKey) -> bool;
}

#[async_trait]
impl<S: Published> Kind for Cache<S> {
    fn name(&self) -> &'static str {
        S::KIND
    }

    fn group(&self) -> &'static str {
        <S as FluxObject>::GROUP
    }

    fn version(&self) -> &'static str {
        <S as FluxObject>::VERSION
    }

    fn plural(&self) -> &'static str {
        <S as FluxObject>::PLURAL
    }

    fn get(&self, key: &ObjectKey) -> Option<Entry> {
        Self::get(self, key).map(|object| Entry::of(&*object, false))
    }

    async fn current(&self, client: &kube::Client, key: &ObjectKey) -> Result<Option<Entry>, kube::Error> {
        let api: Api<S> = Api::namespaced(client.clone(), &key.namespace);
        let Some(object) = api.get_opt(&key.name).await? else { return Ok(None) };
        let entry = Entry::of(&object, false);
        self.insert(object);
        Ok(Some(entry))
    }

    fn list(&self) -> Vec<Entry> {
        Self::list(self).iter().map(|object| Entry::of(&**object, false)).collect()
    }

    fn follow(&self, tell: Tell) {
        self.on_change(move |change: &Change<S>| {
            if let Some(object) = change.latest() {
                let before = change.old.as_ref().map(|old| Entry::of(&**old, false));
                tell(before, Entry::of(&**object, change.new.is_none()));
            }
        });
    }

    async fn synced(&self) {
        Self::synced(self).await;
    }

    fn is_whole(&self) -> bool {
        Self::is_whole(self)
    }

    fn knows_of(&self, key: &ObjectKey) -> bool {
        Self::knows_of(self, key)
    }
}

/// Returns the access that a caller needs to do something with an object.
pub(crate) fn access(kind: &dyn Kind, verb: &'static str, key: ObjectKey) -> Access {
    let (group, resource) = (kind.group().to_owned(), kind.plural().to_owned());
    Access { verb, group, resource, namespace: key.namespace, name: key.name }
}

/// All kinds of this process. Cheap to clone once it is complete.
#[derive(Clone, Default)]
pub(crate) struct Catalog {
    kinds: Vec<Arc<dyn Kind>>,
}

impl Catalog {
    /// Watches the objects of a kind that belong to this shard, and adds the kind.
    pub(crate) async fn add<S: Published>(&mut self, service: &Service) -> Result<Cache<S>, ServiceError> {
        let objects: Cache<S> = service.cache_sharded().await?;
        self.kinds.push(Arc::new(objects.clone()));
        Ok(objects)
    }

    /// Watches all objects of a kind that is made here and carries no label of a shard, and adds the kind.
    pub(crate) async fn add_unsharded<S: Published>(
        &mut self,
        service: &Service,
    ) -> Result<Cache<S>, ServiceError> {
        let objects: Cache<S> = service.cache().await?;
        self.kinds.push(Arc::new(objects.clone()));
        Ok(objects)
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<dyn Kind>> {
        self.kinds.iter()
    }

    pub(crate) fn kind(&self, name: &str) -> Option<&Arc<dyn Kind>> {
        self.kinds.iter().find(|kind| kind.name() == name)
    }
}
