//! The gRPC side: what the next commit would be, and a run at once.

use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::PatchParams;
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status};
use weir_api::ImageUpdateAutomation;
use weir_proto::image::v1::{
    PreviewCommitRequest, PreviewCommitResponse, RunNowRequest, RunNowResponse, automation_server,
};
use weir_runtime::grpc::{Access, Authorizer};
use weir_runtime::{Cache, ObjectKey, request_reconcile};

use crate::image_update_automation::Automation;

/// Previews at once, each with a checkout. The runs go on beside them.
const PREVIEWS_AT_ONCE: usize = 2;
/// Time for one preview, that for its turn included.
const PREVIEW_TIME: Duration = Duration::from_secs(120);

/// The service that callers reach.
pub(crate) struct Rpc {
    automation: Arc<Automation>,
    automations: Cache<ImageUpdateAutomation>,
    authorizer: Authorizer,
    previews: Semaphore,
}

impl Rpc {
    pub(crate) fn new(
        automation: Arc<Automation>,
        automations: Cache<ImageUpdateAutomation>,
        authorizer: Authorizer,
    ) -> Self {
        Self { automation, automations, authorizer, previews: Semaphore::new(PREVIEWS_AT_ONCE) }
    }

    /// Lets a caller through to an automation.
    async fn find<T>(
        &self,
        request: &Request<T>,
        verb: &'static str,
        key: &ObjectKey,
    ) -> Result<Arc<ImageUpdateAutomation>, Status> {
        let access = Access::to::<ImageUpdateAutomation>(verb, key);
        self.authorizer.allow(request, access).await?;
        let found = self.automations.get(key);
        found.ok_or_else(|| Status::not_found(format!("ImageUpdateAutomation '{key}' not found")))
    }
}

#[tonic::async_trait]
impl automation_server::Automation for Rpc {
    async fn preview_commit(
        &self,
        request: Request<PreviewCommitRequest>,
    ) -> Result<Response<PreviewCommitResponse>, Status> {
        let PreviewCommitRequest { namespace, name } = request.get_ref().clone();
        let automation = self.find(&request, "get", &ObjectKey::new(namespace, name)).await?;
        let preview = in_turn(&self.previews, self.automation.preview(automation)).await?;
        let preview = preview.map_err(|failure| Status::failed_precondition(failure.to_string()))?;
        let response =
            preview.map(|preview| PreviewCommitResponse { message: preview.message, files: preview.files });
        Ok(Response::new(response.unwrap_or_default()))
    }

    async fn run_now(&self, request: Request<RunNowRequest>) -> Result<Response<RunNowResponse>, Status> {
        let RunNowRequest { namespace, name } = request.get_ref().clone();
        let key = ObjectKey::new(namespace, name);
        self.find(&request, "patch", &key).await?;
        let token = jiff::Timestamp::now().to_string();
        let api: Api<ImageUpdateAutomation> = Api::namespaced(self.automation.client.clone(), &key.namespace);
        let requested = request_reconcile(&api, &key.name, &token, &PatchParams::default()).await;
        requested.map_err(|error| Status::unavailable(format!("the request was not recorded: {error}")))?;
        Ok(Response::new(RunNowResponse { token }))
    }
}

/// Waits for a turn and then for the preview.
///
/// # Errors
/// `RESOURCE_EXHAUSTED` when both together take too long.
async fn in_turn<T>(turns: &Semaphore, preview: impl Future<Output = T>) -> Result<T, Status> {
    let working = async {
        let turn = turns.acquire().await.map_err(|_| Status::unavailable("the service stops"))?;
        let made = preview.await;
        drop(turn);
        Ok(made)
    };
    let made = tokio::time::timeout(PREVIEW_TIME, working).await;
    made.map_err(|_| {
        Status::resource_exhausted("too many previews at once, or one that takes too long; ask again later")
    })?
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tonic::Code;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn previews_that_take_too_long_give_way() {
        let turns = Semaphore::new(1);
        let stuck = in_turn(&turns, pending::<()>());
        let (stuck, waiting) = tokio::join!(stuck, in_turn(&turns, ready(())));
        assert_eq!(stuck.unwrap_err().code(), Code::ResourceExhausted);
        assert_eq!(waiting.unwrap_err().code(), Code::ResourceExhausted);
        in_turn(&turns, ready(())).await.expect("the turn is free again");
    }
}
