//! Refspecs are pushed after a commit of the automation, and at no other time (IU-12).

use serde_json::{Value, json};
use weir_testkit::{GitRepo, touch_requested_at};

use crate::world::World;

/// Requests a run and waits for its end.
async fn run(world: &World, name: &str) -> Value {
    let token = touch_requested_at(&world.api("ImageUpdateAutomation").await, name).await.unwrap();
    world.until(name, "the requested run", |status| status["lastHandledReconcileAt"] == token.as_str()).await
}

fn condition<'a>(status: &'a Value, type_: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

fn copy(repo: &GitRepo) -> Option<String> {
    repo.head("refs/heads/copy").ok()
}

#[tokio::test]
async fn a_new_automation_and_one_that_has_failed_push_nothing_that_is_not_theirs() {
    let world = World::start().await;
    let repo = world.app().await;
    let first = repo.head("main").unwrap();
    repo.set_branch("auto", &first).unwrap();
    let by_hand = world.manifest("r/web:1.0.0", "web");
    repo.change("auto").author("bot", "bot@example.com").file("web.yaml", &by_hand).commit().unwrap();
    let push = json!({"branch": "auto", "refspec": "refs/heads/auto:refs/heads/copy"});
    world.automation("app", json!({"push": push})).await;
    let status = world.until_seen("app", "web", "1.0.0").await;
    assert_eq!((copy(&repo), status.get("lastPushCommit")), (None, None), "{status}");

    world.automation("app", json!({"push": push, "commit": {"messageTemplate": "{{ nope }}"}})).await;
    world.until_failed("app", "function \"nope\" not defined").await;
    world.automation("app", json!({"push": push, "commit": {"messageTemplate": "bump"}})).await;
    let ready = |status: &Value| condition(status, "Ready").is_some_and(|ready| ready["status"] == "True");
    world.until("app", "Ready", ready).await;
    assert_eq!(copy(&repo), None);
}

/// The failure that left the note is not the last one before the refspec is pushed.
#[tokio::test]
async fn a_refspec_that_failed_is_pushed_after_another_failure() {
    let world = World::start().await;
    let repo = world.app().await;
    let human = repo.commit("copy", "human", &[("note.txt", "mine\n")]).unwrap();
    let push = json!({"refspec": "refs/heads/main:refs/heads/copy"});
    world.automation("app", json!({"push": push})).await;
    world.until_failed("app", "non-fast-forward").await;
    let pushed = repo.head("main").unwrap();
    assert_eq!(copy(&repo), Some(human));
    let status = world.until("app", "a note", |status| condition(status, "RefspecPending").is_some()).await;
    let message = condition(&status, "RefspecPending").unwrap()["message"].as_str().unwrap();
    assert!(message.ends_with(&format!("'{pushed}'")), "{message}");

    world.automation("app", json!({"push": push, "commit": {"messageTemplate": "{{ nope }}"}})).await;
    world.until_failed("app", "function \"nope\" not defined").await;
    repo.delete_branch("copy").unwrap();
    world.automation("app", json!({"push": push, "commit": {"messageTemplate": "bump"}})).await;
    let status =
        world.until("app", "the refspec", |status| status["lastPushCommit"] == pushed.as_str()).await;
    assert_eq!((copy(&repo), condition(&status, "RefspecPending")), (Some(pushed), None));
}

/// The author of a commit is not enough to know whose it is.
#[tokio::test]
async fn the_commit_of_another_automation_is_not_recorded() {
    let world = World::start().await;
    let repo = world.git.repo("one").unwrap();
    let (one, two) = (world.manifest("old:1", "web"), world.manifest("old:1", "api"));
    repo.commit("main", "first", &[("one/a.yaml", &one), ("two/a.yaml", &two)]).unwrap();
    world.repository("one").await;
    world.repository_at("two", &world.git.url("one"), json!({})).await;
    world.select("web", "r/web", "1").await;
    let push = json!({"branch": "auto", "refspec": "refs/heads/auto:refs/heads/copy"});
    world.automation_of("one", json!({"push": push}), json!({"strategy": "Setters", "path": "one"})).await;
    let own = world.until_seen("one", "web", "1").await["lastPushCommit"].clone();
    assert_eq!(copy(&repo).map(Value::from), Some(own.clone()));

    let update = json!({"strategy": "Setters", "path": "two"});
    world.automation_of("two", json!({"push": {"branch": "auto"}}), update).await;
    world.until_seen("two", "web", "1").await;
    world.select("api", "r/api", "1").await;
    world.until_seen("two", "api", "1").await;
    assert_eq!(repo.log("auto").unwrap().len(), 3);
    let status = run(&world, "one").await;
    assert_eq!((&status["lastPushCommit"], copy(&repo).map(Value::from)), (&own, Some(own.clone())));
}
