//! `gitea`: a commit status on Gitea or Forgejo; work in progress shows as pending.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::client::{API_CLIENT, ClientProfile, Reply, quoted};
use super::git::{Repository, commit, state};
use super::{CommitStatus, Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{Event, text::reason_in_words};

/// Gitea's own client.
pub static CLIENT: ClientProfile = ClientProfile {
    reads_answers: true,
    empty_answer: Some("unexpected end of JSON input"),
    refused,
    ..API_CLIENT
};

/// The API of the host of a repository, and how requests are allowed.
pub(super) struct GiteaApi {
    repository: Repository,
    base: String,
    authorization: Option<HeaderValue>,
}

impl GiteaApi {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let token = settings.token_or_password();
        if token.is_empty() {
            return Err(InitError::Token("gitea token cannot be empty"));
        }
        let repository = Repository::parse(&settings.address)?;
        let (owner, name) = repository.owner_and_name()?;
        let base = format!("/api/v1/repos/{owner}/{name}");
        Ok(Self { authorization: settings.authorization("token ", token)?, repository, base })
    }

    /// A GET below the repository.
    pub(super) fn get(&self, path: &str, query: &[(&str, &str)]) -> Message {
        let url = self.repository.api(&format!("{}/{path}", self.base), query);
        Message::get(&url).authorized(self.authorization.as_ref()).with_client(&CLIENT)
    }

    /// A GET of what belongs to no repository.
    pub(super) fn get_global(&self, path: &str) -> Message {
        let url = self.repository.api(&format!("/api/v1/{path}"), &[]);
        Message::get(&url).authorized(self.authorization.as_ref()).with_client(&CLIENT)
    }

    /// Asks for the version of the server, as its client does before anything else (NTF-80).
    pub(super) fn version(&self) -> Message {
        self.get_global("version").failing_with("failed creating Gitea client: ")
    }

    /// A POST below the repository.
    pub(super) fn post(&self, path: &str, payload: &Value) -> Message {
        let url = self.repository.api(&format!("{}/{path}", self.base), &[]);
        Message::post_json(&url, payload).authorized(self.authorization.as_ref()).with_client(&CLIENT)
    }
}

pub(super) struct Gitea {
    api: GiteaApi,
    name: String,
}

impl Gitea {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        Ok(Self { api: GiteaApi::new(settings)?, name: settings.commit_status.clone() })
    }
}

impl Notifier for Gitea {
    fn questions(&self) -> Vec<Message> {
        vec![self.api.version()]
    }

    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let commit = commit(event)?;
        let state = if event.is_progressing() {
            "pending"
        } else {
            state(event, "success", "failure", "can't convert to gitea state")?
        };
        let status = json!({
            "state": state,
            "target_url": "",
            "description": reason_in_words(&event.reason),
            "context": self.name,
        });
        let listed = [("limit", "50"), ("page", "1")];
        let read = self.api.get(&format!("commits/{commit}/statuses"), &listed);
        let read = read.with(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let write = self.api.post(&format!("statuses/{commit}"), &status);
        Ok(Delivery::CommitStatus(Box::new(CommitStatus {
            read: read.failing_with("could not list commit statuses: "),
            write: write.failing_with(""),
            is_current: Box::new(move |answer| is_current(answer, &status)),
        })))
    }
}

/// Gitea calls the state of a status `status` when it lists them, the newest first.
fn is_current(answer: &Value, status: &Value) -> bool {
    let latest =
        answer.as_array().into_iter().flatten().find(|one| one.get("context") == status.get("context"));
    latest.is_some_and(|one| {
        one.get("status") == status.get("state") && one.get("description") == status.get("description")
    })
}

/// Returns the error of an answer.
fn refused(message: &Message, reply: &Reply) -> String {
    match serde_json::from_slice::<Value>(&reply.body) {
        Ok(Value::Object(fields)) => match fields.get("message") {
            Some(Value::String(text)) => quoted(text.as_bytes()),
            Some(other) => quoted(other.to_string().as_bytes()),
            None => format!("{}: {}", reply.line(), quoted(&reply.body)),
        },
        _ => {
            let said = format!("'{}' body", String::from_utf8_lossy(&reply.body));
            let (code, path, method) = (reply.status.as_u16(), message.url.path(), &message.method);
            let said = quoted(said.as_bytes());
            format!("unknown API error: {code}\nRequest: '{path}' with '{method}' method and {said}")
        }
    }
}
