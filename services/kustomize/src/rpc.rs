//! The service's own gRPC methods: each checks the caller and passes the request on.

mod explain;
mod follow;
mod previews;
mod tree;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use kube::Api;
use kube::api::PatchParams;
use tokio_util::task::TaskTracker;
use tonic::{Code, Request, Response, Status};
use weir_api::Kustomization;
use weir_proto::kustomize::v1::{
    BuildRequest, BuildResponse, DiffRequest, DiffResponse, ExplainRequest, ExplainResponse,
    InventoryRequest, InventoryResponse, KustomizationRef, ReconcileNowRequest, ReconcileNowResponse,
    kustomizations_server,
};
use weir_runtime::grpc::{Access, Authorizer, Turns};
use weir_runtime::{ObjectKey, request_reconcile};

use self::explain::{Fact, Facts, Known, SourceFact};
use self::follow::{Changes, follow};
use self::previews::Previews;
use self::tree::{Branch, Tree};
use crate::build::to_yaml;
use crate::kustomization::{Failure, KustomizationReconciler, entries};
use crate::source::SourceId;

/// Looks at many objects at once; each may ask the API server for thousands of them, beside the runs.
const LOOKS_AT_ONCE: usize = 8;
/// Time for one look. A tree of a large cluster takes some seconds.
const LOOK_TIME: Duration = Duration::from_secs(60);

/// The methods.
pub(crate) struct Rpc {
    reconciler: KustomizationReconciler,
    authorizer: Authorizer,
    previews: Previews,
    looks: Turns,
    changes: Changes,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Rpc {
    /// `tasks` are those that the service waits for at its end.
    pub(crate) fn new(
        reconciler: KustomizationReconciler,
        authorizer: Authorizer,
        tasks: TaskTracker,
    ) -> Self {
        let changes = Changes::of(&reconciler.kustomizations);
        Self {
            reconciler,
            authorizer,
            previews: Previews::new(tasks),
            looks: Turns::new(LOOKS_AT_ONCE, LOOK_TIME),
            changes,
        }
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

    /// Returns true when a caller has a right.
    ///
    /// # Errors
    /// The API server does not answer; a right that is missing is none.
    async fn may<T>(&self, request: &Request<T>, access: Access) -> Result<bool, Status> {
        match self.authorizer.allow(request, access).await {
            Ok(_) => Ok(true),
            Err(status) if status.code() == Code::PermissionDenied => Ok(false),
            Err(status) => Err(status),
        }
    }

    /// The facts about one Kustomization, as far as the caller may see them.
    ///
    /// # Errors
    /// The API server does not tell what the caller may see.
    async fn fact<T>(&self, request: &Request<T>, key: &ObjectKey) -> Result<Fact, Status> {
        if !self.may(request, Access::to::<Kustomization>("get", key)).await? {
            return Ok(Fact::Hidden);
        }
        let Some(object) = self.reconciler.kustomizations.get(key) else { return Ok(Fact::Missing) };
        let source = match self.reconciler.sources.seen(&SourceId::of(&object)) {
            None => SourceFact::Missing,
            Some((access, seen)) => match (self.may(request, access).await?, seen) {
                (true, Some(seen)) => SourceFact::Known(seen),
                (true, None) => SourceFact::Missing,
                (false, _) => SourceFact::Hidden,
            },
        };
        let awaited = self.reconciler.awaited(&object).await.into_iter();
        let awaited = awaited.map(|(id, found)| (id.subject(), found.status, found.message)).collect();
        Ok(Fact::Known(Box::new(Known { object, source, awaited })))
    }

    /// The objects of one Kustomization, if the caller may see it.
    ///
    /// # Errors
    /// The API server does not tell what the caller may see.
    async fn branch<T>(
        &self,
        request: &Request<T>,
        key: &ObjectKey,
        with_health: bool,
    ) -> Result<Option<Branch>, Status> {
        if !self.may(request, Access::to::<Kustomization>("get", key)).await? {
            return Ok(None);
        }
        let Some(object) = self.reconciler.kustomizations.get(key) else { return Ok(None) };
        let entries = entries(&object);
        let health = match with_health {
            true => {
                let ids = entries.iter().map(|entry| entry.id.clone()).collect();
                self.reconciler.health_of(&object, ids).await.into_iter().map(Some).collect()
            }
            false => vec![None; entries.len()],
        };
        let is_remote = object.spec.kube_config.is_some();
        Ok(Some(Branch { entries: entries.into_iter().zip(health).collect(), is_remote }))
    }
}

#[tonic::async_trait]
impl kustomizations_server::Kustomizations for Rpc {
    type BuildStream = Answers<BuildResponse>;
    type DiffStream = Answers<DiffResponse>;
    type ReconcileNowStream = Answers<ReconcileNowResponse>;

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
            // A caller that may change what is applied may learn the value anyway.
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
        let key = ObjectKey::of(&*self.find(&request, "get", reference).await?);
        let with_health = request.get_ref().with_health;
        let entries = self.looks.take(async {
            let mut tree = Tree::of(&key);
            while let Some(key) = tree.next() {
                if let Some(branch) = self.branch(&request, &key, with_health).await? {
                    tree.insert(key, branch);
                }
            }
            Ok(tree.entries(&key))
        });
        Ok(Response::new(InventoryResponse { entries: entries.await? }))
    }

    async fn explain(&self, request: Request<ExplainRequest>) -> Result<Response<ExplainResponse>, Status> {
        let reference = request.get_ref().kustomization.clone();
        let key = ObjectKey::of(&*self.find(&request, "get", reference).await?);
        let explanation = self.looks.take(async {
            let mut facts = Facts::about(&key);
            while let Some(key) = facts.next() {
                let fact = self.fact(&request, &key).await?;
                facts.insert(key, fact);
            }
            Ok(facts.explain(&key))
        });
        Ok(Response::new(ExplainResponse { explanation: Some(explanation.await?) }))
    }

    async fn reconcile_now(
        &self,
        request: Request<ReconcileNowRequest>,
    ) -> Result<Response<Self::ReconcileNowStream>, Status> {
        let reference = request.get_ref().kustomization.clone();
        let kustomization = self.find(&request, "patch", reference).await?;
        if kustomization.spec.suspend {
            return Err(Status::failed_precondition("the Kustomization is suspended"));
        }
        let key = ObjectKey::of(&*kustomization);
        let changes = self.changes.listen();
        let token = jiff::Timestamp::now().to_string();
        let api: Api<Kustomization> = Api::namespaced(self.reconciler.client.clone(), &key.namespace);
        let requested = request_reconcile(&api, &key.name, &token, &PatchParams::default()).await;
        requested.map_err(|error| Status::unavailable(format!("the request was not recorded: {error}")))?;
        let reconciler = self.reconciler.clone();
        Ok(Response::new(Box::pin(follow(reconciler, key, token, changes))))
    }
}

fn refusal(failure: Failure) -> Status {
    Status::failed_precondition(failure.message)
}
