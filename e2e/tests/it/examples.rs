//! The API server takes the examples of the pages about kinds.

use std::path::{Path, PathBuf};

use weir_testkit::{ControlPlane, Folder, repo_path};

/// Folders and files with a page for each kind.
const PLACES: [&str; 5] =
    ["docs/sources", "docs/images", "docs/notifications", "docs/kustomization.md", "docs/commit-messages.md"];

/// Pages of tables.
const TABLES: [&str; 2] = ["flags.md", "metrics.md"];

/// The blocks of YAML of a page.
fn examples(page: &str) -> Vec<&str> {
    page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

fn pages(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let paths = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| !TABLES.iter().any(|name| path.ends_with(name))).collect()
}

#[tokio::test]
async fn every_example_is_taken_by_the_api_server() {
    let plane = ControlPlane::shared().await.unwrap();
    plane.apply_crds(&repo_path("deploy/kustomize/crds")).await.unwrap();
    let folder = Folder::new("examples").unwrap();
    let mut refused = Vec::new();
    for page in PLACES.iter().flat_map(|place| pages(&repo_path(place))) {
        let text = std::fs::read_to_string(&page).unwrap();
        let examples = examples(&text);
        assert!(!examples.is_empty(), "{} has no example", page.display());
        for (number, example) in examples.into_iter().enumerate() {
            for namespace in example.lines().filter_map(|line| line.trim().strip_prefix("namespace: ")) {
                plane.namespace(namespace.trim()).await.unwrap();
            }
            let file = folder.write("example.yaml", example).unwrap();
            let file = file.display().to_string();
            let apply = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", &file];
            if let Err(error) = plane.kubectl(&apply).await {
                refused.push(format!("{} example {}: {error}", page.display(), number + 1));
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
