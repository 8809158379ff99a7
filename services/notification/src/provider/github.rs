//! `github`: a commit status on github.com or a GitHub Enterprise server (NTF-73, NTF-75).

use http::header::ACCEPT;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use url::Url;

use super::client::{API_CLIENT, ClientProfile, Reply, quoted};
use super::comment::Name;
use super::git::{Repository, commit, state};
use super::{CommitStatus, Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{Event, text::reason_in_words};

const PUBLIC_HOST: &str = "github.com";
const PUBLIC_API: &str = "https://api.github.com";
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/vnd.github.v3+json");
/// The version of the API that is asked for; without the header, GitHub chooses one.
const VERSION_HEADER: HeaderName = HeaderName::from_static("x-github-api-version");
const VERSION: HeaderValue = HeaderValue::from_static("2022-11-28");

/// `go-github`.
pub static CLIENT: ClientProfile = ClientProfile {
    names_late_requests: false,
    reads_answers: true,
    empty_answer: None,
    refused,
    ..API_CLIENT
};

/// The API of the host of a repository, and how requests are allowed.
pub(super) struct GitHubApi {
    repository: Repository,
    base: String,
    authorization: Option<HeaderValue>,
    /// Identifies the app itself, where the authorization is one of an app's installation.
    app: Option<HeaderValue>,
}

impl GitHubApi {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let token = settings.token_or_password();
        if token.is_empty() {
            return Err(InitError::Token("github token or github app details must be specified"));
        }
        let bad = |error| match error {
            InitError::Repository(id) => InitError::Address(format!("invalid repository id: '{id}'")),
            error => error,
        };
        let mut repository = Repository::parse(&settings.address).map_err(bad)?;
        let (owner, name) = repository.owner_and_name().map_err(bad)?;
        let path = format!("repos/{owner}/{name}");
        let base = if repository.host.host_str() == Some(PUBLIC_HOST) {
            repository.host =
                Url::parse(PUBLIC_API).map_err(|error| InitError::Address(error.to_string()))?;
            format!("/{path}")
        } else if is_api(repository.host.host_str().unwrap_or_default()) {
            format!("/{path}")
        } else {
            format!("/api/v3/{path}")
        };
        let authorization = settings.authorization("Bearer ", token)?;
        let app = settings.authorization("Bearer ", &settings.app_token)?;
        Ok(Self { authorization, app, repository, base })
    }

    /// A POST below the repository.
    pub(super) fn post(&self, path: &str, payload: &Value) -> Message {
        let url = self.repository.api(&format!("{}/{path}", self.base), &[]);
        allowed(Message::post_json(&url, payload), self.authorization.as_ref())
    }

    /// Returns a GET of the app, or else of the user. Comments of an app have its name and `[bot]` as author.
    pub(super) fn author(&self) -> (Message, Name) {
        let (path, authorization, name) = match &self.app {
            Some(app) => ("app", Some(app), Name { key: "slug", suffix: "[bot]" }),
            None => ("user", self.authorization.as_ref(), Name { key: "login", suffix: "" }),
        };
        let root = self.base.split_once("/repos/").map_or("", |(root, _)| root);
        let message = Message::get(&self.repository.api(&format!("{root}/{path}"), &[]));
        (allowed(message, authorization), name)
    }

    /// A GET below the repository.
    pub(super) fn get(&self, path: &str, query: &[(&str, &str)]) -> Message {
        let url = self.repository.api(&format!("{}/{path}", self.base), query);
        allowed(Message::get(&url), self.authorization.as_ref())
    }
}

fn allowed(message: Message, authorization: Option<&HeaderValue>) -> Message {
    let message = message.authorized(authorization).with_client(&CLIENT);
    message.with(ACCEPT, ACCEPTED).with(VERSION_HEADER, VERSION)
}

/// Returns true for hosts that have nothing but the API, which is at their root.
pub(super) fn is_api(host: &str) -> bool {
    host.starts_with("api.") || host.contains(".api.")
}

pub(super) struct GitHub {
    api: GitHubApi,
    name: String,
}

impl GitHub {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        Ok(Self { api: GitHubApi::new(settings)?, name: settings.commit_status.clone() })
    }
}

impl Notifier for GitHub {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        if event.is_progressing() {
            return Ok(Delivery::Nothing);
        }
        let commit = commit(event)?;
        let status = json!({
            "state": state(event, "success", "failure", "can't convert to github state")?,
            "description": reason_in_words(&event.reason),
            "context": self.name,
        });
        let read = self.api.get(&format!("commits/{commit}/statuses"), &[("per_page", "50")]);
        let write = self.api.post(&format!("statuses/{commit}"), &status);
        Ok(Delivery::CommitStatus(Box::new(CommitStatus {
            read: read.failing_with("could not list commit statuses: "),
            write: write.failing_with("could not create commit status: "),
            is_current: Box::new(move |answer| is_current(answer, &status)),
        })))
    }
}

/// The list has the newest status first; only the newest of the same name counts.
fn is_current(answer: &Value, status: &Value) -> bool {
    let latest =
        answer.as_array().into_iter().flatten().find(|one| one.get("context") == status.get("context"));
    latest.is_some_and(|one| ["state", "description"].iter().all(|key| one.get(*key) == status.get(*key)))
}

/// Returns the error of an answer: message and list of errors as Go prints them.
fn refused(message: &Message, reply: &Reply) -> String {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let error = |error: &Value| match error.as_str() {
        Some(message) => format!("{{Resource: Field: Code: Message:{message}}}"),
        None => {
            let [resource, field, code, message] =
                ["resource", "field", "code", "message"].map(|key| text(error, key));
            format!("{{Resource:{resource} Field:{field} Code:{code} Message:{message}}}")
        }
    };
    let errors: Vec<String> =
        body.get("errors").and_then(Value::as_array).into_iter().flatten().map(error).collect();
    let (method, place, code) = (&message.method, message.place(), reply.status.as_u16());
    let said = format!("{} [{}]", text(&body, "message"), errors.join(" "));
    format!("{method} {place}: {code} {}", quoted(said.as_bytes()))
}
