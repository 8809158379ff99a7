//! Rights of the caller of a running watch, asked again while it runs.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tonic::{Request, Status};

use super::StatusRegistry;
use super::service::access;
use crate::grpc::{Authorizer, Identity};

/// The kinds and namespace that a caller asked to watch, and its token.
pub(super) struct Rights {
    pub registry: StatusRegistry,
    pub authorizer: Authorizer,
    /// Nothing but the caller's metadata.
    pub caller: Request<()>,
    pub namespace: String,
    pub name: String,
    pub kinds: Vec<&'static str>,
    pub due: Interval,
}

/// When rights are to be looked at again; once for all that a slow reader has let pass.
pub(super) fn due(every: Duration) -> Interval {
    let mut due = interval_at(Instant::now() + every, every);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    due
}

impl Rights {
    /// Fails when the caller may no longer watch, and when that is not known: it resumes when the API server answers again.
    pub(super) async fn check(&self) -> Result<(), Status> {
        let identity = self.authorizer.identify(&self.caller).await?;
        for kind in &self.kinds {
            if !self.may_watch(&identity, kind).await? {
                return Err(denied(&identity, kind));
            }
        }
        Ok(())
    }

    /// Returns true when the caller may watch objects of a kind.
    pub(super) async fn may_watch(&self, identity: &Identity, kind: &str) -> Result<bool, Status> {
        let Some(source) = self.registry.source(kind) else { return Ok(false) };
        let access = access(&*source, "watch", &self.namespace, &self.name);
        self.authorizer.may(identity, access).await
    }
}

/// The answer to who may not watch.
pub(super) fn denied(identity: &Identity, kind: &str) -> Status {
    Status::permission_denied(format!("user '{}' may not watch {kind} objects", identity.user))
}
