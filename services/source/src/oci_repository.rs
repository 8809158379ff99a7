//! `OCIRepository` (SRC 5).

mod act;
mod decide;
mod observe;
mod verify;

use weir_access::Secrets;
use weir_api::OciRepository;
use weir_auth::Logins;
use weir_oci::Registries;
use weir_runtime::{Cache, ObjectKey};

use crate::source::{Attempt, Failure, NEW_REVISION, SourceReconciler, Success, Wiring};
use crate::storage::Storage;
use crate::verification::OciVerifier;

/// Keeps the artifacts of `OCIRepository` objects equal to what their references stand for.
struct OciReconciler {
    registries: Registries,
    logins: Logins,
    secrets: Secrets,
    storage: Storage,
    verifier: OciVerifier,
}

/// Adds the loop of OCIRepositories.
pub(crate) fn start(wiring: &Wiring<'_>, objects: Cache<OciRepository>, registries: Registries) {
    let reconciler = OciReconciler {
        registries,
        logins: wiring.logins.clone(),
        secrets: wiring.secrets.clone(),
        storage: wiring.storage.clone(),
        verifier: OciVerifier::new(wiring),
    };
    wiring.control(objects, reconciler);
}

impl SourceReconciler for OciReconciler {
    type Object = OciRepository;

    async fn bring_up_to_date(&self, attempt: &mut Attempt<'_, OciRepository>) -> Result<Success, Failure> {
        let wanted = decide::wanted(attempt.object.spec.reference.as_ref());
        let mut registry = self.observe(attempt, &wanted).await?;
        let (spec, known) = (&attempt.object.spec, attempt.known.as_ref());
        let target = observe::resolve(&mut registry, &wanted, spec, known).await?;
        let revision = target.revision();
        if attempt.known.as_ref().is_none_or(|known| known.revision != revision) {
            let reference = target.reference(registry.repository());
            attempt.outdated(NEW_REVISION, &format!("new revision '{revision}' for '{reference}'"));
        }
        self.verify(attempt, &mut registry, &target).await?;
        match decide::reusable(&attempt.object, attempt.known.as_ref(), &revision) {
            Some(known) => {
                let message = decide::stored_event(known, &attempt.object.spec.url);
                Ok(Success::up_to_date(known.clone(), message))
            }
            None => self.act(attempt, &mut registry, target).await,
        }
    }

    fn stored_message(success: &Success) -> String {
        format!("stored artifact for digest '{}'", success.artifact.revision)
    }

    fn forget(&self, key: &ObjectKey) {
        self.verifier.forget(key);
    }
}
