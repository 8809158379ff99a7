//! The identity token of a CI job.

use clap::Args;
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::environment;
use crate::error::Error;

/// Variable with the token where neither flag gives one, and its name in messages.
const TOKEN: &str = "TRIGGER_RECEIVER_OIDC_TOKEN";
const SHOWN_TOKEN: &str = "FLUX_TRIGGER_RECEIVER_OIDC_TOKEN";

/// Variables of a job with the address that gives tokens, and with the token for it.
const REQUEST_URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const REQUEST_TOKEN: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";

/// Audience of tokens, unless a flag names one.
const AUDIENCE: &str = "notification-controller";

/// CI systems that give tokens; both do so in the same way.
const PROVIDERS: [&str; 2] = ["github", "forgejo"];

/// Largest answer with a token, in bytes. A token has two KiB.
const MAX_ANSWER: usize = 64 * 1024;

/// Origin of the identity token.
#[derive(Args, Debug)]
pub(super) struct Identity {
    /// CI system to get an identity token from: github or forgejo (generic-oidc only).
    #[arg(long)]
    oidc_provider: Option<String>,
    /// Identity token (generic-oidc only; default $WEIR_TRIGGER_RECEIVER_OIDC_TOKEN or
    /// $FLUX_TRIGGER_RECEIVER_OIDC_TOKEN).
    #[arg(long, value_parser = |text: &str| Ok::<_, String>(SecretString::from(text)))]
    oidc_token: Option<SecretString>,
    /// Audience of the identity token to get (default "notification-controller").
    #[arg(long)]
    oidc_audience: Option<String>,
}

#[derive(serde::Deserialize)]
struct Issued {
    #[serde(default)]
    value: String,
}

impl Identity {
    /// Returns true when a flag is set.
    pub(super) fn is_given(&self) -> bool {
        self.provider().is_some() || self.own_token().is_some() || self.audience().is_some()
    }

    /// Refuses flags that do not go together.
    pub(super) fn check(&self) -> Result<(), Error> {
        let refused = |message: String| Err(Error::Flags(message));
        if self.provider().is_some() && self.own_token().is_some() {
            return refused("--oidc-provider and --oidc-token are mutually exclusive".to_owned());
        }
        if let Some(provider) = self.provider().filter(|provider| !PROVIDERS.contains(provider)) {
            let known = PROVIDERS.join(", ");
            return refused(format!("invalid --oidc-provider \"{provider}\", must be one of: {known}"));
        }
        if self.audience().is_some() && self.provider().is_none() {
            return refused("--oidc-audience can only be set together with --oidc-provider".to_owned());
        }
        Ok(())
    }

    /// Returns the token.
    pub(super) async fn token(&self) -> Result<SecretString, Error> {
        if self.provider().is_some() {
            return fetch(self.audience().unwrap_or(AUDIENCE)).await;
        }
        if let Some(token) = self.own_token() {
            return Ok(token.clone());
        }
        let token = environment::text(TOKEN).map(|(_, token)| token).unwrap_or_default();
        let missing = || {
            Error::Flags(format!(
                "no OIDC token provided: set --oidc-provider, --oidc-token or the {SHOWN_TOKEN} environment variable"
            ))
        };
        Some(SecretString::from(token)).filter(|token| !token.expose_secret().is_empty()).ok_or_else(missing)
    }

    fn provider(&self) -> Option<&str> {
        self.oidc_provider.as_deref().filter(|text| !text.is_empty())
    }

    fn audience(&self) -> Option<&str> {
        self.oidc_audience.as_deref().filter(|text| !text.is_empty())
    }

    fn own_token(&self) -> Option<&SecretString> {
        self.oidc_token.as_ref().filter(|token| !token.expose_secret().is_empty())
    }
}

/// Gets a token of the job that this process is part of.
async fn fetch(audience: &str) -> Result<SecretString, Error> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let Some((url, token)) = variable(REQUEST_URL).zip(variable(REQUEST_TOKEN)) else {
        return Err(Error::Flags(format!(
            "{REQUEST_URL} and {REQUEST_TOKEN} must be set in the environment; ensure the Actions job has the \
             'id-token: write' permission"
        )));
    };
    let failed = |what: String| Error::Api(what);
    let mut url: Url = url.parse().map_err(|error| failed(format!("invalid {REQUEST_URL}: {error}")))?;
    url.query_pairs_mut().append_pair("audience", audience);
    let client = weir_http::client_builder().build();
    let client = client.map_err(|error| failed(format!("failed to create OIDC token request: {error}")))?;
    let token = SecretString::from(token);
    let authorization = format!("bearer {}", token.expose_secret());
    let answer = client.get(url.clone()).header("Authorization", authorization).send().await;
    let answer = answer
        .map_err(|error| failed(format!("OIDC token request failed: {}", weir_http::reason(&error, &url))))?;
    let status = answer.status();
    let body = weir_http::read_capped(answer, MAX_ANSWER).await;
    let body = body.map_err(|error| failed(format!("OIDC token request failed: {error}")))?;
    if status != StatusCode::OK {
        let body = weir_http::redact(&String::from_utf8_lossy(&body), &[token], weir_http::REDACTED);
        return Err(failed(format!("OIDC token request failed with status {status}: {}", body.trim())));
    }
    let issued: Result<Issued, _> = serde_json::from_slice(&body);
    // The parser's message may quote the token.
    let issued = issued.map_err(|_| failed("failed to decode OIDC token response".to_owned()))?;
    let missing = || failed("the OIDC token response did not contain a token".to_owned());
    Some(SecretString::from(issued.value))
        .filter(|token| !token.expose_secret().is_empty())
        .ok_or_else(missing)
}
