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

/// A failure with one is told, and the others are suspended all the same.
#[tokio::test]
async fn a_failure_does_not_stop_the_others() {
    let world = World::new("suspend-failure").await;
    for name in ["backend", "frontend"] {
        world.object("Kustomization", name).await;
    }
    let reads = ("kustomize.toolkit.fluxcd.io", &["kustomizations"][..]);
    let token = world.plane.token_for(&world.namespace, "reader", reads, &["list", "watch"]).await.unwrap();
    let config = world.plane.kubeconfig_for(&token).unwrap();
    let weir = crate::weir::Weir::default().with_kubeconfig(&config);
    let commands = ["suspend ks backend frontend -n suspend-failure", "resume ks --all -n suspend-failure"];
    insta::assert_snapshot!(weir.transcript(&commands).await);
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

#[tokio::test]
async fn a_name_that_is_nearly_right_is_corrected() {
    let world = World::new("suspend-similar").await;
    world.object("Kustomization", "frontend").await;
    for verb in ["suspend", "resume"] {
        let transcript = world.weir().transcript(&[&format!("{verb} kustomization fronted")]).await;
        assert!(transcript.contains("\n2>   did you mean 'frontend'?\n"), "{transcript}");
    }
}

/// `weir suspend … 2>&1 | head -1` does all that it is for, whoever reads of it.
#[tokio::test]
async fn progress_that_nobody_reads_stops_nothing() {
    let world = World::new("suspend-unread").await;
    world.object("Kustomization", "frontend").await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = world.weir().command("suspend kustomization frontend");
    let status = command.stderr(writer).status().await.unwrap();
    assert!(status.success(), "{status}");
    let object = world.api("Kustomization").await.get("frontend").await.unwrap();
    assert_eq!(object.data["spec"]["suspend"], true);
}
