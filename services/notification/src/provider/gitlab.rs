//! `gitlab`: a commit status; the repository may lie in sub-groups or be named by number (NTF-72, NTF-73).

use http::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::git::{Repository, commit, state};
use super::{
    CommitStatus, Delivery, Dialect, InitError, Message, Notifier, RenderError, Settings,
    message::secret_header,
};
use crate::event::{Event, text::reason_in_words};

pub(super) const PRIVATE_TOKEN: HeaderName = HeaderName::from_static("private-token");
/// Everything but the unreserved characters of RFC 3986.
pub(super) const SEGMENT: &AsciiSet = &PROJECT.remove(b'.');
/// As GitLab's client escapes the id of a project, dots too.
pub(super) const PROJECT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

pub(super) struct GitLab {
    repository: Repository,
    name: String,
    token: HeaderValue,
}

impl GitLab {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let token = settings.token_or_password();
        if token.is_empty() {
            return Err(InitError::Token("gitlab token cannot be empty"));
        }
        let token = secret_header(token).ok_or_else(|| InitError::Header(PRIVATE_TOKEN.to_string()))?;
        Ok(Self {
            repository: Repository::parse(&settings.address)?,
            name: settings.commit_status.clone(),
            token,
        })
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
        let project = format!("/api/v4/projects/{}", utf8_percent_encode(&self.repository.id, PROJECT));
        let listed = format!("{project}/repository/commits/{commit}/statuses");
        let read = Message::get(&self.repository.api(&listed, &[("name", &self.name)]));
        let write =
            Message::post_json(&self.repository.api(&format!("{project}/statuses/{commit}"), &[]), &status);
        let allowed =
            |message: Message| message.with(PRIVATE_TOKEN, self.token.clone()).speaking(Dialect::GitLab);
        Ok(Delivery::CommitStatus(Box::new(CommitStatus {
            read: allowed(read).failing_with("unable to list commit status: "),
            write: allowed(write).failing_with(""),
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
