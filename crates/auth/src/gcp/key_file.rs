//! Files with credentials of Google's, of the kinds that name nothing of this machine (KS-DEC-2).

use serde::Deserialize;

use super::service_account::KIND;
use super::{ServiceAccount, ServiceAccountError, User};

const USER: &str = "authorized_user";

/// A file with credentials.
pub(crate) enum KeyFile {
    /// A service account's.
    Account(ServiceAccount),
    /// A person's.
    User(User),
}

impl KeyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It is neither, or wants its token from somewhere unsafe.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, ServiceAccountError> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "type", default)]
            kind: String,
        }
        let Kind { kind } = serde_json::from_slice(json).map_err(|_| ServiceAccountError::Form)?;
        if kind == USER {
            return serde_json::from_slice(json).map(Self::User).map_err(|_| ServiceAccountError::Form);
        }
        // The kind first: other ones lack its fields.
        if kind != KIND {
            return Err(ServiceAccountError::Kind);
        }
        ServiceAccount::parse(json).map(Self::Account)
    }
}
