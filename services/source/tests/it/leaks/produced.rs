//! Everything that a run has produced, by where it was found.

use std::path::Path;

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use weir_testkit::WebhookSink;

use super::{BUCKET, CHART, GIT, HELM, OCI};
use crate::world::{SOURCE, World};

pub const GENERATORS: &str = "source.extensions.fluxcd.io/v1beta1";
pub const GENERATOR: &str = "ArtifactGenerator";
pub const EXTERNAL: &str = "ExternalArtifact";

/// All that can be read from outside, and the contents and names of all files in `folders`.
pub async fn produced(world: &World, sink: &WebhookSink, folders: [&Path; 2]) -> Vec<(String, String)> {
    let events: Api<Event> = Api::namespaced(world.plane.client().unwrap(), &world.namespace);
    let events = events.list(&Default::default()).await.unwrap();
    let metrics = reqwest::get(format!("http://127.0.0.1:{}/metrics", world.metrics)).await.unwrap();
    let sent: Vec<String> = sink.requests().iter().map(|request| format!("{request:?}")).collect();
    let mut found = vec![
        ("events".to_owned(), serde_json::to_string(&events.items).unwrap()),
        ("metrics".to_owned(), metrics.text().await.unwrap()),
        ("events to the sink".to_owned(), sent.join("\n")),
    ];
    let kinds = [GIT, OCI, BUCKET, HELM, CHART, EXTERNAL].map(|kind| (SOURCE, kind));
    for (group, kind) in kinds.into_iter().chain([(GENERATORS, GENERATOR)]) {
        let api = world.plane.api(group, kind, &world.namespace).await.unwrap();
        let objects = api.list(&Default::default()).await.unwrap();
        let statuses: Vec<String> = objects.iter().map(|object| object.data["status"].to_string()).collect();
        found.push((format!("statuses of {kind}"), statuses.join("\n")));
    }
    for folder in folders {
        let mut names = vec![folder.display().to_string()];
        walk(folder, &mut names, &mut found);
        found.push((format!("names in {}", folder.display()), names.join("\n")));
    }
    found
}

/// Contents as text, which keeps every secret that a file holds as it is. A file that disappears during the walk is
/// passed over.
fn walk(folder: &Path, names: &mut Vec<String>, found: &mut Vec<(String, String)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.display().to_string();
        names.push(name.clone());
        if path.is_dir() {
            walk(&path, names, found);
        } else if let Ok(content) = std::fs::read(&path) {
            found.push((name, String::from_utf8_lossy(&content).into_owned()));
        }
    }
}
