//! Access to Azure, by the first of the ways that the Secret has (SRC-BKT-11).

use super::{Login, token_of};
use crate::source::Failure;
use std::future::ready;
use weir_auth::{LoginError, ProviderError};
use weir_bucket::login::{Application, Proof, managed_identity};
use weir_bucket::{AzureAccess, AzureService};
use weir_http::Profile;

/// Storage accounts of every cloud.
const STORAGE_SCOPE: &str = "https://storage.azure.com/.default";
/// What a Secret for Azure has to hold.
const REQUIRED: &str = "requires a 'clientId' or 'accountKey' field, a combination of 'tenantId', 'clientId' and \
                        'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'";

impl Login<'_> {
    pub(super) async fn azure(&self) -> Result<AzureService, Failure> {
        let access = match &self.secret {
            Some(_) => self.azure_secret().await?,
            None => {
                let caller = self.caller();
                match self.logins().azure(&caller, STORAGE_SCOPE).await {
                    // A pod that nobody gave an identity may read what is public.
                    Err(LoginError::Provider(error)) if matches!(*error, ProviderError::Pod(_)) => {
                        tracing::warn!(bucket = %self.attempt.key(), %error, "asked for anonymously");
                        AzureAccess::Anonymous
                    }
                    login => {
                        let login = self.issued(ready(login)).await?;
                        AzureAccess::Token(token_of(&login))
                    }
                }
            }
        };
        Ok(AzureService { endpoint: self.attempt.object.spec.endpoint.clone(), access })
    }

    async fn azure_secret(&self) -> Result<AzureAccess, Failure> {
        if let Some(client) = self.text("clientId") {
            let token = match self.application(&client) {
                Some(application) => self.session(application.token(&self.client()?)).await?,
                None => {
                    // The machine answers, on an address of its own: no proxy leads there.
                    let machine = self.reconciler.buckets.client(&Profile::default());
                    let machine = machine.map_err(|error| self.invalid(&error.to_string()))?;
                    self.session(managed_identity(&machine, &client)).await?
                }
            };
            return Ok(AzureAccess::Token(token));
        }
        if let Some(key) = self.hidden("accountKey") {
            return Ok(AzureAccess::AccountKey(key));
        }
        match self.hidden("sasKey") {
            Some(signature) => Ok(AzureAccess::Signature(signature)),
            None => Err(self.invalid(REQUIRED)),
        }
    }

    /// The application that the Secret describes, if it does.
    fn application(&self, client: &str) -> Option<Application> {
        let tenant = self.text("tenantId")?;
        let proof = match self.hidden("clientSecret") {
            Some(secret) => Proof::Secret(secret),
            None => {
                let send_chain = self.text("clientCertificateSendChain");
                Proof::Certificate {
                    pem: self.hidden("clientCertificate")?,
                    send_chain: matches!(send_chain.as_deref(), Some("1" | "true")),
                }
            }
        };
        Some(Application { tenant, client: client.to_owned(), authority: self.text("authorityHost"), proof })
    }
}
