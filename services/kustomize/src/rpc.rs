//! The service's own gRPC methods: a doorman each, who checks the caller and passes the request on.

use std::pin::Pin;
use std::sync::Arc;

use futures::{Stream, stream};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tonic::{Request, Response, Status};
use weir_api::{Kustomization, REQUESTED_AT_ANNOTATION};
use weir_proto::kustomize::v1::{
    BuildRequest, BuildResponse, DiffRequest, DiffResponse, InventoryEntry, InventoryRequest,
    InventoryResponse, KustomizationRef, ReconcileNowRequest, ReconcileNowResponse, kustomizations_server,
};
use weir_runtime::ObjectKey;
use weir_runtime::grpc::{Access, Authorizer};
use weir_ssa::Manifest;

use crate::build::to_yaml;
use crate::cluster::GROUP;
use crate::kustomization::{Failure, KustomizationReconciler};

/// What a value of a Secret is shown as.
const MASK: &str = "***";

/// The methods.
pub(crate) struct Rpc {
    pub(crate) reconciler: KustomizationReconciler,
    pub(crate) authorizer: Authorizer,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Rpc {
    /// Lets a caller through to a Kustomization.
    async fn find<T>(
        &self,
        request: &Request<T>,
        verb: &'static str,
        reference: Option<KustomizationRef>,
    ) -> Result<Arc<Kustomization>, Status> {
        let reference = reference.ok_or_else(|| Status::invalid_argument("kustomization is missing"))?;
        let key = ObjectKey::new(reference.namespace, reference.name);
        let access = Access {
            verb,
            group: GROUP.to_owned(),
            resource: "kustomizations".to_owned(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        };
        self.authorizer.allow(request, access).await?;
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
        let manifests = self.reconciler.preview(&kustomization).await.map_err(refusal)?;
        let answers = manifests.into_iter().map(|manifest| {
            let yaml = to_yaml(&masked(&manifest));
            yaml.map(|yaml| BuildResponse { yaml }).map_err(|error| Status::internal(error.to_string()))
        });
        Ok(Response::new(Box::pin(stream::iter(answers))))
    }

    async fn diff(&self, request: Request<DiffRequest>) -> Result<Response<Self::DiffStream>, Status> {
        let reference = request.get_ref().kustomization.clone();
        let kustomization = self.find(&request, "get", reference).await?;
        let differences = self.reconciler.preview_changes(&kustomization).await.map_err(refusal)?;
        let answers = differences.into_iter().map(|difference| {
            let (object, action) = (difference.id.subject(), difference.action.to_string());
            Ok(DiffResponse { object, action, fields: difference.fields })
        });
        Ok(Response::new(Box::pin(stream::iter(answers))))
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
        let patch = json!({ "metadata": { "annotations": { REQUESTED_AT_ANNOTATION: token } } });
        let api: Api<Kustomization> = Api::namespaced(self.reconciler.client.clone(), &key.namespace);
        let patched = api.patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.map_err(|error| Status::unavailable(format!("the request was not recorded: {error}")))?;
        Ok(Response::new(ReconcileNowResponse { token }))
    }
}

fn refusal(failure: Failure) -> Status {
    Status::failed_precondition(failure.message)
}

/// The object with the values of a Secret hidden.
fn masked(manifest: &Manifest) -> Value {
    let mut value = manifest.value().clone();
    if manifest.id().group.is_empty() && manifest.id().kind == "Secret" {
        for field in ["data", "stringData"] {
            let map = value.get_mut(field).and_then(Value::as_object_mut);
            map.into_iter().flat_map(|map| map.values_mut()).for_each(|value| *value = MASK.into());
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_hidden() {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "Yg=="}});
        let shown = masked(&Manifest::try_from(secret).unwrap());
        assert_eq!(shown["data"], json!({"a": "***"}));
    }
}
