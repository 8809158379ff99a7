//! A push is reported by webhook: the new artifact costs one request to the Git server and the fetch.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use weir_e2e::World;
use weir_testkit::{object, wait_for, wait_ready};

const DEADLINE: Duration = Duration::from_secs(60);

const RECEIVER: &str = "
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata:
  name: push
spec:
  type: generic
  secretRef:
    name: push
  resources:
    - kind: GitRepository
      name: app
";

#[tokio::test]
async fn a_push_becomes_an_artifact_with_one_look_and_one_fetch() -> Result<()> {
    let world = World::start().await?;
    let repository = world.git.repo("app")?;
    repository.commit("main", "first", &[("a.yaml", "a")])?;
    world.plane.apply("flux-system", object::git_repository("app", &world.git.url("app"))).await?;
    world.secret("flux-system", "push", &[("token", "told-to-nobody")]).await?;
    world.apply("flux-system", RECEIVER).await?;
    let sources = world.api("GitRepository", "flux-system").await?;
    wait_ready(&sources, "app", DEADLINE).await?;
    let receiver = wait_ready(&world.api("Receiver", "flux-system").await?, "push", DEADLINE).await?;
    let path = receiver.data["status"]["webhookPath"].as_str().context("no path")?;

    let pushed = repository.commit("main", "second", &[("b.yaml", "b")])?;
    world.git.forget_requests();
    let told = reqwest::Client::new().post(world.weir.receiver_url(path)).body("{}").send().await?;
    assert!(told.status().is_success(), "{}", told.status());
    let revision = format!("main@sha1:{pushed}");
    let is_new = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["artifact"]["revision"] == revision.as_str())
    };
    wait_for(&sources, "app", "the pushed commit", DEADLINE, is_new).await?;
    let requests: Vec<_> =
        world.git.requests().into_iter().map(|request| (request.method, request.path)).collect();
    let expected = [("GET", "/app.git/info/refs"), ("POST", "/app.git/git-upload-pack")];
    let expected = expected.map(|(method, path)| (method.to_owned(), path.to_owned()));
    assert_eq!(requests, expected);
    Ok(())
}
