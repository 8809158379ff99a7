//! A process that is killed right after something was persisted, and started again, ends where an unharmed one does.

use std::time::Duration;

use anyhow::Result;
use kube::api::DynamicObject;
use weir_e2e::{WeirOptions, World, WorldOptions};
use weir_testkit::{GitRepo, touch_requested_at, wait_for, wait_gone};

const TOOLKIT: &str = include_str!("manifests/kill-toolkit.yaml");
const APP: &str = include_str!("manifests/kill-app.yaml");
const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";

const DEADLINE: Duration = Duration::from_secs(60);

struct Loop {
    world: World,
    repo: GitRepo,
}

impl Loop {
    /// A repository that names version 1.0.0 while the registry has 1.0.1: source, build, apply, scan, commit, push,
    /// and messages all happen by themselves from here on, and so do all kill points.
    async fn start(kill_point: Option<&str>) -> Result<Self> {
        let weir = WeirOptions { kill_point: kill_point.map(str::to_owned), ..WeirOptions::default() };
        let world = World::start_with(WorldOptions { weir, ..WorldOptions::default() }).await?;
        for tag in ["1.0.0", "1.0.1"] {
            world.registry.push_image("app", tag).await?;
        }
        let repo = world.git.repo("app")?;
        let started = Self { world, repo };
        let app = started.with_hosts(APP);
        started.repo.commit("main", "first", &[("app.yaml", &app), ("settings.yaml", SETTINGS)])?;
        started.world.apply("", &started.with_hosts(TOOLKIT)).await?;
        Ok(started)
    }

    fn with_hosts(&self, text: &str) -> String {
        text.replace("<registry>", self.world.registry.address())
            .replace("<git>", &self.world.git.url("app"))
            .replace("<sink>", &self.world.sink.url("/alerts"))
    }

    /// Checks the end state, killed or not.
    async fn check_end(&self) -> Result<()> {
        let wanted = format!("{}/app:1.0.1", self.world.registry.address());
        let rolled_out = |object: Option<&DynamicObject>| {
            let image = |o: &DynamicObject| {
                o.data["spec"]["template"]["spec"]["containers"][0]["image"] == wanted.as_str()
            };
            object.is_some_and(image)
        };
        wait_for(&self.world.api("Deployment", "default").await?, "app", &wanted, DEADLINE, rolled_out)
            .await?;

        // Nothing is duplicated in Git.
        let head = self.repo.head("main")?;
        let authors: Vec<_> = self.repo.log("main")?.into_iter().map(|commit| commit.author_name).collect();
        assert_eq!(authors, ["bot", "dev"]);
        self.wait_for_revision(&head).await?;

        // Nothing is lost: the last revision is reported, and the objects applied before the kill are still known.
        let applied = format!("main@sha1:{head}");
        let told = |request: &weir_testkit::SinkRequest| {
            let event = request.json();
            event["involvedObject"]["kind"] == "Kustomization"
                && event["reason"] == "ReconciliationSucceeded"
                && event["metadata"].to_string().contains(&applied)
        };
        self.world.sink.wait_for("the message about the last revision", DEADLINE, told).await?;
        let last = self.repo.change("main").message("remove settings").delete("settings.yaml").commit()?;
        touch_requested_at(&self.world.api("GitRepository", "flux-system").await?, "app").await?;
        wait_gone(&self.world.api("ConfigMap", "default").await?, "settings", DEADLINE).await?;
        self.wait_for_revision(&last).await?;
        assert_eq!(self.repo.head("main")?, last);
        Ok(())
    }

    async fn wait_for_revision(&self, commit: &str) -> Result<()> {
        let revision = format!("main@sha1:{commit}");
        let applied = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| object.data["status"]["lastAppliedRevision"] == revision.as_str())
        };
        wait_for(&self.world.api("Kustomization", "flux-system").await?, "app", &revision, DEADLINE, applied)
            .await?;
        Ok(())
    }
}

async fn kill_at(point: &str) -> Result<Loop> {
    let mut killed = Loop::start(Some(point)).await?;
    killed.world.weir.wait_until_killed(DEADLINE).await?;
    killed.world.weir.restart().await?;
    killed.check_end().await?;
    killed.world.weir.check_running()?;
    Ok(killed)
}

#[tokio::test]
async fn without_a_kill() -> Result<()> {
    Loop::start(None).await?.check_end().await
}

#[tokio::test]
async fn after_the_artifact_is_stored() -> Result<()> {
    kill_at("after-store").await.map(drop)
}

#[tokio::test]
async fn after_a_status_is_written() -> Result<()> {
    kill_at("after-status").await.map(drop)
}

#[tokio::test]
async fn after_objects_are_applied() -> Result<()> {
    kill_at("after-apply").await.map(drop)
}

#[tokio::test]
async fn after_the_inventory_is_written() -> Result<()> {
    kill_at("after-inventory").await.map(drop)
}

#[tokio::test]
async fn after_the_commit_is_pushed() -> Result<()> {
    kill_at("after-push").await.map(drop)
}

#[tokio::test]
async fn after_an_event_is_accepted() -> Result<()> {
    let killed = kill_at("after-accept").await?;
    // The first event is about the first artifact; only the accepted copy can still report it.
    let told = |request: &weir_testkit::SinkRequest| {
        let event = request.json();
        event["reason"] == "NewArtifact" && event["message"].to_string().contains("first")
    };
    killed.world.sink.wait_for("the accepted event", DEADLINE, told).await?;
    Ok(())
}

#[tokio::test]
async fn kill_9_in_the_middle_and_again() -> Result<()> {
    let mut killed = Loop::start(None).await?;
    for _ in 0..3 {
        killed.world.weir.kill();
        killed.world.weir.restart().await?;
    }
    killed.check_end().await
}
