use crate::World;

/// Where the chat provider posts, as Slack's webhooks look.
pub(super) const CHAT_PATH: &str = "/services/T00000000/B00000000/demo";

/// Manifests that are removed again.
pub(super) const SETTINGS: &str = include_str!("manifests/settings.yaml");

const APP: &str = include_str!("manifests/app.yaml");
const TOOLKIT: &str = include_str!("manifests/toolkit.yaml");

/// The app, whose image the automation may change.
pub(super) fn app(registry: &str) -> String {
    APP.replace("<registry>", registry)
}

/// Returns the objects that a user applies once: source, Kustomization, image objects, alert.
pub(super) fn toolkit(world: &World) -> String {
    TOOLKIT
        .replace("<registry>", world.registry.address())
        .replace("<git>", &world.git.url("fleet"))
        .replace("<chat>", &world.sink.url(CHAT_PATH))
}
