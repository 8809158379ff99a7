//! Providers: one file per type. A type checks its settings once ([`build`]) and turns an event into what has to be sent
//! ([`Notifier::render`]); both are pure. Sending lives in [`crate::delivery`], once for all.

pub mod address;
pub mod azure_devops;
pub mod bitbucket;
pub mod bitbucket_server;
pub mod client;
pub mod datadog;
pub mod gitea;
pub mod github;
pub mod gitlab;
pub mod googlepubsub;
pub mod login;
pub mod message;
pub mod nats;
pub mod resolve;
pub mod settings;

mod alertmanager;
mod azure_event_hub;
mod comment;
mod discord;
mod generic;
pub(crate) mod git;
pub mod github_app;
mod github_dispatch;
mod googlechat;
mod grafana;
mod incident_io;
mod lark;
mod matrix;
mod msteams;
mod opsgenie;
mod otel;
mod pagerduty;
mod rocket;
mod sentry;
mod slack;
mod telegram;
mod webex;
mod zoom;
mod zulip;

pub use message::{Accept, Comment, CommitStatus, Delivery, Message};
pub use settings::Settings;

use serde_json::Value;

use crate::event::Event;

/// The types that report to the commit a revision stands for.
pub const GIT_STATUS_TYPES: [&str; 6] =
    ["github", "gitlab", "gitea", "bitbucket", "bitbucketserver", "azuredevops"];
/// The types that see events whose only purpose is to update a commit status, though they are no Git services.
pub const GENERIC_TYPES: [&str; 2] = ["generic", "generic-hmac"];
/// The types that comment on a pull or merge request.
pub const COMMENT_TYPES: [&str; 3] =
    ["githubpullrequestcomment", "giteapullrequestcomment", "gitlabmergerequestcomment"];

/// Errors in the settings of a provider.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InitError {
    /// The address is no absolute URL; the text of the type around the reason that Go gives.
    #[error("{0}")]
    Address(String),
    /// generic-hmac without a key.
    #[error("HMAC key is empty")]
    HmacKey,
    /// A needed token is missing; the text of the type.
    #[error("{0}")]
    Token(&'static str),
    /// A needed channel is missing or malformed.
    #[error("{0}")]
    Channel(String),
    /// The address names no repository of the form the service has.
    #[error("invalid repository id {0:?}")]
    Repository(String),
    /// The expression for the name of the commit status yields nothing.
    #[error("commit status cannot be empty")]
    CommitStatus,
    /// A header cannot be sent; its value stays out of the text.
    #[error("invalid value of header '{0}'")]
    Header(String),
    /// The file of credentials for NATS in the Secret has another form.
    #[error("the entry 'creds' of the secret holds no JWT with a seed")]
    Credentials,
    /// A type that the API does not know; the schema admits none.
    #[error("provider {0} not supported")]
    Type(String),
}

/// Errors that keep an event from being rendered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RenderError {
    /// The event names no revision.
    #[error("missing revision metadata")]
    NoRevision,
    /// The revision names no commit.
    #[error("failed to extract commit hash from '{0}' revision")]
    NoCommit(String),
    /// The same, in the words of Bitbucket Server's type.
    #[error("could not parse revision: {0}")]
    Revision(Box<Self>),
    /// The service has no state for such a severity; the words of the type.
    #[error("{0}")]
    Severity(&'static str),
    /// The event names no pull or merge request.
    #[error("missing \"change_request\" metadata key")]
    NoChangeRequest,
    /// The pull or merge request is no number.
    #[error(
        "invalid \"change_request\" metadata value {text:?}: strconv.{function}: parsing {text:?}: {reason}"
    )]
    BadChangeRequest {
        /// The value.
        text: String,
        /// Go's function that the type uses.
        function: &'static str,
        /// Its reason.
        reason: &'static str,
    },
    /// A header made of the event cannot be sent.
    #[error("invalid value of header '{0}'")]
    Header(String),
}

/// One configured provider.
pub trait Notifier: Send + Sync {
    /// Returns the requests that must be answered before anything is rendered; most types have none.
    fn questions(&self) -> Vec<Message> {
        Vec::new()
    }

    /// Takes the answer to the last of the questions.
    fn answered(&mut self, answer: &Value) {
        let _ = answer;
    }

    /// Renders the event into the delivery that has to be sent.
    ///
    /// # Errors
    /// When the event lacks something that the service needs.
    fn render(&self, event: &Event) -> Result<Delivery, RenderError>;
}

/// Checks the settings of a type and makes its notifier.
///
/// # Errors
/// When a setting is missing or wrong.
pub fn build(settings: &Settings) -> Result<Box<dyn Notifier>, InitError> {
    if settings.commit_status.is_empty() && GIT_STATUS_TYPES.contains(&settings.provider_type.as_str()) {
        return Err(InitError::CommitStatus);
    }
    Ok(match settings.provider_type.as_str() {
        "generic" => Box::new(generic::Generic::new(settings)?),
        "generic-hmac" => Box::new(generic::Generic::signed(settings)?),
        "slack" => Box::new(slack::Slack::new(settings)?),
        "discord" => Box::new(discord::Discord::new(settings)?),
        "rocket" => Box::new(rocket::Rocket::new(settings)?),
        "msteams" => Box::new(msteams::MsTeams::new(settings)?),
        "googlechat" => Box::new(googlechat::GoogleChat::new(settings)?),
        "webex" => Box::new(webex::Webex::new(settings)?),
        "telegram" => Box::new(telegram::Telegram::new(settings)?),
        "lark" => Box::new(lark::Lark::new(settings)?),
        "matrix" => Box::new(matrix::Matrix::new(settings)?),
        "zulip" => Box::new(zulip::Zulip::new(settings)?),
        "zoom" => Box::new(zoom::Zoom::new(settings)?),
        "opsgenie" => Box::new(opsgenie::Opsgenie::new(settings)?),
        "pagerduty" => Box::new(pagerduty::PagerDuty::new(settings)?),
        "incident.io" => Box::new(incident_io::IncidentIo::new(settings)?),
        "alertmanager" => Box::new(alertmanager::Alertmanager::new(settings)?),
        "grafana" => Box::new(grafana::Grafana::new(settings)?),
        "datadog" => Box::new(datadog::Datadog::new(settings)?),
        "sentry" => Box::new(sentry::Sentry::new(settings)?),
        "otel" => Box::new(otel::Otel::new(settings)?),
        "googlepubsub" => Box::new(googlepubsub::GooglePubSub::new(settings)?),
        "azureeventhub" => Box::new(azure_event_hub::AzureEventHub::new(settings)?),
        "github" => Box::new(github::GitHub::new(settings)?),
        "gitlab" => Box::new(gitlab::GitLab::new(settings)?),
        "gitea" => Box::new(gitea::Gitea::new(settings)?),
        "bitbucket" => Box::new(bitbucket::Bitbucket::new(settings)?),
        "bitbucketserver" => Box::new(bitbucket_server::BitbucketServer::new(settings)?),
        "azuredevops" => Box::new(azure_devops::AzureDevOps::new(settings)?),
        "githubpullrequestcomment" => Box::new(comment::Comments::github(settings)?),
        "giteapullrequestcomment" => Box::new(comment::Comments::gitea(settings)?),
        "gitlabmergerequestcomment" => Box::new(comment::Comments::gitlab(settings)?),
        "githubdispatch" => Box::new(github_dispatch::GitHubDispatch::new(settings)?),
        "nats" => Box::new(nats::Nats::new(settings)?),
        other => return Err(InitError::Type(other.to_owned())),
    })
}

#[cfg(test)]
mod tests;
