//! A kill at the worst moment.

use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{DEADLINE, World};

#[tokio::test]
async fn killed_after_the_push_it_makes_no_second_commit() {
    let mut world = World::start_with(World::killed_after_the_push, &[]).await;
    let repo = world.app().await;
    world.automation("app", json!({})).await;
    world.controller.wait(DEADLINE).await.unwrap();
    assert_eq!(repo.log("main").unwrap().len(), 2, "the push was acknowledged");
    world.start_again(|_| Vec::new());
    let status = world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(status["observedSourceRevision"], format!("main@sha1:{}", repo.head("main").unwrap()));
    assert_eq!(repo.log("main").unwrap().len(), 2);
}

fn is_ready(condition: &Value) -> bool {
    condition["type"] == "Ready" && condition["status"] == "True"
}

/// IU-12: the status of the killed run still says Ready, of the run before.
#[rstest]
#[case("main")]
#[case("auto")]
#[tokio::test]
async fn killed_after_the_push_it_still_pushes_the_refspec(#[case] branch: &str) {
    let mut world = World::start().await;
    let repo = world.app().await;
    let push = json!({"branch": branch, "refspec": format!("refs/heads/{branch}:refs/heads/copy")});
    world.automation("app", json!({"push": push})).await;
    world.until_seen("app", "web", "1.0.0").await;
    let first = repo.head(branch).unwrap();
    assert_eq!(repo.head("copy").unwrap(), first);

    world.start_again(World::killed_after_the_push);
    world.select("web", "r/web", "1.1.0").await;
    world.controller.wait(DEADLINE).await.unwrap();
    assert_eq!(repo.log(branch).unwrap().len(), 3, "the push was acknowledged");
    assert_eq!(repo.head("copy").unwrap(), first);

    world.start_again(|_| Vec::new());
    let status = world.until_seen("app", "web", "1.1.0").await;
    assert_eq!(repo.log(branch).unwrap().len(), 3);
    assert_eq!(repo.head("copy").unwrap(), repo.head(branch).unwrap());
    assert_eq!(status["lastPushCommit"], repo.head(branch).unwrap());

    // Only once: the destination is other people's afterwards.
    let human = repo.commit("copy", "human", &[("note.txt", "mine\n")]).unwrap();
    world.touch("app").await;
    world.until("app", "another run", |status| status["lastHandledReconcileAt"].is_string()).await;
    let ready = |status: &Value| status["conditions"].as_array().is_some_and(|all| all.iter().any(is_ready));
    world.until("app", "Ready", ready).await;
    assert_eq!(repo.head("copy").unwrap(), human);
}
