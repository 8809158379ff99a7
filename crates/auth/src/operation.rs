//! The uses of logins that metrics tell apart.

/// A use of logins, under Flux's name for it (SRC-MET-1, KS-MET-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Operation {
    /// A run of an object.
    #[default]
    Reconcile,
    /// A notification.
    Post,
    /// A way into the cluster that a ConfigMap describes.
    FetchKubeconfig,
    /// Decryption by a key of AWS KMS.
    DecryptWithAws,
    /// Decryption by a key of Azure Key Vault.
    DecryptWithAzure,
    /// Decryption by a key of Google's KMS.
    DecryptWithGcp,
    /// Decryption by a key of Vault.
    DecryptWithVault,
}

impl Operation {
    pub(crate) const ALL: [Self; 7] = [
        Self::Reconcile,
        Self::Post,
        Self::FetchKubeconfig,
        Self::DecryptWithAws,
        Self::DecryptWithAzure,
        Self::DecryptWithGcp,
        Self::DecryptWithVault,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile",
            Self::Post => "post",
            Self::FetchKubeconfig => "fetch_kubeconfig",
            Self::DecryptWithAws => "decrypt_with_aws",
            Self::DecryptWithAzure => "decrypt_with_azure",
            Self::DecryptWithGcp => "decrypt_with_gcp",
            Self::DecryptWithVault => "decrypt_with_vault",
        }
    }
}
