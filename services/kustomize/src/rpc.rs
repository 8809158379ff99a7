//! The service's own gRPC methods: each checks the caller and passes the request on.

mod previews;

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use kube::Api;
use kube::api::PatchParams;
use tonic::{Request, Response, Status};
use weir_api::Kustomization;
use weir_proto::kustomize::v1::{
    BuildRequest, BuildResponse, DiffRequest, DiffResponse, InventoryEntry, InventoryRequest,
    InventoryResponse, KustomizationRef, ReconcileNowRequest, ReconcileNowResponse, kustomizations_server,
};
use weir_runtime::grpc::{Access, Authorizer};
use weir_runtime::{ObjectKey, request_reconcile};

use self::previews::Previews;
use crate::build::to_yaml;
use crate::kustomization::{Failure, KustomizationReconciler};

/// The methods.
pub(crate) struct Rpc {
    reconciler: KustomizationReconciler,
    authorizer: Authorizer,
    previews: Previews,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Rpc {
    pub(crate) fn new(reconciler: KustomizationReconciler, authorizer: Authorizer) -> Self {
        Self { reconciler, authorizer, previews: Previews::default() }
    }

    /// Lets a caller through to a Kustomization.
    async fn find<T>(
        &self,
        request: &Request<T>,
        verb: &'static str,
        reference: Option<KustomizationRef>,
    ) -> Result<Arc<Kustomization>, Status> {
        let reference = reference.ok_or_else(|| Status::invalid_argument("kustomization is missing"))?;
        let key = ObjectKey::new(reference.namespace, reference.name);
        self.authorizer.allow(request, Access::to::<Kustomization>(verb, &key)).await?;
        let found = self.reconciler.kustomizations.get(&key);
        found.ok_or_else(|| Status::not_found(format!("Kustomization '{key}' not found")))
    }
}

#[tonic::async_trait]
impl kustomizations_server::Kustomizations for Rpc {
    type BuildStream = Answers<BuildResponse>;
    type DiffStream = Answers<DiffResponse>;

    async fn build(&self, request: Request<BuildRequest>) -> Result<Response<Self::BuildStream>, Status> {
        let reference = request.get_ref().kustomization.clone();
        let kustomization = self.find(&request, "get", reference).await?;
        let turn = self.previews.turn().await?;
        let (manifests, masks) = self.reconciler.preview(&kustomization).await.map_err(refusal)?;
        let answers = manifests.into_iter().map(move |manifest| {
            let yaml = to_yaml(&masks.object(&manifest));
            yaml.map(|yaml| BuildResponse { yaml }).map_err(|error| Status::internal(error.to_string()))
        });
        Ok(Response::new(Box::pin(self.previews.answer(turn, answers))))
    }

    async fn diff(&self, request: Request<DiffRequest>) -> Result<Response<Self::DiffStream>, Status> {
        let reference = request.get_ref().kustomization.clone();
        let kustomization = self.find(&request, "get", reference.clone()).await?;
        let turn = self.previews.turn().await?;
        let compared = self.reconciler.preview_changes(&kustomization).await;
        let masks = match &compared {
            Ok((_, masks)) | Err((_, masks)) => masks,
        };
        if !masks.are_complete() {
            // Who may change what is applied may learn the value anyway.
            self.find(&request, "patch", reference).await?;
        }
        let (differences, masks) = compared.map_err(|(failure, _)| refusal(failure))?;
        let answers = differences.into_iter().map(move |difference| {
            let (object, action) = (masks.text(&difference.id.subject()), difference.action.to_string());
            let fields = difference.fields.iter().map(|field| masks.text(field)).collect();
            Ok(DiffResponse { object, action, fields })
        });
        Ok(Response::new(Box::pin(self.previews.answer(turn, answers))))
    }

    async fn inventory(
        &self,
        request: Request<InventoryRequest>,
    ) -> Result<Response<InventoryResponse>, Status> {
        let reference = request.get_ref().kustomization.clone();
        let kustomization = self.find(&request, "get", reference).await?;
        let inventory = kustomization.status.as_ref().and_then(|status| status.inventory.as_ref());
        let entries = inventory.into_iter().flat_map(|inventory| &inventory.entries);
        let entries =
            entries.map(|entry| InventoryEntry { id: entry.id.clone(), version: entry.version.clone() });
        Ok(Response::new(InventoryResponse { entries: entries.collect() }))
    }

    async fn reconcile_now(
        &self,
        request: Request<ReconcileNowRequest>,
    ) -> Result<Response<ReconcileNowResponse>, Status> {
        let reference = request.get_ref().kustomization.clone();
        let key = ObjectKey::of(&*self.find(&request, "patch", reference).await?);
        let token = jiff::Timestamp::now().to_string();
        let api: Api<Kustomization> = Api::namespaced(self.reconciler.client.clone(), &key.namespace);
        let requested = request_reconcile(&api, &key.name, &token, &PatchParams::default()).await;
        requested.map_err(|error| Status::unavailable(format!("the request was not recorded: {error}")))?;
        Ok(Response::new(ReconcileNowResponse { token }))
    }
}

fn refusal(failure: Failure) -> Status {
    Status::failed_precondition(failure.message)
}
