//! Requests to a REST API that speaks JSON.

use http::{HeaderValue, Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use weir_http::{Clients, Profile};

use crate::error::Error;

/// Bytes of an answer: lists of keys have some KiB.
const MAX_ANSWER: usize = 8 << 20;
/// Characters of an error that are shown.
const MAX_ERROR: usize = 300;
/// Pages of a list. A hundred of them have the keys of some thousand clusters.
pub(super) const MAX_PAGES: usize = 100;
/// Fewest entries of a page that is not the last one; no vendor has smaller pages by default.
const SMALLEST_PAGE: usize = 20;
/// Name of this client.
const USER_AGENT: &str = "weir";

/// An API, and who we are there.
pub(in super::super) struct Api {
    client: reqwest::Client,
    base: String,
    authorization: HeaderValue,
    token: SecretString,
    /// End of `--timeout`.
    deadline: Instant,
}

impl Api {
    /// An API below `base`, where `authorization` identifies us and holds `token`. Nobody waits for its answers after the deadline.
    pub(super) fn new(
        http: &Profile,
        base: String,
        authorization: &SecretString,
        token: &SecretString,
        deadline: Instant,
    ) -> Result<Self, Error> {
        let failed = |reason: String| Error::Bootstrap(reason);
        let client = Clients::new(USER_AGENT).get(http).map_err(|error| failed(error.to_string()))?;
        let mut value = HeaderValue::from_str(authorization.expose_secret())
            .map_err(|_| failed("the token has characters that no token has".to_owned()))?;
        value.set_sensitive(true);
        Ok(Self { client, base, authorization: value, token: token.clone(), deadline })
    }

    /// Gets something; nothing when it is not there.
    pub(super) async fn get(&self, path: &str) -> Result<Option<Value>, Error> {
        match self.send(Method::GET, path, None).await? {
            (status, answer) if status.is_success() => Ok(Some(answer)),
            (StatusCode::NOT_FOUND, _) => Ok(None),
            (status, answer) => Err(self.refused(&Method::GET, path, status, &answer)),
        }
    }

    /// Gets all entries of a list, which comes in pages; `size` is the parameter that asks for large ones.
    pub(super) async fn list(&self, path: &str, size: &str) -> Result<Vec<Value>, Error> {
        let mut entries = Vec::new();
        for page in 1..=MAX_PAGES {
            let found = self.get(&format!("{path}?{size}&page={page}")).await?.unwrap_or_default();
            let Value::Array(found) = found else { break };
            // A server that knows no pages gives the same list again.
            let is_last = found.len() < SMALLEST_PAGE || entries.ends_with(&found);
            entries.extend(found);
            if is_last {
                break;
            }
        }
        Ok(entries)
    }

    /// Makes something.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.change(Method::POST, path, Some(body)).await
    }

    /// Sets something.
    pub(super) async fn put(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.change(Method::PUT, path, Some(body)).await
    }

    /// Deletes something.
    pub(super) async fn delete(&self, path: &str) -> Result<(), Error> {
        self.change(Method::DELETE, path, None).await.map(drop)
    }

    async fn change(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        match self.send(method.clone(), path, body).await? {
            (status, answer) if status.is_success() => Ok(answer),
            (status, answer) => Err(self.refused(&method, path, status, &answer)),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), Error> {
        let url = format!("{}{path}", self.base);
        let failed = |reason: String| Error::Bootstrap(format!("{method} {url}: {reason}"));
        let request = self.client.request(method.clone(), &url);
        let mut request = request.header("authorization", self.authorization.clone());
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let exchange = async {
            let answer = request.send().await.map_err(|error| crate::error::chain(&error.without_url()))?;
            let status = answer.status();
            let body = weir_http::read_capped(answer, MAX_ANSWER).await.map_err(|error| error.to_string())?;
            Ok((status, body))
        };
        let exchanged = timeout_at(self.deadline, exchange).await;
        let (status, body) =
            exchanged.unwrap_or_else(|_| Err(Error::Deadline.to_string())).map_err(failed)?;
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        Ok((status, serde_json::from_slice(&body).unwrap_or_else(|_| text())))
    }

    /// Returns the error of an answer, without the token that the server may repeat.
    fn refused(&self, method: &Method, path: &str, status: StatusCode, answer: &Value) -> Error {
        let said: String = match answer {
            Value::String(text) => text.chars().take(MAX_ERROR).collect(),
            other => other.to_string().chars().take(MAX_ERROR).collect(),
        };
        let said = weir_http::redact(&said, std::slice::from_ref(&self.token), weir_http::REDACTED);
        Error::Bootstrap(format!("{method} {}{path}: {} {said}", self.base, status.as_u16()))
    }
}
