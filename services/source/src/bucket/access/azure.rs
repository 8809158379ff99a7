//! Access to Azure, by the first of the ways that the Secret has (SRC-BKT-11).

use std::future::ready;

use secrecy::SecretString;
use weir_auth::{BucketLogin, LoginError, ProviderError, azure_storage_suffix};
use weir_bucket::{AzureAccess, AzureService};
use weir_http::SecretData;

use super::{Login, token_of};
use crate::source::Failure;

/// Message about the fields that a Secret for Azure needs.
const REQUIRED: &str = "requires a 'clientId' or 'accountKey' field, a combination of 'tenantId', 'clientId' and \
                        'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'";

impl Login<'_> {
    pub(super) async fn azure(&self) -> Result<AzureService, Failure> {
        let access = match &self.secret {
            Some(secret) => self.azure_secret(&secret.data).await?,
            None => {
                let caller = self.caller();
                match self.logins().azure_storage(&caller).await {
                    // A pod that nobody gave an identity may read what is public.
                    Err(LoginError::Provider(error)) if matches!(*error, ProviderError::Pod(_)) => {
                        tracing::warn!(bucket = %self.attempt.key(), %error, "asked for anonymously");
                        AzureAccess::Anonymous
                    }
                    login => {
                        let login = self.issued(ready(login)).await?;
                        shared(token_of(&login))
                    }
                }
            }
        };
        Ok(AzureService { endpoint: self.attempt.object.spec.endpoint.clone(), access })
    }

    async fn azure_secret(&self, data: &SecretData) -> Result<AzureAccess, Failure> {
        if let Some(login) = BucketLogin::azure(data) {
            let token = self.token(&login).await?;
            return Ok(match login.is_of_machine() {
                true => shared(token),
                false => AzureAccess::Token(token),
            });
        }
        if let Some(key) = self.hidden("accountKey") {
            return Ok(AzureAccess::AccountKey(key));
        }
        match self.hidden("sasKey") {
            Some(signature) => Ok(AzureAccess::Signature(signature)),
            None => Err(self.invalid(REQUIRED)),
        }
    }
}

fn shared(token: SecretString) -> AzureAccess {
    AzureAccess::SharedToken { token, suffix: azure_storage_suffix() }
}
