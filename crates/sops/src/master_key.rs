//! Keys that a document's data key is encrypted with (KS-SOPS-3).

use std::fmt;

/// An encrypted copy of the data key, or of a share of it, and the key that opens it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MasterKey {
    /// age, with X25519 or SSH keys.
    Age {
        /// The recipient.
        recipient: String,
        /// The armored message.
        enc: String,
    },
    /// OpenPGP.
    Pgp {
        /// The fingerprint.
        fingerprint: String,
        /// The armored message.
        enc: String,
    },
    /// AWS KMS.
    AwsKms {
        /// ARN of the key.
        arn: String,
        /// Role to assume first; empty is none.
        role: String,
        /// Encryption context.
        context: Vec<(String, String)>,
        /// The ciphertext in base64.
        enc: String,
    },
    /// Google Cloud KMS.
    GcpKms {
        /// `projects/…/cryptoKeys/…`
        resource: String,
        /// The ciphertext in base64.
        enc: String,
    },
    /// Azure Key Vault.
    AzureKeyVault {
        /// Base of the vault's URL.
        vault_url: String,
        /// Name of the key.
        name: String,
        /// Version of the key.
        version: String,
        /// The ciphertext in base64 for URLs.
        enc: String,
    },
    /// The transit engine of Vault or OpenBao.
    Vault {
        /// Base of the server's URL.
        address: String,
        /// Mount point of the engine.
        engine: String,
        /// Name of the key.
        key: String,
        /// The ciphertext as Vault writes it.
        enc: String,
    },
    /// KMS of Huawei Cloud.
    HuaweiKms {
        /// Id of the key.
        id: String,
        /// The ciphertext.
        enc: String,
    },
}

impl MasterKey {
    /// Returns the encrypted data key.
    #[must_use]
    pub fn enc(&self) -> &str {
        match self {
            Self::Age { enc, .. }
            | Self::Pgp { enc, .. }
            | Self::AwsKms { enc, .. }
            | Self::GcpKms { enc, .. }
            | Self::AzureKeyVault { enc, .. }
            | Self::Vault { enc, .. }
            | Self::HuaweiKms { enc, .. } => enc,
        }
    }

    /// Returns true when only a server can decrypt with the key.
    #[must_use]
    pub fn is_kept_by_server(&self) -> bool {
        self.order() > 1
    }

    /// Returns the place in the order in which keys of a group are tried: keys at hand before those of servers (KS-SOPS-4).
    pub(crate) fn order(&self) -> u8 {
        match self {
            Self::Age { .. } => 0,
            Self::Pgp { .. } => 1,
            _ => 2,
        }
    }
}

/// The name of the key as SOPS has it in messages.
impl fmt::Display for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Age { recipient, .. } => f.write_str(recipient),
            Self::Pgp { fingerprint, .. } => f.write_str(fingerprint),
            Self::AwsKms { arn, role, context, .. } => {
                f.write_str(arn)?;
                if !role.is_empty() {
                    write!(f, "+{role}")?;
                }
                let mut pairs: Vec<String> =
                    context.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                pairs.sort();
                if pairs.is_empty() { Ok(()) } else { write!(f, "|{}", pairs.join(",")) }
            }
            Self::GcpKms { resource, .. } => f.write_str(resource),
            Self::AzureKeyVault { vault_url, name, version, .. } => {
                write!(f, "{vault_url}/keys/{name}/{version}")
            }
            Self::Vault { address, engine, key, .. } => write!(f, "{address}/v1/{engine}/keys/{key}"),
            Self::HuaweiKms { id, .. } => f.write_str(id),
        }
    }
}
