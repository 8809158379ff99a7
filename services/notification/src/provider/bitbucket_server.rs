//! `bitbucketserver`: a build status on Bitbucket Server or Data Center, also below a context path (NTF-78).

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use url::Url;

use super::client::{API_CLIENT, ClientProfile, MAX_TRIES, Tries};
use super::git::{commit, state, status_key};
use super::{Accept, CommitStatus, Delivery, InitError, Message, Notifier, RenderError, Settings, address};
use crate::event::Event;
use crate::event::text::{object_name, reason_in_words};

/// Part of the clone URLs between context path and repository.
const CLONE_PATH: &str = "/scm/";
const NO_STATE: &str = "couldn't convert to bitbucket server state: bitbucket server state generated on info or error events only";
/// Headers without which it takes a request for a forged one of a browser.
const NO_BROWSER: [(HeaderName, HeaderValue); 2] = [
    (HeaderName::from_static("x-atlassian-token"), HeaderValue::from_static("no-check")),
    (HeaderName::from_static("x-requested-with"), HeaderValue::from_static("XMLHttpRequest")),
];

/// As that of webhooks, with other words.
pub static CLIENT: ClientProfile = ClientProfile {
    tries: Tries::Doubling { most: MAX_TRIES },
    gives_up: true,
    names_late_requests: false,
    refused: |_, reply| {
        format!("{} - {}", reply.status.as_u16(), reply.status.canonical_reason().unwrap_or_default())
    },
    ..API_CLIENT
};

pub(super) struct BitbucketServer {
    address: String,
    url: Url,
    base: String,
    key: String,
    authorization: HeaderValue,
}

impl BitbucketServer {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        let fail = |text: String| InitError::Address(format!("could not parse git address: {text}"));
        let (scheme, _) = settings.address.split_once("://").unwrap_or_default();
        if !matches!(scheme, "http" | "https") {
            return Err(fail(format!("unsupported scheme type in address: {scheme}. Must be http or https")));
        }
        let url = address::parse(&settings.address).map_err(fail)?;
        let no_clone_url = || fail("supplied provider address is not http(s) git clone url".to_owned());
        let (context, id) = url.path().rsplit_once(CLONE_PATH).ok_or_else(no_clone_url)?;
        let id = id.trim_end_matches('/');
        let id = id.strip_suffix(".git").unwrap_or(id);
        let (project, repository) = match id.split_once('/') {
            Some((project, name)) if !project.is_empty() && !name.is_empty() && !name.contains('/') => {
                (project, name)
            }
            _ => return Err(fail(InitError::Repository(id.to_owned()).to_string())),
        };
        let base = format!("{context}/rest/api/latest/projects/{project}/repos/{repository}/commits");
        let authorization = match settings.bearer()? {
            Some(bearer) => Some(bearer),
            None => settings.basic()?,
        };
        let missing =
            InitError::Token("invalid credentials, expected to be one of username/password or API Token");
        Ok(Self {
            address: settings.address.clone(),
            base,
            key: status_key(&settings.commit_status),
            authorization: authorization.ok_or(missing)?,
            url,
        })
    }

    fn allowed(&self, message: Message) -> Message {
        let message = message.authorized(Some(&self.authorization)).with_client(&CLIENT);
        NO_BROWSER.into_iter().fold(message, |message, (name, value)| message.with(name, value))
    }
}

impl Notifier for BitbucketServer {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        if event.is_progressing() {
            return Ok(Delivery::Nothing);
        }
        let commit = commit(event).map_err(|error| match error {
            RenderError::NoCommit(_) => RenderError::Revision(Box::new(error)),
            error => error,
        })?;
        let description = reason_in_words(&event.reason);
        let status = json!({
            "key": self.key,
            "state": state(event, "SUCCESSFUL", "FAILED", NO_STATE)?,
            "url": self.address,
            "description": description,
            "name": format!("{} [{description}]", object_name(&event.involved_object)),
        });
        let builds = address::with_path(&self.url, &format!("{}/{commit}/builds", self.base));
        let mut one = builds.clone();
        one.query_pairs_mut().append_pair("key", &self.key);
        let read = self.allowed(Message::get(&one)).accepting(Accept::StatusOrMissing);
        let write = self.allowed(Message::post_json(&builds, &status));
        Ok(Delivery::CommitStatus(Box::new(CommitStatus {
            read: read.failing_with(
                "could not get existing commit status: failed api call to check duplicate commit status: ",
            ),
            write: write.failing_with("could not post build status: could not post build commit status: "),
            is_current: Box::new(move |answer| is_current(answer, &status)),
        })))
    }
}

fn is_current(answer: &Value, status: &Value) -> bool {
    answer.is_object()
        && ["key", "state", "description", "name"].iter().all(|key| answer.get(*key) == status.get(*key))
}
