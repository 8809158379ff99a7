//! Requests with the token of a user who logs in by OIDC. It is renewed while a command runs, too: `watch` may run for days.

use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::future::{BoxFuture, Either, Ready, ready as done};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tower::{BoxError, Layer, Service};

use super::{Settings, keep, refused, renew, stored, tokens, valid_token};
use crate::error::Error;
use crate::output::progress;

/// Longest wait for an issuer.
const LONGEST: Duration = Duration::from_secs(30);

/// The login of a user.
#[derive(Clone)]
pub(in super::super) struct Login(Arc<Mutex<State>>);

struct State {
    settings: Settings,
    /// The tokens of the kubeconfig, as it had them last.
    stored: Settings,
    /// Name of the user.
    user: String,
    /// Kubeconfig files, one of which has the user.
    files: Vec<PathBuf>,
    /// True where nobody waits for an issuer.
    asks_nobody: bool,
}

/// Adds the token of a login, if there is one, to all requests.
pub(in super::super) struct Bearing(pub(in super::super) Option<Login>);

/// A client that adds a token to requests.
pub(in super::super) struct Bearer<S> {
    inner: S,
    login: Option<Login>,
    /// The token that is waited for.
    asking: Option<BoxFuture<'static, Result<HeaderValue, Error>>>,
    /// The header of the next request.
    header: Option<Result<HeaderValue, Error>>,
}

impl Login {
    pub(in super::super) fn new(
        settings: Settings,
        user: String,
        files: Vec<PathBuf>,
        asks_nobody: bool,
    ) -> Self {
        let stored = tokens(&settings);
        Self(Arc::new(Mutex::new(State { settings, stored, user, files, asks_nobody })))
    }

    /// Returns the header with a token that is good for a while: a new one, where that of the kubeconfig has ended.
    pub(in super::super) async fn header(self) -> Result<HeaderValue, Error> {
        let mut state = self.0.lock().await;
        if valid_token(&state.settings, Timestamp::now())?.is_none() {
            state.renew().await?;
        }
        let token = state.settings.get(super::ID_TOKEN).map(String::as_str).unwrap_or_default();
        let header = HeaderValue::try_from(format!("Bearer {token}"));
        let mut header = header.map_err(|_| refused(&state.settings, "the id-token is no valid JWT"))?;
        header.set_sensitive(true);
        Ok(header)
    }
}

impl State {
    /// Gets new tokens and keeps them in the kubeconfig. It may have newer ones by now, of kubectl or another command; an issuer
    /// that takes each refresh token once would end the login if it saw the old one again.
    async fn renew(&mut self) -> Result<(), Error> {
        if let Some(stored) = stored(&self.files, &self.user).filter(|stored| *stored != self.stored) {
            self.settings.extend(stored.clone());
            self.stored = stored;
            if valid_token(&self.settings, Timestamp::now())?.is_some() {
                return Ok(());
            }
        }
        if self.asks_nobody {
            return Err(refused(&self.settings, "the token has ended"));
        }
        renew(&mut self.settings, LONGEST).await?;
        match keep(&self.files, &self.user, &self.settings) {
            Ok(()) => self.stored = tokens(&self.settings),
            Err(reason) => progress::warning(&format!("could not persist new tokens: {reason}")),
        }
        Ok(())
    }
}

impl<S> Layer<S> for Bearing {
    type Service = Bearer<S>;

    fn layer(&self, inner: S) -> Bearer<S> {
        Bearer { inner, login: self.0.clone(), asking: None, header: None }
    }
}

impl<S, B> Service<Request<B>> for Bearer<S>
where
    S: Service<Request<B>, Error = BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Either<S::Future, Ready<Result<S::Response, BoxError>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if let Some(login) = self.login.as_ref().filter(|_| self.header.is_none()) {
            let asking = self.asking.get_or_insert_with(|| Box::pin(login.clone().header()));
            let header = ready!(asking.as_mut().poll(context));
            (self.asking, self.header) = (None, Some(header));
        }
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match self.header.take() {
            Some(Ok(header)) => drop(request.headers_mut().insert(AUTHORIZATION, header)),
            // This request fails alone: the issuer may be back for the next one.
            Some(Err(error)) => return Either::Right(done(Err(error.into()))),
            None => {}
        }
        Either::Left(self.inner.call(request))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::super::{ID_TOKEN, REFRESH_TOKEN};
    use super::*;

    fn login(id_token: &str) -> Settings {
        let config = [(ID_TOKEN, id_token), (REFRESH_TOKEN, "r")];
        config.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    /// No issuer is there: whatever asks for one fails.
    #[tokio::test]
    async fn tokens_that_another_command_has_renewed_are_taken() {
        let ending = |end: u64| format!("e30.{}.", URL_SAFE_NO_PAD.encode(format!("{{\"exp\":{end}}}")));
        let (old, new) = (ending(0), ending(4_070_908_800));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let write = |token: &str| {
            let config = serde_json::json!({ "users": [{ "name": "u", "user": {
                "auth-provider": { "name": "oidc", "config": login(token) } } }] });
            std::fs::write(&path, config.to_string()).unwrap();
        };
        let user = Login::new(login(&old), "u".to_owned(), vec![path.clone()], true);
        write(&old);
        assert!(user.clone().header().await.is_err());
        write(&new);
        assert_eq!(user.header().await.unwrap(), format!("Bearer {new}"));
    }
}
