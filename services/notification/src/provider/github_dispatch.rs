//! `githubdispatch`: starts workflows of a repository.

use serde_json::{Value, json};

use super::github::GitHubApi;
use super::{Delivery, InitError, Notifier, RenderError, Settings};
use crate::event::Event;

pub(super) struct GitHubDispatch {
    api: GitHubApi,
}

impl GitHubDispatch {
    pub(super) fn new(settings: &Settings) -> Result<Self, InitError> {
        Ok(Self { api: GitHubApi::new(settings)? })
    }
}

impl Notifier for GitHubDispatch {
    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let message = self.api.post("dispatches", &payload(event));
        Ok(message.failing_with("could not send github repository dispatch webhook: ").into())
    }
}

fn payload(event: &Event) -> Value {
    let object = &event.involved_object;
    let event_type = format!("{}/{}.{}", object.kind, object.name, object.namespace);
    json!({"event_type": event_type, "client_payload": event})
}
