//! The plan of a bootstrap: everything that flags decide, checked.

use secrecy::SecretString;
use weir_git::{Git, Remote};
use weir_verify::git::SigningKey;

use super::flags::BootstrapFlags;
use super::hosted::Hosted;
use crate::command::create::{Entries, below};

/// A bootstrap.
pub(super) struct Plan {
    pub(super) flags: BootstrapFlags,
    /// Directory of the cluster in the repository, with `./` before it.
    pub(super) path: String,
    /// Namespace of the services; also the name of the source and of the Kustomization.
    pub(super) namespace: String,
    /// The repository, as messages name it.
    pub(super) url: String,
    /// The repository, as this command reaches it.
    pub(super) git: Git,
    pub(super) remote: Remote,
    /// The repository, as the services reach it.
    pub(super) sync_url: String,
    /// Cloud as whose identity the services reach it, if they do.
    pub(super) provider: Option<&'static str>,
    pub(super) credentials: SyncCredentials,
    /// The key that signs the commits, if one does.
    pub(super) signing_key: Option<SigningKey>,
}

/// Credentials of the services.
pub(super) enum SyncCredentials {
    /// Entries of the Secret; without any there is none. `replaces` says that a Secret that is there gets them.
    Given { entries: Entries, replaces: bool },
    /// A key for Git over SSH.
    Key { passphrase: Option<SecretString>, access: Access },
    /// A token that the vendor makes for this cluster.
    DeployToken { hosted: Box<Hosted>, title: String, ca: Option<String> },
}

/// The way in which a new key gets access to the repository.
pub(super) enum Access {
    /// A person gives it; `asks` if the command has to wait for that.
    Person { asks: bool },
    /// The vendor's API gives it.
    Api { hosted: Box<Hosted>, title: String, is_writable: bool },
}

impl Plan {
    /// Returns the directory of the cluster in the repository.
    pub(super) fn path_of(flags: &BootstrapFlags) -> String {
        below(&flags.path)
    }

    /// Returns false when the services need no Secret: they log in as themselves.
    pub(super) fn has_secret(&self) -> bool {
        !matches!(&self.credentials, SyncCredentials::Given { entries, .. } if entries.is_empty())
    }

    /// Returns the folder of the manifests, as Git names it.
    pub(super) fn folder(&self) -> String {
        format!("{}/{}", self.path, self.namespace)
            .trim_start_matches("./")
            .trim_start_matches('/')
            .to_owned()
    }

    /// Returns the path of one of the manifests, as Git names it.
    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder())
    }
}
