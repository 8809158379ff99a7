use crate::World;

/// Path that the chat provider posts to, as Slack's webhooks look.
pub(crate) const CHAT_PATH: &str = "/services/T00000000/B00000000/demo";

/// Manifests that are removed again.
pub(super) const SETTINGS: &str = include_str!("manifests/settings.yaml");

const APP: &str = include_str!("manifests/app.yaml");
const TOOLKIT: &str = include_str!("manifests/toolkit.yaml");

/// Addresses at which the cluster finds the servers.
pub(crate) struct Places {
    /// Host and port of the registry.
    pub(crate) registry: String,
    /// URL of the Git repository.
    pub(crate) git: String,
    /// URL of the chat.
    pub(crate) chat: String,
}

impl Places {
    pub(super) fn of(world: &World) -> Self {
        Self {
            registry: world.registry.address().to_owned(),
            git: world.git.url("fleet"),
            chat: world.sink.url(CHAT_PATH),
        }
    }

    /// The app, whose image the automation may change.
    pub(crate) fn app(&self) -> String {
        APP.replace("<registry>", &self.registry)
    }

    /// Returns the objects that a user applies once: source, Kustomization, image objects, alert.
    pub(crate) fn toolkit(&self) -> String {
        TOOLKIT
            .replace("<registry>", &self.registry)
            .replace("<git>", &self.git)
            .replace("<chat>", &self.chat)
    }
}
