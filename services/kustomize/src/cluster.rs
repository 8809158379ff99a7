//! The cluster in which the service runs, and the identity with which an object's owner may act in it (KS-IMP-1..3).

use std::sync::Arc;

use kube::Client;
use tokio_util::sync::CancellationToken;
use weir_api::Kustomization;
use weir_ssa::{Identities, Ledger, Mapper, Notice, Owner, Session, Watches};

/// Field manager of applied objects (KS-SSA-1).
pub(crate) const FIELD_MANAGER: &str = "kustomize-controller";

/// API group of Kustomizations: the prefix of the labels and annotations on what they apply.
pub(crate) const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// Everything that is kept about the cluster, once for all Kustomizations.
#[derive(Clone)]
pub(crate) struct Cluster {
    identities: Identities,
    mapper: Arc<Mapper>,
    ledger: Arc<Ledger>,
    watches: Watches,
    default_account: Option<String>,
}

impl Cluster {
    /// `notify` hears of drift, and of the health of objects that somebody waits for.
    pub(crate) fn new(
        client: Client,
        overridden: &[String],
        default_account: &str,
        shutdown: CancellationToken,
        notify: impl Fn(&Owner, Notice) + Send + Sync + 'static,
    ) -> Self {
        let ledger = Arc::new(Ledger::new(FIELD_MANAGER, overridden, notify));
        let watches = Watches::new(client.clone(), Arc::clone(&ledger), format!("{GROUP}/name"), shutdown);
        Self {
            mapper: Arc::new(Mapper::new(client.clone())),
            identities: Identities::new(client),
            ledger,
            watches,
            default_account: (!default_account.is_empty()).then(|| default_account.to_owned()),
        }
    }

    /// The ServiceAccount that a Kustomization acts as, if not the service's own.
    pub(crate) fn account<'a>(&'a self, kustomization: &'a Kustomization) -> Option<&'a str> {
        let own = kustomization.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
        own.or(self.default_account.as_deref())
    }

    /// The session for all that is done on behalf of a Kustomization. There is no other way to the cluster from there.
    pub(crate) fn session(&self, kustomization: &Kustomization) -> Session {
        let namespace = kustomization.metadata.namespace.as_deref().unwrap_or_default();
        let client = match self.account(kustomization) {
            Some(account) => self.identities.service_account(namespace, account),
            None => self.identities.own(),
        };
        let (mapper, ledger) = (Arc::clone(&self.mapper), Arc::clone(&self.ledger));
        Session::watched(client, mapper, ledger, self.watches.clone()).stepping(weir_runtime::killpoint::hit)
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Waits until the watches have ended after shutdown.
    pub(crate) async fn stopped(&self) {
        self.watches.stopped().await;
    }
}

/// The owner of what a Kustomization applies.
pub(crate) fn owner_of(kustomization: &Kustomization) -> Owner {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Owner {
        group: GROUP.to_owned(),
        name: text(&kustomization.metadata.name),
        namespace: text(&kustomization.metadata.namespace),
    }
}
