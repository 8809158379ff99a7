//! Branches, refspecs, and other people's commits.

use serde_json::{Value, json};

use crate::world::World;

#[tokio::test]
async fn commits_pile_up_on_a_branch_of_their_own() {
    let world = World::start().await;
    let repo = world.app().await;
    let first = repo.head("main").unwrap();
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
    let repo = world.app().await;
    world.automation("app", json!({})).await;
    world.until_seen("app", "web", "1.0.0").await;
    // The marked line is put back by hand, beside a change of another file.
    let back = world.manifest("r/web:0.9.0", "web");
    let human = repo.commit("main", "human", &[("web.yaml", &back), ("note.txt", "mine\n")]).unwrap();
    world.touch("app").await;
    let seen = |status: &Value| status["lastPushCommit"] == repo.head("main").unwrap().as_str();
    let is_on_top = |status: &Value| seen(status) && repo.log("main").unwrap()[0].parents == [human.clone()];
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
    let repo = world.app().await;
    world
        .automation("app", json!({"push": {"branch": "main", "refspec": "refs/heads/main:refs/heads/copy"}}))
        .await;
    world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(repo.head("copy").unwrap(), repo.head("main").unwrap());
}

/// DEP-GIT-5: a server that takes no options gets the commit all the same, as from Flux.
#[tokio::test]
async fn options_that_the_server_does_not_take_are_left_out() {
    let world = World::start().await;
    let repo = world.app().await;
    let push = json!({"refspec": "refs/heads/main:refs/heads/copy", "options": {"topic": "images"}});
    world.automation("app", json!({"push": push})).await;
    world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(repo.head("copy").unwrap(), repo.head("main").unwrap());
    assert!(world.controller.log_tail().contains("pushing without options"));
}

/// Commits that others have pushed onto the destination of a refspec stay, though it is the branch that was checked out.
#[tokio::test]
async fn a_refspec_onto_the_checkout_branch_drops_nobodys_commit() {
    let world = World::start().await;
    let repo = world.app().await;
    let push = json!({"branch": "auto", "refspec": "refs/heads/auto:refs/heads/main"});
    world.automation("app", json!({"push": push})).await;
    world.until_seen("app", "web", "1.0.0").await;
    let pushed = repo.head("auto").unwrap();
    assert_eq!(repo.head("main").unwrap(), pushed);

    let human = repo.commit("main", "human", &[("note.txt", "mine\n")]).unwrap();
    world.select("web", "r/web", "1.1.0").await;
    world.until_failed("app", "non-fast-forward").await;
    assert_eq!(repo.read("auto", "web.yaml").unwrap(), world.manifest("r/web:1.1.0", "web"));
    assert_eq!(repo.head("main").unwrap(), human);
    // A run without edits owes the refspec, and may not push it either.
    let failed_at = |status: &Value| status["lastAutomationRunTime"].clone();
    let before = failed_at(&world.until("app", "its status", |_| true).await);
    world.touch("app").await;
    world.until("app", "another run", |status| failed_at(status) != before).await;
    world.until_failed("app", "non-fast-forward").await;
    assert_eq!(repo.head("main").unwrap(), human);

    // Once the human's commit is in the branch, the refspec is a fast-forward.
    repo.set_branch("auto", &human).unwrap();
    world.touch("app").await;
    world.until_seen("app", "web", "1.1.0").await;
    assert_eq!(repo.head("main").unwrap(), repo.head("auto").unwrap());
    assert_eq!(repo.log("main").unwrap()[0].parents, [human]);
}

/// IU-9, IU-14: the branch was merged and deleted, and starts anew from the checkout; the copy of its last commit moves on.
#[tokio::test]
async fn a_merged_branch_starts_anew_and_a_refspec_that_is_a_fast_forward_follows() {
    let world = World::start().await;
    let repo = world.app().await;
    let push = json!({"branch": "auto", "refspec": "refs/heads/auto:refs/heads/copy"});
    world.automation("app", json!({"push": push})).await;
    world.until_seen("app", "web", "1.0.0").await;
    let merged = repo.head("auto").unwrap();
    assert_eq!(repo.head("copy").unwrap(), merged);
    repo.set_branch("main", &merged).unwrap();
    let human = repo.commit("main", "human", &[("note.txt", "mine\n")]).unwrap();
    repo.delete_branch("auto").unwrap();

    world.select("web", "r/web", "1.1.0").await;
    world.until_seen("app", "web", "1.1.0").await;
    let log = repo.log("auto").unwrap();
    assert_eq!((log.len(), &log[0].parents), (4, &vec![human]));
    assert_eq!(repo.head("copy").unwrap(), log[0].id);
}

/// IU-11, IU-19.
#[tokio::test]
async fn a_branch_that_has_the_values_and_a_deleted_automation_get_no_commit() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    let first = repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    repo.set_branch("auto", &first).unwrap();
    let done =
        repo.commit("auto", "by hand", &[("web.yaml", &world.manifest("r/web:1.0.0", "web"))]).unwrap();
    world.select("web", "r/web", "1.0.0").await;
    world.repository("app").await;
    world.automation("app", json!({"push": {"branch": "auto"}})).await;
    let status = world.until_seen("app", "web", "1.0.0").await;
    assert!(status.get("lastPushCommit").is_none(), "{status}");
    let api = world.api("ImageUpdateAutomation").await;
    api.delete("app", &Default::default()).await.unwrap();
    weir_testkit::wait_gone(&api, "app", crate::world::DEADLINE).await.unwrap();
    assert_eq!((repo.head("main").unwrap(), repo.head("auto").unwrap()), (first, done));
}

/// IU-10: with both gates off, the push branch is neither read nor overwritten.
#[tokio::test]
async fn a_branch_that_may_not_be_overwritten_matters_only_when_there_is_something_to_push() {
    let flags = ["--feature-gates=GitAllBranchReferences=false,GitForcePushBranch=false".to_owned()];
    let world = World::start_with(|_| Vec::new(), &flags).await;
    let repo = world.app().await;
    let first = repo.head("main").unwrap();
    world.automation("app", json!({"push": {"branch": "auto"}})).await;
    world.until_seen("app", "web", "1.0.0").await;
    let merged = repo.head("auto").unwrap();
    // The same change comes to the checkout in another commit.
    let human = repo.commit("main", "human", &[("web.yaml", &world.manifest("r/web:1.0.0", "web"))]).unwrap();
    world.select("other", "r/other", "1").await;
    world.until_seen("app", "other", "1").await;
    assert_eq!(repo.head("auto").unwrap(), merged);

    world.select("web", "r/web", "1.1.0").await;
    world.until_failed("app", "non-fast-forward update").await;
    assert_eq!(repo.head("auto").unwrap(), merged);

    // A branch whose commits are all in the checkout loses none.
    repo.set_branch("auto", &first).unwrap();
    world.touch("app").await;
    world.until_seen("app", "web", "1.1.0").await;
    assert_eq!(repo.log("auto").unwrap()[0].parents, [human]);
}
