//! Listings for programs (`-o json|yaml|name`), and names that are nearly those of objects.

use crate::world::{World, ready};

const COMMANDS: [&str; 18] = [
    "get kustomizations podinfo-of-forms -o yaml",
    "get kustomizations -o json",
    "get ks -o name",
    "get all -o name",
    "get sources all -o yaml --status-selector ready=true",
    "get ks -o yaml --status-selector ready=true",
    "get ks nowhere -o json",
    "get ks -o table",
    "get ks podinof-of-forms",
    "get ks podinfo-of-forms -n default",
    "reconcile kustomization podinof-of-forms",
    "tree ks podnifo-of-forms",
    "build ks podinof-of-forms --path /",
    "export ks podinfo-of-forms -n default",
    "get ks x",
    "get ks podinfo-of-forms -l app=none",
    "get ks podinfo-of-forms --no-header=true --all-namespaces=false",
    "get ks --no-header=perhaps",
];

/// Hides the fields that the API server chooses.
fn without_server_fields(transcript: &str) -> String {
    let fields =
        regex::Regex::new(r#"("?(?:uid|resourceVersion|creationTimestamp)"?: )"?[0-9a-zA-Z:-]+"?"#).unwrap();
    fields.replace_all(transcript, "$1[server]").into_owned()
}

#[tokio::test]
async fn programs_read_lists_and_people_are_led_to_names() {
    let world = World::new("forms").await;
    for kind in ["Kustomization", "GitRepository"] {
        world.object(kind, "podinfo-of-forms").await;
    }
    world.status("GitRepository", "podinfo-of-forms", ready(1, "True", "Succeeded", "stored artifact")).await;
    insta::assert_snapshot!(without_server_fields(&world.weir().transcript(&COMMANDS).await));
}
