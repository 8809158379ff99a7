//! `gitlab`: a commit status; the repository may lie in sub-groups or be named by number (NTF-72, NTF-73).

use http::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, utf8_percent_encode};
use serde_json::{Value, json};

use super::address::SEGMENT;
use super::client::{API_CLIENT, ClientProfile, Reply, Tries, quoted};
use super::git::{Repository, commit, state};
use super::{
    CommitStatus, Delivery, InitError, Message, Notifier, RenderError, Settings, message::secret_header,
};
use crate::event::{Event, text::reason_in_words};

const PRIVATE_TOKEN: HeaderName = HeaderName::from_static("private-token");
/// As GitLab's client escapes the id of a project, dots too.
const PROJECT: &AsciiSet = &SEGMENT.add(b'.');

/// GitLab's own client: the last answer of all tries counts.
pub static CLIENT: ClientProfile = ClientProfile {
    tries: Tries::Rising { most: 6 },
    names_late_requests: false,
    reads_answers: true,
    refused,
    ..API_CLIENT
};

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
        message.with(PRIVATE_TOKEN, self.token.clone()).with_client(&CLIENT)
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

/// Returns the error of an answer.
fn refused(message: &Message, reply: &Reply) -> String {
    if reply.status == http::StatusCode::NOT_FOUND {
        return reply.line();
    }
    let mut url = message.url.clone();
    url.set_query(None);
    let said = if reply.body.trim_ascii().is_empty() {
        String::new()
    } else {
        match serde_json::from_slice(&reply.body) {
            Ok(body) => format!(" {}", quoted(nested(&body).as_bytes())),
            Err(_) => format!(" failed to parse unknown error format: {}", quoted(&reply.body)),
        }
    };
    let place = Message { url, ..message.clone() }.place();
    format!("{} {place}: {}{said}", message.method, reply.status.as_u16())
}

/// GitLab nests messages by fields.
fn nested(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(nested).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let mut texts: Vec<String> =
                fields.iter().map(|(key, value)| format!("{{{key}: {}}}", nested(value))).collect();
            texts.sort();
            texts.join(", ")
        }
        Value::Number(_) => "failed to parse unexpected error type: float64".to_owned(),
        Value::Bool(_) => "failed to parse unexpected error type: bool".to_owned(),
        Value::Null => "failed to parse unexpected error type: <nil>".to_owned(),
    }
}
