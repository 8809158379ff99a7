//! Keys for S3: of the Secret, of a directory's user, of the pod, or none.

use tokio::time::timeout;
use weir_api::source::BucketSts;
use weir_auth::Credentials;
use weir_bucket::{AccessKeys, Error, S3Service};
use weir_http::{SecretData, text};

use super::{Login, secret_failure};
use crate::bucket::decide::{self, AWS, LDAP, provider};
use crate::source::{Failure, Source};

impl Login<'_> {
    pub(super) async fn s3(&self) -> Result<S3Service, Failure> {
        let spec = &self.attempt.object.spec;
        let keys = match (&self.secret, &spec.sts) {
            (Some(secret), _) => self.static_keys(&secret.data)?,
            (None, sts) if provider(spec) == AWS => Some(self.cloud_keys(sts.as_ref()).await?),
            (None, Some(sts)) if sts.provider == LDAP => Some(self.ldap_keys(sts).await?),
            (None, _) => None,
        };
        Ok(S3Service {
            endpoint: spec.endpoint.clone(),
            region: spec.region.clone(),
            insecure: spec.insecure,
            keys,
        })
    }

    /// Keys of AWS for the object or the pod; from the STS that the object names (SRC-BKT-12).
    async fn cloud_keys(&self, sts: Option<&BucketSts>) -> Result<AccessKeys, Failure> {
        let caller = self.caller();
        let region = self.attempt.object.spec.region.as_deref();
        let endpoint = sts.filter(|sts| sts.provider == AWS).map(|sts| sts.endpoint.as_str());
        let login = self.issued(self.logins().aws(&caller, region, endpoint)).await?;
        match &login.credentials {
            Credentials::Aws { access_key_id, secret_access_key, session_token } => Ok(AccessKeys {
                id: access_key_id.clone(),
                secret: secret_access_key.clone(),
                session_token: session_token.clone(),
            }),
            _ => Err(decide::unauthenticated("failed to get credential from aws: it issued no keys")),
        }
    }

    /// The keys of the Secret, which needs both fields; an empty one stands for a bucket that anyone may read.
    fn static_keys(&self, data: &SecretData) -> Result<Option<AccessKeys>, Failure> {
        if ["accesskey", "secretkey"].iter().any(|field| !data.contains_key(*field)) {
            return Err(self.invalid("required fields 'accesskey' and 'secretkey'"));
        }
        let keys = self.text("accesskey").zip(self.hidden("secretkey"));
        Ok(keys.map(|(id, secret)| AccessKeys { id, secret, session_token: None }))
    }

    /// User and password in the Secret for a token service.
    async fn ldap_user(&self, name: &str) -> Result<(String, String), Failure> {
        let secret = self.reconciler.secrets.get(&self.attempt.key().namespace, name).await;
        let secret = secret.map_err(|error| secret_failure("STS ", &error))?;
        text(&secret.data, "username").zip(text(&secret.data, "password")).ok_or_else(|| {
            decide::unauthenticated(format!(
                "invalid '{name}' secret data for 'ldap' STS provider: required fields username, password"
            ))
        })
    }

    /// Keys that a MinIO server gives a user of its directory; through the object's proxy (SRC-BKT-10).
    async fn ldap_keys(&self, sts: &BucketSts) -> Result<AccessKeys, Failure> {
        let endpoint = weir_http::go_url::parse(&sts.endpoint).map_err(|error| {
            let shown = weir_http::go_url::without_user_info(&sts.endpoint);
            let message = format!("failed to parse STS endpoint '{shown}': {error}");
            Failure::fetch("URLInvalid", message).stalled()
        })?;
        let (secrets, namespace) = (&self.reconciler.secrets, &self.attempt.key().namespace);
        let (user, password) = match &sts.secret_ref {
            None => (String::new(), String::new()),
            Some(reference) => self.ldap_user(&reference.name).await?,
        };
        let http = secrets.certificates(namespace, sts.cert_secret_ref.as_ref()).await;
        let mut http =
            http.map_err(|error| decide::unauthenticated(format!("failed to get STS TLS config: {error}")))?;
        http.proxy = self.http.proxy.clone();
        let password = password.into();
        let keys = self.reconciler.buckets.directory_keys(&endpoint, &user, &password, &http);
        // Flux logs in with the first question to the bucket.
        let bucket = &self.attempt.object.spec.bucket_name;
        let unconfirmed =
            |why: &str| decide::failed(format!("failed to confirm existence of '{bucket}' bucket: {why}"));
        match timeout(self.attempt.object.timeout(), keys).await {
            Ok(Ok(keys)) => Ok(keys),
            Ok(Err(Error::Client(error))) => {
                Err(decide::unauthenticated(format!("failed to get STS TLS config: {error}")))
            }
            Ok(Err(error)) => Err(unconfirmed(&as_written(&error.to_string(), &sts.endpoint))),
            Err(_) => Err(unconfirmed("context deadline exceeded")),
        }
    }
}

/// A message with the address of a token service as the object has it: without the slash that URLs end in otherwise.
fn as_written(message: &str, endpoint: &str) -> String {
    message.replacen(&format!("\"{endpoint}/\""), &format!("\"{endpoint}\""), 1)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::as_written;

    #[rstest]
    #[case("http://h:1", "Post \"http://h:1/\": EOF", "Post \"http://h:1\": EOF")]
    #[case("http://h:1/", "Post \"http://h:1/\": EOF", "Post \"http://h:1/\": EOF")]
    #[case("http://h:1/a", "Post \"http://h:1/a\": EOF", "Post \"http://h:1/a\": EOF")]
    fn addresses(#[case] endpoint: &str, #[case] message: &str, #[case] expected: &str) {
        assert_eq!(as_written(message, endpoint), expected);
    }
}
