//! `azuredevops`: a commit status on Azure Repos (NTF-79).

use base64::prelude::{BASE64_STANDARD, Engine};
use http::HeaderValue;
use serde_json::{Value, json};

use super::git::{Repository, commit, state};
use super::{CommitStatus, Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{Event, metadata::SUMMARY, text::reason_in_words};

const API_VERSION: (&str, &str) = ("api-version", "6.0");
const GENRE: &str = "fluxcd";

pub(super) struct AzureDevOps {
    repository: Repository,
    base: String,
    name: String,
    authorization: Option<HeaderValue>,
}

impl AzureDevOps {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        if settings.token.is_empty() {
            return Err(InitError::Token("azure devops token cannot be empty"));
        }
        let repository = Repository::parse(&settings.address)?;
        let parts: Vec<&str> = repository.id.split('/').collect();
        let [organisation, project, "_git", name] = parts.as_slice() else {
            return Err(InitError::Repository(repository.id.clone()));
        };
        let base = format!("/{organisation}/{project}/_apis/git/repositories/{name}/commits");
        // A personal access token is the password of nobody.
        let pair = BASE64_STANDARD.encode(format!(":{}", settings.token));
        let authorization = settings.authorization("Basic ", &pair)?;
        Ok(Self { name: settings.commit_status.clone(), authorization, base, repository })
    }
}

impl Notifier for AzureDevOps {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        if event.is_progressing() {
            return Ok(Delivery::Nothing);
        }
        let commit = commit(event)?;
        let genre = match event.metadata.get(SUMMARY).filter(|summary| !summary.is_empty()) {
            Some(summary) => format!("{GENRE}:{summary}"),
            None => GENRE.to_owned(),
        };
        let status = json!({
            "state": state(event, "succeeded", "error", "azure devops")?,
            "description": reason_in_words(&event.reason),
            "context": {"genre": genre, "name": self.name},
        });
        let url = self.repository.api(&format!("{}/{commit}/statuses", self.base), &[API_VERSION]);
        let read = Message::get(&url).authorized(self.authorization.as_ref());
        let write = Message::post_json(&url, &status).authorized(self.authorization.as_ref());
        Ok(Delivery::CommitStatus(Box::new(CommitStatus {
            read: read.failing_with("could not list commit statuses: "),
            write: write.failing_with("could not create commit status: "),
            is_current: Box::new(move |answer| is_current(answer, &status)),
        })))
    }
}

fn is_current(answer: &Value, status: &Value) -> bool {
    let statuses = answer.get("value").and_then(Value::as_array).into_iter().flatten();
    let text = |one: &Value, pointer: &str| one.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let is_same = |one: &&Value| {
        ["/context/genre", "/context/name"].iter().all(|pointer| text(one, pointer) == text(status, pointer))
    };
    let latest = statuses.max_by_key(|one| (is_same(one), one.get("id").and_then(Value::as_u64)));
    latest.filter(is_same).is_some_and(|one| {
        ["/state", "/description"].iter().all(|pointer| text(one, pointer) == text(status, pointer))
    })
}
