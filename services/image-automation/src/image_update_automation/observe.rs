//! Reads what a run depends on: the repository, its Secrets, the policies.

use std::sync::Arc;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use weir_access::{GitAccess, GitAccessError, GitRules, SigningSecretError};
use weir_api::{GitRepository, ImageUpdateAutomation};
use weir_runtime::ObjectKey;
use weir_verify::git::SigningKey;

use super::{Automation, Settings};
use crate::{
    git_source,
    policy::{self, Selected},
};

const RULES: GitRules = GitRules { refuses_locked_keys: false };

/// Everything that a run is decided by.
pub(super) struct Observed {
    pub(super) automation: Arc<ImageUpdateAutomation>,
    /// The repository, and how it is reached or why not.
    pub(super) repository: Option<(Arc<GitRepository>, Result<GitAccess, GitAccessError>)>,
    /// The key that commits are signed with, if they are, or why it cannot be used.
    pub(super) signing_key: Option<Result<SigningKey, SigningSecretError>>,
    /// Policies that the selector selects, or the fault in the selector.
    pub(super) policies: Result<Selected, String>,
    pub(super) settings: Settings,
}

impl Observed {
    /// Returns true when the repository is out of reach by its namespace.
    pub(super) fn is_blocked(&self) -> bool {
        is_blocked(&self.automation, self.settings)
    }
}

fn is_blocked(automation: &ImageUpdateAutomation, settings: Settings) -> bool {
    let own = ObjectKey::of(automation).namespace;
    settings.no_cross_namespace_refs && git_source::repository_key(automation).namespace != own
}

impl Automation {
    pub(super) async fn observe(
        &self,
        automation: Arc<ImageUpdateAutomation>,
        now: Timestamp,
        cancel: &CancellationToken,
    ) -> Observed {
        let key = git_source::repository_key(&automation);
        // An object that may not be referred to is not read either.
        let repository =
            if is_blocked(&automation, self.settings) { None } else { self.repositories.get(&key) };
        let repository = match repository {
            Some(repository) => {
                let access = self.secrets.git_access(&repository, &RULES, cancel).await;
                Some((repository, access))
            }
            None => None,
        };
        Observed {
            signing_key: self.signing_key(&automation, now).await,
            policies: policy::selected(&automation, &self.policies, &self.resolutions),
            settings: self.settings,
            repository,
            automation,
        }
    }

    async fn signing_key(
        &self,
        automation: &ImageUpdateAutomation,
        now: Timestamp,
    ) -> Option<Result<SigningKey, SigningSecretError>> {
        let declared = automation.spec.git.as_ref()?.commit.signing_key.as_ref()?;
        let namespace = ObjectKey::of(automation).namespace;
        Some(self.secrets.signing_key(&namespace, declared, now).await)
    }
}
