//! Branches, refspecs, and other people's commits.

use serde_json::json;
use weir_testkit::touch_requested_at;

use crate::world::World;

#[tokio::test]
async fn commits_pile_up_on_a_branch_of_their_own() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    let first = repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    world.select("web", "r/web", "1.0.0").await;
    world.repository("app").await;
    world.automation("app", json!({"push": {"branch": "auto"}})).await;
    let status = world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(status["observedSourceRevision"], format!("main@sha1:{first}"));
    assert_eq!(repo.head("main").unwrap(), first);
    world.select("web", "r/web", "1.1.0").await;
    world.until_seen("app", "web", "1.1.0").await;
    let log = repo.log("auto").unwrap();
    assert_eq!((log.len(), log[2].id.as_str()), (3, first.as_str()));
    assert_eq!(repo.read("auto", "web.yaml").unwrap(), world.manifest("r/web:1.1.0", "web"));
    // The source follows another branch, where there is nothing new.
    assert!(!world.is_source_requested("app").await);
}

#[tokio::test]
async fn a_human_commit_in_between_is_kept() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    world.select("web", "r/web", "1.0.0").await;
    world.repository("app").await;
    world.automation("app", json!({})).await;
    world.until_seen("app", "web", "1.0.0").await;
    // The marked line is put back by hand, beside a change of another file.
    let back = world.manifest("r/web:0.9.0", "web");
    let human = repo.commit("main", "human", &[("web.yaml", &back), ("note.txt", "mine\n")]).unwrap();
    touch_requested_at(&world.api("ImageUpdateAutomation").await, "app").await.unwrap();
    let seen = |status: &serde_json::Value| status["lastPushCommit"] == repo.head("main").unwrap().as_str();
    let is_on_top =
        |status: &serde_json::Value| seen(status) && repo.log("main").unwrap()[0].parents == [human.clone()];
    world.until("app", "a commit on top of the human's", is_on_top).await;
    assert_eq!(repo.read("main", "note.txt").unwrap(), "mine\n");
    assert_eq!(repo.read("main", "web.yaml").unwrap(), world.manifest("r/web:1.0.0", "web"));
    assert!(world.is_source_requested("app").await);
}

#[tokio::test]
async fn two_automations_on_one_branch_both_arrive() {
    let world = World::start().await;
    let repo = world.git.repo("one").unwrap();
    let (one, two) = (world.manifest("old:1", "web"), world.manifest("old:1", "api"));
    repo.commit("main", "first", &[("one.yaml", &one), ("two.yaml", &two)]).unwrap();
    world.repository("one").await;
    world.repository_at("two", &world.git.url("one"), json!({})).await;
    world.automation("one", json!({})).await;
    world.automation("two", json!({})).await;
    for tag in ["1", "2", "3"] {
        world.select("web", "r/web", tag).await;
        world.select("api", "r/api", tag).await;
        for automation in ["one", "two"] {
            world.until_seen(automation, "web", tag).await;
            world.until_seen(automation, "api", tag).await;
        }
        assert_eq!(repo.read("main", "one.yaml").unwrap(), world.manifest(&format!("r/web:{tag}"), "web"));
        assert_eq!(repo.read("main", "two.yaml").unwrap(), world.manifest(&format!("r/api:{tag}"), "api"));
    }
}

#[tokio::test]
async fn a_refspec_is_pushed_too() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    world.select("web", "r/web", "1.0.0").await;
    world.repository("app").await;
    world
        .automation("app", json!({"push": {"branch": "main", "refspec": "refs/heads/main:refs/heads/copy"}}))
        .await;
    world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(repo.head("copy").unwrap(), repo.head("main").unwrap());
}
