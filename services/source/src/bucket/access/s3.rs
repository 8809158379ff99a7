//! Keys for S3: of the Secret, of a directory's user, of the pod, or none.

use super::Login;
use crate::bucket::decide::{self, AWS, LDAP, provider};
use crate::secrets::{self, text};
use crate::source::Failure;
use weir_api::source::BucketSts;
use weir_bucket::login::ldap;
use weir_bucket::{AccessKeys, S3Service};
use weir_http::Profile;

impl Login<'_> {
    pub(super) async fn s3(&self) -> Result<S3Service, Failure> {
        let spec = &self.attempt.object.spec;
        let keys = match (&self.secret, &spec.sts) {
            (Some(_), _) => Some(self.static_keys()?),
            (None, _) if provider(spec) == AWS => return Err(self.unsupported()),
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

    fn static_keys(&self) -> Result<AccessKeys, Failure> {
        match (self.text("accesskey"), self.hidden("secretkey")) {
            (Some(id), Some(secret)) => Ok(AccessKeys { id, secret, session_token: None }),
            _ => Err(self.invalid("required fields 'accesskey' and 'secretkey'")),
        }
    }

    /// Keys that a MinIO server gives a user of its directory; through the object's proxy (SRC-BKT-10).
    async fn ldap_keys(&self, sts: &BucketSts) -> Result<AccessKeys, Failure> {
        let endpoint = crate::go_url::parse(&sts.endpoint).map_err(|error| {
            let shown = crate::go_url::without_user_info(&sts.endpoint);
            let message = format!("failed to parse STS endpoint '{shown}': {error}");
            Failure::fetch("URLInvalid", message).stalled()
        })?;
        let (user, password) = match &sts.secret_ref {
            None => (String::new(), String::new()),
            Some(reference) => {
                let name = &reference.name;
                let data = self.reconciler.read(self.attempt, name, "STS ").await?;
                match (text(&data, "username"), text(&data, "password")) {
                    (Some(user), Some(password)) => (user, password),
                    _ => {
                        return Err(decide::unauthenticated(format!(
                            "invalid '{name}' secret data for 'ldap' STS provider: required fields username, password"
                        )));
                    }
                }
            }
        };
        let mut http = match &sts.cert_secret_ref {
            None => Profile::default(),
            Some(reference) => {
                let tls = secrets::tls(&self.reconciler.secrets, self.attempt.key(), &reference.name).await;
                tls.map_err(|error| {
                    decide::unauthenticated(format!("failed to get STS TLS config: {error}"))
                })?
            }
        };
        http.proxy = self.http.proxy.clone();
        let client = self.reconciler.buckets.client(&http);
        let client = client
            .map_err(|error| decide::unauthenticated(format!("failed to get STS TLS config: {error}")))?;
        self.session(ldap(&client, &endpoint, &user, &password.into())).await
    }
}
