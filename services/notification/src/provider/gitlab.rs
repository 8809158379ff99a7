//! `gitlab`: a commit status; the repository may lie in sub-groups or be named by number (NTF-72, NTF-73).

use http::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, utf8_percent_encode};
use serde_json::{Value, json};

use super::address::SEGMENT;
use super::git::{Repository, commit, state};
use super::{
    CommitStatus, Delivery, Dialect, InitError, Message, Notifier, RenderError, Settings,
    message::secret_header,
};
use crate::event::{Event, text::reason_in_words};

const PRIVATE_TOKEN: HeaderName = HeaderName::from_static("private-token");
/// As GitLab's client escapes the id of a project, dots too.
const PROJECT: &AsciiSet = &SEGMENT.add(b'.');

/// The API of the host of a project, and how requests are allowed.
pub(super) struct GitLabApi {
    repository: Repository,
    token: HeaderValue,
}

impl GitLabApi {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let token = settings.token_or_password();
        if token.is_empty() {
            return Err(InitError::Token("gitlab token cannot be empty"));
        }
        let token = secret_header(token).ok_or_else(|| InitError::Header(PRIVATE_TOKEN.to_string()))?;
        Ok(Self { repository: Repository::parse(&settings.address)?, token })
    }

    /// A GET below the project.
    pub(super) fn get(&self, path: &str, query: &[(&str, &str)]) -> Message {
        self.allowed(Message::get(&self.repository.api(&self.path(path), query)))
    }

    /// A POST below the project.
    pub(super) fn post(&self, path: &str, payload: &Value) -> Message {
        self.allowed(Message::post_json(&self.repository.api(&self.path(path), &[]), payload))
    }

    /// A GET of the user to whom the token belongs.
    pub(super) fn user(&self) -> Message {
        self.allowed(Message::get(&self.repository.api("/api/v4/user", &[])))
    }

    fn path(&self, below: &str) -> String {
        format!("/api/v4/projects/{}/{below}", utf8_percent_encode(&self.repository.id, PROJECT))
    }

    fn allowed(&self, message: Message) -> Message {
        message.with(PRIVATE_TOKEN, self.token.clone()).speaking(Dialect::GitLab)
    }
}

pub(super) struct GitLab {
    api: GitLabApi,
    name: String,
}

impl GitLab {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        Ok(Self { api: GitLabApi::new(settings)?, name: settings.commit_status.clone() })
    }
}

impl Notifier for GitLab {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        if event.is_progressing() {
            return Ok(Delivery::Nothing);
        }
        let commit = commit(event)?;
        let status = json!({
            "state": state(event, "success", "failed", "can't convert to gitlab state")?,
            "name": self.name,
            "description": reason_in_words(&event.reason),
        });
        let listed = format!("repository/commits/{commit}/statuses");
        let read = self.api.get(&listed, &[("name", &self.name)]);
        let write = self.api.post(&format!("statuses/{commit}"), &status);
        Ok(Delivery::CommitStatus(Box::new(CommitStatus {
            read: read.failing_with("unable to list commit status: "),
            write: write.failing_with(""),
            is_current: Box::new(move |answer| is_current(answer, &commit, &status)),
        })))
    }
}

/// GitLab calls the state of a status `status` when it lists them.
fn is_current(answer: &Value, commit: &str, status: &Value) -> bool {
    answer.as_array().into_iter().flatten().any(|one| {
        one.get("sha").and_then(Value::as_str) == Some(commit)
            && one.get("status") == status.get("state")
            && ["name", "description"].iter().all(|key| one.get(*key) == status.get(*key))
    })
}
