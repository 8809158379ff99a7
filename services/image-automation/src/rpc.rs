//! The gRPC side: what the next commit would be, and a run at once.

use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::PatchParams;
use tonic::{Request, Response, Status};
use weir_api::ImageUpdateAutomation;
use weir_proto::image::v1::{
    PreviewCommitRequest, PreviewCommitResponse, RunNowRequest, RunNowResponse, automation_server,
};
use weir_runtime::grpc::{Access, Authorizer, Turns};
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
    previews: Turns,
}

impl Rpc {
    pub(crate) fn new(
        automation: Arc<Automation>,
        automations: Cache<ImageUpdateAutomation>,
        authorizer: Authorizer,
    ) -> Self {
        Self { automation, automations, authorizer, previews: Turns::new(PREVIEWS_AT_ONCE, PREVIEW_TIME) }
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
        let preview = self.previews.take(async { Ok(self.automation.preview(automation).await) }).await?;
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
