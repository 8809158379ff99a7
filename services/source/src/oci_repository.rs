//! `OCIRepository` (SRC 5).

mod act;
mod decide;
mod observe;
mod verify;

use crate::secrets::Secrets;
use crate::source::{Attempt, Failure, SourceReconciler, Success, Wiring};
use crate::storage::Storage;
use crate::verification::Verdicts;
use weir_api::{Artifact, FluxObject, OciRepository};
use weir_auth::Logins;
use weir_oci::Registries;
use weir_runtime::{Cache, EventDraft, ObjectKey};

/// Keeps the artifacts of `OCIRepository` objects equal to what their references stand for.
struct OciReconciler {
    registries: Registries,
    logins: Logins,
    secrets: Secrets,
    storage: Storage,
    verdicts: Verdicts,
}

/// Adds the loop of OCIRepositories.
pub(crate) fn start(wiring: &Wiring<'_>, objects: Cache<OciRepository>, registries: Registries) {
    let reconciler = OciReconciler {
        registries,
        logins: wiring.logins.clone(),
        secrets: wiring.secrets.clone(),
        storage: wiring.storage.clone(),
        verdicts: Verdicts::default(),
    };
    wiring.control(objects, reconciler);
}

impl SourceReconciler for OciReconciler {
    type Object = OciRepository;

    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, OciRepository>) -> Result<Success, Failure> {
        let mut registry = self.observe(attempt).await?;
        let wanted = decide::wanted(attempt.object.spec.reference.as_ref());
        let target = observe::resolve(&mut registry, &wanted, &attempt.object.spec).await?;
        self.verify(attempt, &mut registry, &target).await?;
        match decide::reusable(&attempt.object, attempt.known.as_ref(), &target.revision()) {
            Some(known) => Ok(unchanged(known.clone(), &attempt.object.spec.url)),
            None => self.act(attempt, &mut registry, target).await,
        }
    }

    fn stored_message(success: &Success) -> String {
        format!("stored artifact for digest '{}'", success.artifact.revision)
    }

    fn forget(&self, key: &ObjectKey) {
        self.verdicts.forget(key);
        self.logins.forget(OciRepository::KIND, &key.namespace, &key.name);
    }
}

/// The result when the registry has nothing new (SRC-OCI-6).
fn unchanged(artifact: Artifact, url: &str) -> Success {
    let told = format!("artifact up-to-date with remote revision: '{}'", artifact.revision);
    let message = decide::stored_event(&artifact, url);
    Success {
        unchanged: Some(EventDraft::trace("ArtifactUpToDate", told)),
        ..Success::new(artifact, message)
    }
}
