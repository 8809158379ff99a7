//! The identity and the way by which a bucket is read: Secrets of the object, or the identity of the Pod (SRC-BKT-7,
//! 9…11).

mod azure;
mod s3;

use std::future::Future;
use std::sync::Arc;

use secrecy::SecretString;
use url::Url;
use weir_access::{ProfileError, ReadError, Secret};
use weir_api::Bucket;
use weir_auth::{BucketLogin, Caller, Credentials, LoginError, Logins};
use weir_bucket::{Error, GcsService, Service};
use weir_http::Profile;

use super::BucketReconciler;
use super::decide::{self, AWS, AZURE, GCP, provider};
use crate::login::login_failure;
use crate::source::{Attempt, Failure, Source};

/// Names an emulator to Google's own clients, and so to Flux.
const GCS_EMULATOR: &str = "STORAGE_EMULATOR_HOST";

impl BucketReconciler {
    /// The bucket of an object, ready to be asked.
    pub(super) async fn open(&self, attempt: &Attempt<'_, Bucket>) -> Result<weir_bucket::Bucket, Failure> {
        let spec = &attempt.object.spec;
        decide::check_sts(spec)?;
        Failure::unless_gated(spec.service_account_name.as_deref(), self.workload_identity)?;
        let secret = self.secrets.find(&attempt.key().namespace, spec.secret_ref.as_ref()).await;
        let secret = secret.map_err(|error| secret_failure("", &error))?;
        let http = self.transport(attempt).await?;
        let login = Login { reconciler: self, attempt, secret, http: &http };
        let service = match provider(spec) {
            GCP => Service::Gcs(login.gcs().await?),
            AZURE => Service::Azure(login.azure().await?),
            _ => Service::S3(login.s3().await?),
        };
        let opened = self.buckets.open(&spec.bucket_name, service, &http);
        opened.map_err(|error| confirm_failure(&spec.bucket_name, &error))
    }

    /// Certificates and proxy of the object. The clients of Google and Azure have no certificates of the object, whose Secret is
    /// read all the same.
    async fn transport(&self, attempt: &Attempt<'_, Bucket>) -> Result<Profile, Failure> {
        let spec = &attempt.object.spec;
        let (certificates, proxy) = (spec.cert_secret_ref.as_ref(), spec.proxy_secret_ref.as_ref());
        let profile = self.secrets.profile(&attempt.key().namespace, certificates, proxy).await;
        let profile = profile.map_err(|error| {
            decide::unauthenticated(match error {
                ProfileError::Certificates(error) => format!("failed to get TLS config: {error}"),
                ProfileError::Proxy(error) => format!("failed to get proxy URL: {error}"),
            })
        })?;
        Ok(match provider(spec) {
            GCP | AZURE => Profile { proxy: profile.proxy, ..Profile::default() },
            _ => profile,
        })
    }
}

/// Returns the failure of a Secret that cannot be read; `what` is a word about it for the message.
fn secret_failure(what: &str, error: &ReadError) -> Failure {
    decide::unauthenticated(format!("failed to get {what}secret '{}': {error}", error.place))
}

/// Makes the failure of a bucket that cannot even be requested. Flux finds an invalid endpoint while it makes its
/// client.
fn confirm_failure(name: &str, error: &Error) -> Failure {
    match error {
        Error::EndpointPath | Error::NoHost(_) | Error::Endpoint { .. } | Error::ForeignHost { .. } => {
            decide::unauthenticated(error.to_string())
        }
        Error::Client(error) => decide::unauthenticated(format!("failed to get TLS config: {error}")),
        _ => decide::failed(format!("failed to confirm existence of '{name}' bucket: {error}")),
    }
}

/// The inputs of a login.
struct Login<'a> {
    reconciler: &'a BucketReconciler,
    attempt: &'a Attempt<'a, Bucket>,
    /// The Secret of `spec.secretRef`.
    secret: Option<Secret>,
    http: &'a Profile,
}

impl Login<'_> {
    async fn gcs(&self) -> Result<GcsService, Failure> {
        let emulator = std::env::var(GCS_EMULATOR).ok().filter(|host| !host.is_empty());
        let emulator = emulator.map(|host| {
            let url = if host.contains("://") { host } else { format!("http://{host}") };
            Url::parse(&url).map_err(|error| decide::failed(format!("{GCS_EMULATOR}: {error}")))
        });
        let emulator = emulator.transpose()?;
        let token = match &self.secret {
            Some(secret) => {
                let login =
                    BucketLogin::gcp(&secret.data).map_err(|error| self.invalid(&error.to_string()))?;
                Some(self.token(&login).await?)
            }
            None if emulator.is_some() => None,
            None => {
                let caller = self.caller();
                let login = self.issued(self.logins().gcp(&caller)).await?;
                Some(token_of(&login))
            }
        };
        Ok(GcsService { emulator, token })
    }

    /// The token for what the Secret holds.
    async fn token(&self, login: &BucketLogin) -> Result<SecretString, Failure> {
        let caller = self.caller();
        let login = self.issued(self.logins().bucket(&caller, login)).await?;
        Ok(token_of(&login))
    }

    /// The Secret does not hold what it should.
    fn invalid(&self, why: &str) -> Failure {
        let reference = self.attempt.object.spec.secret_ref.as_ref();
        let name = reference.map_or("", |reference| reference.name.as_str());
        decide::unauthenticated(format!("invalid '{name}' secret data: {why}"))
    }

    /// The text of a field of the Secret.
    fn text(&self, field: &str) -> Option<String> {
        weir_http::text(&self.secret.as_ref()?.data, field)
    }

    fn hidden(&self, field: &str) -> Option<SecretString> {
        self.text(field).map(SecretString::from)
    }

    fn logins(&self) -> &Logins {
        &self.reconciler.logins
    }

    /// The object, or the pod in its place, as the one who logs in to a cloud (SRC-BKT-9).
    fn caller(&self) -> Caller<'_> {
        let (object, key) = (&self.attempt.object, self.attempt.key());
        let account = object.spec.service_account_name.as_deref();
        weir_access::caller::<Bucket>(key, account, self.http, object.timeout())
    }

    /// Returns the credentials that a cloud issued.
    async fn issued(
        &self,
        login: impl Future<Output = Result<Arc<weir_auth::Login>, LoginError>>,
    ) -> Result<Arc<weir_auth::Login>, Failure> {
        let provider = provider(&self.attempt.object.spec);
        let what = match provider {
            AWS => "AWS authentication failed".to_owned(),
            _ => format!("failed to get credential from {provider}"),
        };
        login.await.map_err(|error| login_failure(&error, &what))
    }
}

/// The bearer token of a login; empty for what is none, which the server refuses.
fn token_of(login: &weir_auth::Login) -> SecretString {
    match &login.credentials {
        Credentials::Bearer(token) => token.clone(),
        _ => SecretString::default(),
    }
}

#[cfg(test)]
mod tests {
    use weir_bucket::Error;
    use weir_http::ClientError;

    use super::confirm_failure;

    /// SRC-BKT-11.
    #[test]
    fn an_authority_that_is_none_is_told_as_such() {
        let cause = confirm_failure("apps", &Error::Client(ClientError::Ca)).cause;
        let expected = "failed to get TLS config: failed to parse CA certificate";
        assert_eq!((cause.reason, cause.message.as_str()), ("AuthenticationFailed", expected));
    }
}
