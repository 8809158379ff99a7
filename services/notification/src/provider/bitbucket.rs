//! `bitbucket`: a build status on Bitbucket Cloud, whatever host the address names.

use base64::prelude::{BASE64_STANDARD, Engine};
use http::HeaderValue;
use serde_json::{Value, json};
use url::Url;

use super::client::{API_CLIENT, ClientProfile};
use super::git::{Repository, commit, state, status_key};
use super::{Accept, CommitStatus, Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{
    Event,
    text::{object_name, reason_in_words},
};

const API: &str = "https://api.bitbucket.org";

/// `go-bitbucket`.
pub static CLIENT: ClientProfile = API_CLIENT;

pub(super) struct Bitbucket {
    repository: Repository,
    base: String,
    key: String,
    authorization: Option<HeaderValue>,
}

impl Bitbucket {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        if settings.token.is_empty() {
            return Err(InitError::Token("bitbucket token cannot be empty"));
        }
        if settings.token.matches(':').count() != 1 {
            return Err(InitError::Token("invalid token format, expected to be <user>:<password>"));
        }
        let mut repository = Repository::parse(&settings.address)?;
        let (owner, name) = repository.owner_and_name()?;
        let base = format!("/2.0/repositories/{owner}/{name}");
        repository.host = Url::parse(API).map_err(|error| InitError::Address(error.to_string()))?;
        let authorization = settings.authorization("Basic ", &BASE64_STANDARD.encode(&settings.token))?;
        Ok(Self { repository, base, key: status_key(&settings.commit_status), authorization })
    }
}

impl Notifier for Bitbucket {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        if event.is_progressing() {
            return Ok(Delivery::Nothing);
        }
        let commit = commit(event)?;
        let status = json!({
            "key": self.key,
            "state": state(event, "SUCCESSFUL", "FAILED", "can't convert to bitbucket state")?,
            "name": object_name(&event.involved_object),
            "description": reason_in_words(&event.reason),
            "url": "https://bitbucket.org",
        });
        let builds = format!("{}/commit/{commit}/statuses/build", self.base);
        let read = Message::get(&self.repository.api(&format!("{builds}/{}", self.key), &[]));
        let write = Message::post_json(&self.repository.api(&builds, &[]), &status);
        let allowed = |message: Message| message.authorized(self.authorization.as_ref()).with_client(&CLIENT);
        Ok(Delivery::CommitStatus(Box::new(CommitStatus {
            read: allowed(read)
                .accepting(Accept::StatusOrMissing)
                .failing_with("could not get commit status: "),
            write: allowed(write).failing_with(""),
            is_current: Box::new(move |answer| is_current(answer, &status)),
        })))
    }
}

fn is_current(answer: &Value, status: &Value) -> bool {
    answer.is_object() && ["state", "description"].iter().all(|key| answer.get(*key) == status.get(*key))
}
