//! `weir suspend` (CLI-SUS01).

use crate::world::World;

#[tokio::test]
async fn objects_are_suspended_by_name_or_all() {
    let world = World::new("suspend").await;
    for name in ["backend", "frontend"] {
        world.object("Kustomization", name).await;
    }
    world.object("Alert", "slack").await;
    let commands = [
        "suspend kustomization frontend missing frontend",
        "get kustomizations",
        "suspend ks --all",
        "get kustomizations",
        "suspend alert slack",
        "get alerts",
    ];
    insta::assert_snapshot!(world.weir().transcript(&commands).await);
}

#[tokio::test]
async fn a_command_without_objects_is_refused() {
    let weir = World::new("suspend-nothing").await.weir();
    let commands = [
        "suspend kustomization",
        "suspend image update",
        "suspend source git --all",
        "suspend kustomization missing",
    ];
    insta::assert_snapshot!(weir.transcript(&commands).await);
}
