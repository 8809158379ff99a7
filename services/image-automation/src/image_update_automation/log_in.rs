//! Credentials that a provider gives for the Git server (IU-26 to IU-28).

use weir_api::{FluxObject, ImageUpdateAutomation};
use weir_auth::{Caller, Credentials};
use weir_runtime::Failure;

use super::{Automation, decide::Work, failure};

impl Automation {
    /// Completes the remote with the credentials that its provider gives, if it has one.
    pub(super) async fn log_in(&self, work: &mut Work) -> Result<(), Failure> {
        let caller = Caller {
            kind: ImageUpdateAutomation::KIND,
            namespace: &work.automation.namespace,
            name: &work.automation.name,
            account: work.account.as_deref(),
            http: &work.remote.http,
            timeout: work.remote.timeout,
        };
        let issued = self.logins.git(&work.login, &caller, &work.remote.url).await;
        let issued = issued.map_err(|error| {
            failure::source_manager(format!("failed to configure authentication options: {error}"))
        })?;
        let Some(login) = issued else { return Ok(()) };
        work.remote.credentials = match &login.credentials {
            Credentials::Basic { username, password } => {
                weir_git::Credentials::Basic { username: username.clone(), password: password.clone() }
            }
            Credentials::Bearer(token) => weir_git::Credentials::Bearer(token.clone()),
            Credentials::Aws { .. } => weir_git::Credentials::None,
        };
        Ok(())
    }
}
