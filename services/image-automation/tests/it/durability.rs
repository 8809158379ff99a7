//! A kill at the worst moment.

use serde_json::json;

use crate::world::{DEADLINE, World};

#[tokio::test]
async fn killed_after_the_push_it_makes_no_second_commit() {
    let mut world = World::start_with(
        |folder| {
            let marker = folder.path().join("killed").display().to_string();
            vec![("WEIR_KILL_POINT", "after-push".to_owned()), ("WEIR_KILL_FILE", marker)]
        },
        &[],
    )
    .await;
    let repo = world.git.repo("app").unwrap();
    repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    world.select("web", "r/web", "1.0.0").await;
    world.repository("app").await;
    world.automation("app", json!({})).await;
    world.controller.wait(DEADLINE).await.unwrap();
    assert_eq!(repo.log("main").unwrap().len(), 2, "the push was acknowledged");
    world.start_again();
    let status = world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(status["observedSourceRevision"], format!("main@sha1:{}", repo.head("main").unwrap()));
    assert_eq!(repo.log("main").unwrap().len(), 2);
}
