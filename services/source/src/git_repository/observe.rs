//! The facts by which a run decides, gathered before it asks the remote.

use super::GitReconciler;
use super::include::Include;
use super::verify::Trust;
use crate::go_url;
use crate::secrets::{self, SecretData};
use crate::source::{Attempt, Failure, Source};
use url::Url;
use weir_api::GitRepository;
use weir_git::{Credentials, Profile, Remote};

const AUTHENTICATION_FAILED: &str = "AuthenticationFailed";

/// Everything that a run is decided by, beside the object and its artifact.
pub(super) struct Observed {
    /// Address of the remote, and our identity there.
    pub(super) remote: Remote,
    /// Artifacts that are put into this one.
    pub(super) includes: Vec<Include>,
    /// Trusted keys; none when signatures do not matter. An error is reported only if the fetch succeeded, as Flux does.
    pub(super) trust: Result<Option<Trust>, Failure>,
    /// True when the artifact that is there was verified with what would be asked of it now.
    pub(super) is_verified: bool,
}

impl GitReconciler {
    /// Reads what the object refers to.
    pub(super) async fn observe(&self, attempt: &Attempt<'_, GitRepository>) -> Result<Observed, Failure> {
        let remote = self.remote(attempt).await?;
        let includes = self.includes(attempt)?;
        let trust = self.trust(attempt).await;
        let asked = trust.as_ref().ok().and_then(Option::as_ref);
        let known = attempt.known.as_ref();
        let is_verified = known.is_some_and(|known| self.is_verified(attempt, asked, &known.revision));
        Ok(Observed { remote, includes, trust, is_verified })
    }

    /// The remote of an object (SRC-GIT 4.9).
    async fn remote(&self, attempt: &Attempt<'_, GitRepository>) -> Result<Remote, Failure> {
        let (spec, key) = (&attempt.object.spec, attempt.key());
        let mut http = Profile::default();
        if let Some(reference) = &spec.proxy_secret_ref {
            let proxy = secrets::proxy(&self.secrets, key, &reference.name).await.map_err(|error| {
                Failure::fetch(AUTHENTICATION_FAILED, format!("failed to configure proxy options: {error}"))
            })?;
            http.proxy = Some(proxy);
        }
        let url = parse_url(&spec.url)?;
        let name = spec.secret_ref.as_ref().map(|reference| reference.name.as_str());
        let data = match name {
            Some(name) => Some(self.read(key, name).await?),
            None => None,
        };
        let place = secrets::shown(key, name.unwrap_or_default());
        let empty = SecretData::new();
        let data = data.as_ref();
        // Certificates are for the server, the proxy on the way or the API of GitHub. Else the Secret may hold anything.
        if url.scheme() == "https" || http.proxy.is_some() || spec.provider.as_deref() == Some("github") {
            http.add_whole_tls(data.unwrap_or(&empty));
        }
        let caller = secrets::caller(attempt, spec.service_account_name.as_deref(), &http);
        let provider = spec.provider.as_deref();
        let issued = secrets::git_credentials(&self.logins, &caller, provider, &url, &place, data).await?;
        let credentials = match issued {
            Some(issued) => issued,
            None => credentials(&url, data.unwrap_or(&empty), &place)?,
        };
        if url.scheme() == "http" && !matches!(credentials, Credentials::None) {
            tracing::warn!(object = %key, "credentials are sent over plain HTTP");
        }
        let timeout = attempt.object.timeout();
        let store = self.store_of(&attempt.object);
        Ok(Remote {
            url,
            credentials,
            http,
            store,
            part: None,
            allowance: None,
            timeout,
            cancel: attempt.run.cancel.clone(),
        })
    }

    async fn read(&self, key: &weir_runtime::ObjectKey, name: &str) -> Result<SecretData, Failure> {
        let place = secrets::shown(key, name);
        // Both halves say the same; Flux's users know the message so.
        let message =
            |error| format!("failed to get secret '{place}': failed to get secret '{place}': {error}");
        let read = self.secrets.secret(&key.namespace, name).await;
        read.map_err(|error| Failure::fetch(AUTHENTICATION_FAILED, message(error)))
    }
}

fn parse_url(text: &str) -> Result<Url, Failure> {
    go_url::parse(text).map_err(|error| {
        let shown = go_url::without_user_info(text);
        let error = error.replace(text, &shown);
        Failure::fetch("URLInvalid", format!("failed to parse url '{shown}': {error}")).stalled()
    })
}

fn credentials(url: &Url, data: &SecretData, place: &str) -> Result<Credentials, Failure> {
    let failed = |message: String| Failure::fetch(AUTHENTICATION_FAILED, message);
    let credentials = Credentials::from_secret(url, data)
        .map_err(|error| failed(format!("failed to configure authentication options: {error}")))?;
    let is_locked = secrets::text(data, "identity").is_some_and(|key| weir_git::identity_is_encrypted(&key));
    if matches!(&credentials, Credentials::Ssh(auth) if auth.passphrase.is_none()) && is_locked {
        let message = format!(
            "SSH identity key is encrypted but no 'password' field was provided in the secret '{place}'"
        );
        return Err(failed(message));
    }
    Ok(credentials)
}
