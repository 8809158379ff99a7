//! Clusters to apply to, and the identity with which an object's owner may act in them (KS-IMP-1 to KS-IMP-10).

pub mod kubeconfig;
mod login;
mod rights;
mod server;
mod target;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use kube::Client;
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};
use weir_api::{FluxObject, Kustomization};
use weir_runtime::ObjectKey;
use weir_ssa::{Ledger, Mapper, Notice, ObjectId, Owner, Session, Watches, impersonate};

pub(crate) use self::kubeconfig::Trust;
use self::login::ClusterLogin;
pub(crate) use self::login::{ClusterLogins, OwnIdentity};
use self::rights::Rights;
use self::server::Availability;
pub(crate) use self::target::TargetError;

/// Field manager of applied objects (KS-SSA-1).
pub(crate) const FIELD_MANAGER: &str = "kustomize-controller";

/// API group of Kustomizations: the prefix of the labels and annotations on what they apply.
pub(crate) const GROUP: &str = Kustomization::GROUP;

/// Returns true for the id of a Kustomization.
pub(crate) fn is_kustomization(id: &ObjectId) -> bool {
    id.group == GROUP && id.kind == Kustomization::KIND
}

type Notify = Arc<dyn Fn(&Owner, &ObjectId, Notice) + Send + Sync>;

/// The service's own cluster, and those that Kustomizations have named in their last runs. A remote cluster is kept, with its
/// watches, while a Kustomization uses it.
#[derive(Clone)]
pub(crate) struct Clusters(Arc<Kept>);

struct Kept {
    local: Cluster,
    make: Make,
    trust: Trust,
    logins: ClusterLogins,
    remotes: Mutex<Remotes>,
}

#[derive(Default)]
struct Remotes {
    by_fingerprint: HashMap<[u8; 32], Weak<Inner>>,
    /// Of each Kustomization, the cluster of its last run: what keeps it.
    users: HashMap<ObjectKey, Cluster>,
}

/// Settings of all clusters, from the service's flags.
pub(crate) struct ClusterSettings {
    /// Field managers whose fields an apply takes over.
    pub(crate) overridden: Vec<String>,
    /// ServiceAccount of Kustomizations that name none; empty for the service's own rights.
    pub(crate) default_account: String,
    /// The parts of kubeconfigs that count.
    pub(crate) trust: Trust,
}

/// All that is needed to know a further cluster.
struct Make {
    overridden: Vec<String>,
    default_account: Option<String>,
    shutdown: CancellationToken,
    notify: Notify,
}

/// Everything that is kept about one cluster, once for all Kustomizations that use it as the same user.
#[derive(Clone)]
pub(crate) struct Cluster(Arc<Inner>);

struct Inner {
    client: Client,
    mapper: Arc<Mapper>,
    ledger: Arc<Ledger>,
    watches: Watches,
    rights: Rights,
    default_account: Option<String>,
    /// Nothing of the service's own cluster.
    remote: Option<Remote>,
}

struct Remote {
    fingerprint: [u8; 32],
    availability: Availability,
    /// Its tokens; nothing where the kubeconfig has the user.
    login: Option<Arc<ClusterLogin>>,
    /// Ends the watches.
    _guard: DropGuard,
}

impl Clusters {
    /// `notify` hears of drift, and of the health of objects that somebody waits for.
    pub(crate) fn new(
        client: Client,
        ClusterSettings { overridden, default_account, trust }: ClusterSettings,
        logins: ClusterLogins,
        shutdown: CancellationToken,
        notify: impl Fn(&Owner, &ObjectId, Notice) + Send + Sync + 'static,
    ) -> Self {
        let default_account = Some(default_account).filter(|name| !name.is_empty());
        let make = Make { overridden, default_account, shutdown, notify: Arc::new(notify) };
        let local = make.cluster(client, make.shutdown.clone(), None);
        Self(Arc::new(Kept { local, make, trust, logins, remotes: Mutex::default() }))
    }

    /// Drops all that is known of a Kustomization's objects, and the cluster that nobody else uses.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        let owner = owner_of(key.clone());
        self.0.local.ledger().forget(&owner);
        self.0.logins.forget(key);
        let user = self.0.remotes.lock().users.remove(key);
        if let Some(cluster) = user {
            cluster.ledger().forget(&owner);
        }
    }

    /// Waits until the watches have ended after shutdown.
    pub(crate) async fn stopped(&self) {
        for cluster in self.all() {
            cluster.0.watches.stopped().await;
        }
    }

    /// Returns the number of kinds whose objects are not watched, in all clusters together.
    pub(crate) fn unwatched(&self) -> usize {
        self.all().iter().map(|cluster| cluster.0.watches.unwatched()).sum()
    }

    fn all(&self) -> Vec<Cluster> {
        let remotes = self.0.remotes.lock();
        let remotes = remotes.by_fingerprint.values().filter_map(Weak::upgrade).map(Cluster);
        std::iter::once(self.0.local.clone()).chain(remotes).collect()
    }
}

impl Make {
    fn cluster(&self, client: Client, shutdown: CancellationToken, remote: Option<Remote>) -> Cluster {
        let notify = Arc::clone(&self.notify);
        let notify = move |owner: &Owner, id: &ObjectId, notice: Notice| notify(owner, id, notice);
        let ledger = Arc::new(Ledger::new(FIELD_MANAGER, &self.overridden, notify));
        let watches = Watches::new(client.clone(), Arc::clone(&ledger), format!("{GROUP}/name"), shutdown);
        Cluster(Arc::new(Inner {
            mapper: Arc::new(Mapper::new(client.clone())),
            client,
            ledger,
            watches,
            rights: Rights::default(),
            default_account: self.default_account.clone(),
            remote,
        }))
    }
}

impl Cluster {
    /// The ServiceAccount that a Kustomization acts as, if not the cluster's own user.
    pub(crate) fn account<'a>(&'a self, kustomization: &'a Kustomization) -> Option<&'a str> {
        let own = kustomization.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
        own.or(self.0.default_account.as_deref())
    }

    /// The session for all that is done on behalf of a Kustomization: there is no other way to the cluster from there.
    pub(crate) fn session(&self, kustomization: &Kustomization) -> Session {
        let namespace = kustomization.metadata.namespace.as_deref().unwrap_or_default();
        let account = self.account(kustomization);
        let client = match account {
            Some(account) => impersonate(self.own(), namespace, account),
            None => self.own(),
        };
        let (mapper, ledger) = (Arc::clone(&self.0.mapper), Arc::clone(&self.0.ledger));
        Session::watched(client, mapper, ledger, self.0.watches.clone())
            .acting_as(account)
            .stepping(weir_runtime::killpoint::hit)
    }

    /// The client of the cluster's own user, for what is not done on behalf of anyone: asking if the cluster answers, and if an account exists.
    fn own(&self) -> Client {
        self.0.client.clone()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// Bytes that differ where another cluster, or another user of it, does; none for the service's own.
    pub(crate) fn fingerprint(&self) -> Option<[u8; 32]> {
        self.0.remote.as_ref().map(|remote| remote.fingerprint)
    }
}

/// The owner of what a Kustomization applies.
pub(crate) fn owner_of(ObjectKey { namespace, name }: ObjectKey) -> Owner {
    Owner { group: GROUP.to_owned(), name, namespace }
}
