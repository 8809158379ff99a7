//! The way of a requested reconcile, told until it is done.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, stream};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;
use tonic::Status;
use weir_api::Kustomization;
use weir_api::condition_type::{READY, RECONCILING};
use weir_proto::kustomize::v1::ReconcileNowResponse;
use weir_runtime::{Cache, ObjectKey, condition};

use crate::kustomization::KustomizationReconciler;

/// Changes that a slow follower may be behind; one that is further behind looks at its object anew.
const BEHIND: usize = 256;
/// A reconcile whose health checks take longer is followed by asking again.
const LONGEST: Duration = Duration::from_secs(3600);

/// The names of Kustomizations that change, for any number of followers.
#[derive(Clone)]
pub(super) struct Changes(broadcast::Sender<ObjectKey>);

impl Changes {
    pub(super) fn of(kustomizations: &Cache<Kustomization>) -> Self {
        let changes = broadcast::Sender::new(BEHIND);
        let tell = changes.clone();
        kustomizations.on_change(move |change| {
            if let Some(changed) = change.latest() {
                // Nobody may be listening.
                let _ = tell.send(ObjectKey::of(&**changed));
            }
        });
        Self(changes)
    }

    /// To be called before the request, so that nothing of its way is missed.
    pub(super) fn listen(&self) -> broadcast::Receiver<ObjectKey> {
        self.0.subscribe()
    }
}

struct Follower {
    reconciler: KustomizationReconciler,
    key: ObjectKey,
    token: String,
    changes: broadcast::Receiver<ObjectKey>,
    last: Option<ReconcileNowResponse>,
    until: Instant,
}

/// Streams the way of the request with this token: its recording, each change, and the end.
pub(super) fn follow(
    reconciler: KustomizationReconciler,
    key: ObjectKey,
    token: String,
    changes: broadcast::Receiver<ObjectKey>,
) -> impl Stream<Item = Result<ReconcileNowResponse, Status>> + Send {
    let until = Instant::now() + LONGEST;
    let follower = Follower { reconciler, key, token, changes, last: None, until };
    stream::unfold(Some(follower), |follower| async move {
        let mut follower: Follower = follower?;
        match follower.next().await {
            Ok(answer) if answer.done => Some((Ok(answer), None)),
            Ok(answer) => Some((Ok(answer), Some(follower))),
            Err(status) => Some((Err(status), None)),
        }
    })
}

impl Follower {
    async fn next(&mut self) -> Result<ReconcileNowResponse, Status> {
        if self.last.is_none() {
            let message = "the request is recorded".to_owned();
            let first = ReconcileNowResponse { token: self.token.clone(), message, ..Default::default() };
            self.last = Some(first.clone());
            return Ok(first);
        }
        loop {
            let now = self.state();
            if self.last.as_ref() != Some(&now) {
                self.last = Some(now.clone());
                return Ok(now);
            }
            self.change().await?;
        }
    }

    fn state(&self) -> ReconcileNowResponse {
        let is_waiting = self.reconciler.memory.get(&self.key).waiting.is_some();
        progress(self.reconciler.kustomizations.get(&self.key).as_ref(), &self.token, is_waiting)
    }

    /// Waits for a change of the object.
    async fn change(&mut self) -> Result<(), Status> {
        loop {
            let changed = tokio::time::timeout_at(self.until, self.changes.recv()).await;
            let late = |_| Status::deadline_exceeded("the reconcile goes on, and is not followed any longer");
            match changed.map_err(late)? {
                Ok(key) if key != self.key => {}
                Ok(_) | Err(RecvError::Lagged(_)) => return Ok(()),
                Err(RecvError::Closed) => return Err(Status::unavailable("the service stops")),
            }
        }
    }
}

/// Words for the state of a Kustomization whose reconcile was requested with this token.
fn progress(object: Option<&Arc<Kustomization>>, token: &str, is_waiting: bool) -> ReconcileNowResponse {
    let token = token.to_owned();
    let Some(object) = object else {
        let message = "the Kustomization is gone".to_owned();
        return ReconcileNowResponse { token, message, done: true, ..Default::default() };
    };
    let status = object.status.as_ref();
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    let is_handled = status.is_some_and(|status| status.last_handled_reconcile_at.as_ref() == Some(&token));
    let ready = condition::find(conditions, READY);
    let step = condition::find(conditions, RECONCILING);
    let is_done = is_handled && !is_waiting && ready.is_some_and(|ready| ready.status != "Unknown");
    let shown = if is_done { ready } else { step.or(ready) };
    let text = |find: fn(&weir_api::Condition) -> &String| shown.map(find).cloned().unwrap_or_default();
    ReconcileNowResponse {
        token,
        message: text(|shown| &shown.message),
        reason: text(|shown| &shown.reason),
        done: is_done,
        ready: is_done && ready.is_some_and(|ready| ready.status == "True"),
    }
}
