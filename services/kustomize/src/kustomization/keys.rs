//! The keys that a Kustomization decrypts with: those of its Secret, or the age keys for all (KS-DEC-1 to KS-DEC-3), and those
//! that servers keep (KS-DEC-10 to KS-DEC-14).

use weir_access::{DecryptionKeys, KeysFor, Secrets};
use weir_api::{FluxObject, Kustomization};
use weir_kms::{KeyServers, Owner};
use weir_runtime::ObjectKey;

use crate::decryption::Decryption;

/// Sources of the keys.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) secrets: Secrets,
    /// `namespace` and `name` of the Secret with age keys for all Kustomizations.
    pub(crate) for_all: Option<(String, String)>,
    /// The way to servers that keep keys.
    pub(crate) servers: KeyServers,
}

impl Keys {
    /// Reads the keys as the service itself (KS-IMP-2); nothing without `decryption`.
    ///
    /// # Errors
    /// The Secret cannot be read or holds something else. The text is the condition's message.
    pub(super) async fn load(&self, kustomization: &Kustomization) -> Result<Option<Decryption>, String> {
        let Some(decryption) = &kustomization.spec.decryption else { return Ok(None) };
        let ObjectKey { namespace: own, name } = ObjectKey::of(kustomization);
        let keys = match (&decryption.secret_ref, &self.for_all) {
            (Some(reference), _) => {
                DecryptionKeys::read(&self.secrets, &own, &reference.name, KeysFor::One).await
            }
            (None, Some((namespace, secret))) => {
                DecryptionKeys::read(&self.secrets, namespace, secret, KeysFor::All).await
            }
            (None, None) => Ok(DecryptionKeys::default()),
        };
        let DecryptionKeys { keyring, held, fingerprint } = keys.map_err(|error| error.to_string())?;
        let account = decryption.service_account_name.clone();
        let owner = Owner { kind: Kustomization::KIND, namespace: own, name, account };
        let keys = self.servers.keys(owner, held, keyring);
        Ok(Some(Decryption::new(Box::new(keys), fingerprint)))
    }
}
