//! `githubpullrequestcomment`, `giteapullrequestcomment`, `gitlabmergerequestcomment`: one comment per object on a pull or
//! merge request, kept up to date in place (NTF-81 … NTF-83).

use std::num::{IntErrorKind, ParseIntError};

use http::Method;
use serde_json::{Value, json};

use super::gitea::GiteaApi;
use super::github::GitHubApi;
use super::gitlab::GitLabApi;
use super::message::Comment;
use super::{Delivery, InitError, Message, Notifier, RenderError, Settings};
use crate::event::{Event, metadata::CHANGE_REQUEST, text::markdown};

/// The services with comments.
enum Forge {
    GitHub(GitHubApi),
    Gitea(GiteaApi),
    GitLab(GitLabApi),
}

pub(super) struct Comments {
    forge: Forge,
    provider_uid: String,
    /// Our name as comments have it, once the service has said it.
    own: Option<String>,
}

impl Comments {
    pub(super) fn github(settings: &Settings) -> Result<Self, InitError> {
        Self::on(Forge::GitHub(GitHubApi::new(settings)?), settings)
    }

    pub(super) fn gitea(settings: &Settings) -> Result<Self, InitError> {
        Self::on(Forge::Gitea(GiteaApi::new(settings)?), settings)
    }

    pub(super) fn gitlab(settings: &Settings) -> Result<Self, InitError> {
        Self::on(Forge::GitLab(GitLabApi::new(settings)?), settings)
    }

    fn on(forge: Forge, settings: &Settings) -> Result<Self, InitError> {
        if settings.provider_uid.is_empty() {
            return Err(InitError::Token("provider UID cannot be empty"));
        }
        Ok(Self { forge, provider_uid: settings.provider_uid.clone(), own: None })
    }
}

impl Notifier for Comments {
    /// Asks who we are: comments of others are never touched.
    fn questions(&self) -> Vec<Message> {
        let who = self.forge.author().0.failing_with("failed to get authenticated user info: ");
        match &self.forge {
            Forge::Gitea(api) => vec![api.version(), who],
            _ => vec![who],
        }
    }

    fn answered(&mut self, me: &Value) {
        self.own = self.forge.author().1.of(me);
    }

    fn render(&self, event: &Event) -> Result<Delivery, RenderError> {
        let number = self.forge.change_request(event)?;
        let prefix = if matches!(self.forge, Forge::GitLab(_)) {
            "flux-mr-comment-key"
        } else {
            "flux-pr-comment-key"
        };
        let marker = format!("<!-- {prefix}:{}/{} -->", self.provider_uid, event.involved_object.path());
        let body = json!({"body": format!("{marker}\n\n{}", markdown(event))});
        Ok(Delivery::Comment(Box::new(self.forge.comment(number, self.own.clone(), marker, &body))))
    }
}

/// The URLs of each service's API. The texts of failures name its kind of request.
struct Places {
    list: Message,
    create: Message,
    update: Box<dyn Fn(u64) -> Message + Send + Sync>,
}

/// The place of our name in the service's answer about us.
#[derive(Clone, Copy)]
pub(super) struct Name {
    /// Key of the name.
    pub(super) key: &'static str,
    /// Text that comments have after the name.
    pub(super) suffix: &'static str,
}

impl Name {
    /// Returns our name as comments have it.
    fn of(self, me: &Value) -> Option<String> {
        Some(format!("{}{}", me.get(self.key)?.as_str()?, self.suffix))
    }
}

impl Forge {
    /// Returns the request that asks who we are, and where its answer has our name.
    fn author(&self) -> (Message, Name) {
        match self {
            Self::GitHub(api) => api.author(),
            Self::Gitea(api) => (api.get_global("user"), Name { key: "login", suffix: "" }),
            Self::GitLab(api) => (api.user(), Name { key: "username", suffix: "" }),
        }
    }

    /// Reads the number of the pull or merge request as Go does.
    fn change_request(&self, event: &Event) -> Result<i64, RenderError> {
        let text = event.metadata.get(CHANGE_REQUEST).ok_or(RenderError::NoChangeRequest)?;
        text.parse().map_err(|error: ParseIntError| RenderError::BadChangeRequest {
            text: text.clone(),
            function: if matches!(self, Self::GitLab(_)) { "ParseInt" } else { "Atoi" },
            reason: match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            },
        })
    }

    fn comment(&self, number: i64, own: Option<String>, marker: String, body: &Value) -> Comment {
        let places = self.places(number, body);
        let (on_list, on_update, on_create) = match self {
            Self::GitLab(_) => (
                "failed to list merge request notes: ",
                "failed to update merge request note: ",
                "failed to create merge request note: ",
            ),
            _ => (
                "failed to list pull request comments: ",
                "failed to update pull request comment: ",
                "failed to create pull request comment: ",
            ),
        };
        let update = places.update;
        let author = if matches!(self, Self::GitLab(_)) { "/author/username" } else { "/user/login" };
        Comment {
            list: places.list.failing_with(on_list),
            create: places.create.failing_with(on_create),
            update: Box::new(move |id| update(id).failing_with(on_update)),
            find: Box::new(move |comments| {
                let own = own.as_ref()?;
                let is_mine = |comment: &&Value| {
                    let by = comment.pointer(author).and_then(Value::as_str);
                    let text = comment.get("body").and_then(Value::as_str).unwrap_or_default();
                    by == Some(own.as_str()) && text.contains(&marker)
                };
                comments.as_array()?.iter().find(is_mine)?.get("id")?.as_u64()
            }),
        }
    }

    fn places(&self, number: i64, body: &Value) -> Places {
        match self {
            Self::GitHub(api) => {
                let listed = [("direction", "asc"), ("per_page", "100"), ("sort", "created")];
                let patch = api.post("issues/comments/", body);
                Places {
                    list: api.get(&format!("issues/{number}/comments"), &listed),
                    create: api.post(&format!("issues/{number}/comments"), body),
                    update: Box::new(move |id| at(&patch, Method::PATCH, id)),
                }
            }
            Self::Gitea(api) => {
                let patch = api.post("issues/comments/", body);
                Places {
                    list: api.get(&format!("issues/{number}/comments"), &[("limit", "100"), ("page", "1")]),
                    create: api.post(&format!("issues/{number}/comments"), body),
                    update: Box::new(move |id| at(&patch, Method::PATCH, id)),
                }
            }
            Self::GitLab(api) => {
                let notes = format!("merge_requests/{number}/notes");
                let listed = [("order_by", "created_at"), ("per_page", "100"), ("sort", "asc")];
                let put = api.post(&format!("{notes}/"), body);
                Places {
                    list: api.get(&notes, &listed),
                    create: api.post(&notes, body),
                    update: Box::new(move |id| at(&put, Method::PUT, id)),
                }
            }
        }
    }
}

/// The same message with another method, to the comment of this id.
fn at(message: &Message, method: Method, id: u64) -> Message {
    let mut message = message.clone();
    let path = format!("{}{id}", message.url.path());
    message.url.set_path(&path);
    message.method = method;
    message
}
