//! Reads what a run depends on: the repository, its Secrets, the policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use tokio_util::sync::CancellationToken;
use weir_api::{GitRepository, ImageUpdateAutomation, LocalObjectReference};
use weir_http::SecretData;
use weir_runtime::ObjectKey;

use super::{Automation, Settings};
use crate::{
    git_source,
    policy::{self, Selected},
};

/// Everything that a run is decided by.
pub(super) struct Observed {
    pub(super) automation: Arc<ImageUpdateAutomation>,
    pub(super) repository: Option<Arc<GitRepository>>,
    /// Data of the repository's Secret, or why it could not be read.
    pub(super) secret: Result<Option<SecretData>, String>,
    /// Data of its proxy's Secret, or why it could not be read.
    pub(super) proxy: Result<Option<SecretData>, String>,
    /// Policies that the selector selects, or the fault in the selector.
    pub(super) policies: Result<Selected, String>,
    pub(super) settings: Settings,
    pub(super) cancel: CancellationToken,
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
        cancel: &CancellationToken,
    ) -> Observed {
        let key = git_source::repository_key(&automation);
        // An object that may not be referred to is not read either.
        let repository =
            if is_blocked(&automation, self.settings) { None } else { self.repositories.get(&key) };
        let spec = repository.as_ref().map(|repository| &repository.spec);
        let secret = spec.and_then(|spec| spec.secret_ref.as_ref());
        let proxy = spec.and_then(|spec| spec.proxy_secret_ref.as_ref());
        Observed {
            secret: self.secret(&key.namespace, secret, "auth").await,
            proxy: self.secret(&key.namespace, proxy, "proxy").await,
            policies: policy::selected(&automation, &self.policies, &self.resolutions),
            settings: self.settings,
            cancel: cancel.clone(),
            repository,
            automation,
        }
    }

    async fn secret(
        &self,
        namespace: &str,
        reference: Option<&LocalObjectReference>,
        what: &str,
    ) -> Result<Option<SecretData>, String> {
        let Some(LocalObjectReference { name }) = reference else { return Ok(None) };
        let failed = |cause: &dyn std::fmt::Display| {
            format!("failed to get {what} secret '{namespace}/{name}': {cause}")
        };
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = api.get(name).await.map_err(|error| match error {
            kube::Error::Api(status) => failed(&status.message),
            other => failed(&other),
        })?;
        let data = secret.data.unwrap_or_default();
        Ok(Some(data.into_iter().map(|(key, value)| (key, value.0)).collect::<BTreeMap<_, _>>()))
    }
}
