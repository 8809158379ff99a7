//! The keys that a Kustomization decrypts with: those of its Secret, or the age keys for all (KS-DEC-1 to KS-DEC-3).

use weir_access::{DecryptionKeys, Secrets};
use weir_api::Kustomization;

use crate::decryption::Decryption;

/// Sources of the keys.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) secrets: Secrets,
    /// `namespace` and `name` of the Secret with age keys for all Kustomizations.
    pub(crate) for_all: Option<(String, String)>,
}

impl Keys {
    /// Reads the keys as the service itself (KS-IMP-2); nothing without `decryption`.
    ///
    /// # Errors
    /// The Secret cannot be read or holds something else. The text is the condition's message.
    pub(super) async fn load(&self, kustomization: &Kustomization) -> Result<Option<Decryption>, String> {
        let Some(decryption) = &kustomization.spec.decryption else { return Ok(None) };
        let own = kustomization.metadata.namespace.as_deref().unwrap_or_default();
        let keys = match (&decryption.secret_ref, &self.for_all) {
            (Some(reference), _) => DecryptionKeys::read(&self.secrets, own, &reference.name, false).await,
            (None, Some((namespace, name))) => {
                DecryptionKeys::read(&self.secrets, namespace, name, true).await
            }
            (None, None) => Ok(DecryptionKeys::default()),
        };
        let keys = keys.map_err(|error| error.to_string())?;
        let fingerprint = keys.fingerprint;
        Ok(Some(Decryption::new(Box::new(keys.keyring), fingerprint)))
    }
}
