//! `azuredevops`: a commit status on Azure Repos (NTF-79).

use base64::prelude::{BASE64_STANDARD, Engine};
use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use super::client::{API_CLIENT, ClientProfile, Reply, quoted};
use super::git::{Repository, commit, state};
use super::{CommitStatus, Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{Event, metadata::SUMMARY, text::reason_in_words};

const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json;api-version=6.0");
const JSON: HeaderValue = HeaderValue::from_static("application/json;charset=utf-8");
const GENRE: &str = "fluxcd";

/// Microsoft's client.
pub static CLIENT: ClientProfile = ClientProfile { refused, ..API_CLIENT };

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
        let [organisation, project, _, name] = parts.as_slice() else {
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
        let genre = match event.metadata.get(SUMMARY) {
            Some(summary) => format!("{GENRE}:{summary}"),
            None => GENRE.to_owned(),
        };
        let status = json!({
            "state": state(event, "succeeded", "error", "can't convert to azure devops state")?,
            "description": reason_in_words(&event.reason),
            "context": {"genre": genre, "name": self.name},
        });
        let url = self.repository.api(&format!("{}/{commit}/statuses", self.base), &[]);
        let allowed = |message: Message| {
            let message = message.authorized(self.authorization.as_ref()).with(ACCEPT, ACCEPTED);
            message.with_client(&CLIENT)
        };
        let read = allowed(Message::get(&url));
        let write = allowed(Message::post_json(&url, &status)).with(CONTENT_TYPE, JSON);
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
    let is_same = |one: &Value, pointers: [&str; 2]| {
        pointers.iter().all(|pointer| text(one, pointer) == text(status, pointer))
    };
    let is_whole = |one: &&Value| ["/state", "/description"].iter().all(|it| text(one, it).is_some());
    let mut known = statuses.filter(is_whole);
    // The list has the newest status first.
    let latest = known.find(|one| is_same(one, ["/context/genre", "/context/name"]));
    latest.is_some_and(|one| is_same(one, ["/state", "/description"]))
}

/// Returns the error of an answer.
fn refused(_: &Message, reply: &Reply) -> String {
    if reply.is_text && !reply.body.is_empty() {
        return quoted(&reply.body);
    }
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let said = body.get("message").or_else(|| body.pointer("/value/Message")).and_then(Value::as_str);
    said.map_or_else(|| format!("Request returned status: {}", reply.line()), |text| quoted(text.as_bytes()))
}
