//! C: Git to cluster, and registry to Git to cluster.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use weir_e2e::World;
use weir_testkit::{GitRepo, SshGitServer, touch_requested_at, wait_for, wait_ready};

const SOURCE: &str = include_str!("manifests/task-tool/source.yaml");
const KUSTOMIZATION: &str = include_str!("manifests/task-tool/kustomization.yaml");
const IMAGE: &str = include_str!("manifests/task-tool/image.yaml");
const OVERLAY: &str = include_str!("manifests/task-tool/app/prod-kustomization.yaml");

const FILES: [(&str, &str); 6] = [
    ("app/base/kustomization.yaml", include_str!("manifests/task-tool/app/base-kustomization.yaml")),
    ("app/base/task-service/deployment.yaml", include_str!("manifests/task-tool/app/deployment.yaml")),
    ("app/base/task-service/service.yaml", include_str!("manifests/task-tool/app/service.yaml")),
    ("app/base/task-reporter/cronjob.yaml", include_str!("manifests/task-tool/app/cronjob.yaml")),
    ("app/base/ingress/ingress.yaml", include_str!("manifests/task-tool/app/ingress.yaml")),
    ("app/overlays/prod/patches/deployment.yaml", include_str!("manifests/task-tool/app/patch.yaml")),
];

const OVERLAY_PATH: &str = "app/overlays/prod/kustomization.yaml";
const IMAGE_NAME: &str = "mamezou-tech/task-service";

const DEADLINE: Duration = Duration::from_secs(60);

/// Stand-ins for the article's AWS and GitHub.
fn with_hosts(text: &str, registry: &str, source_url: &str) -> String {
    text.replace("<aws-account-id>.dkr.ecr.<aws-region>.amazonaws.com", registry)
        .replace("ssh://git@github.com/<github-user>/task-tool-cluster-config", source_url)
}

struct TaskTool {
    world: World,
    ssh: SshGitServer,
    repo: GitRepo,
}

impl TaskTool {
    /// Repository, key, source and Kustomization of the article, with version 1.0.0 running.
    async fn start() -> Result<Self> {
        let (world, ssh) = tokio::try_join!(World::start(), async { Ok(SshGitServer::start().await?) })?;
        let repo = ssh.repo("task-tool-cluster-config")?;
        let task_tool = Self { world, ssh, repo };
        let world = &task_tool.world;
        world.registry.push_image(IMAGE_NAME, "1.0.0").await?;
        let overlay = task_tool.with_hosts(OVERLAY);
        task_tool.repo.commit(
            "main",
            "Add task-tool config",
            &[&FILES[..], &[(OVERLAY_PATH, &overlay)]].concat(),
        )?;

        world.plane.namespace("prod").await?;
        let known_hosts = task_tool.ssh.known_hosts();
        let key = [
            ("identity", task_tool.ssh.identity()),
            ("identity.pub", task_tool.ssh.identity_pub()),
            ("known_hosts", &known_hosts),
        ];
        world.secret("flux-system", "task-tool-ssh-key", &key).await?;
        world.apply("", &task_tool.with_hosts(SOURCE)).await?;
        world.apply("", KUSTOMIZATION).await?;
        wait_ready(&world.api("Kustomization", "flux-system").await?, "task-tool", DEADLINE).await?;
        Ok(task_tool)
    }

    fn with_hosts(&self, text: &str) -> String {
        with_hosts(text, self.world.registry.address(), &self.ssh.url("task-tool-cluster-config"))
    }

    fn image(&self, tag: &str) -> String {
        format!("{}/{IMAGE_NAME}:{tag}", self.world.registry.address())
    }

    /// Commits a change of the overlay and lets the source look now, as a webhook would.
    async fn change_overlay(&self, message: &str, edit: impl Fn(String) -> String) -> Result<String> {
        let overlay = edit(self.repo.read("main", OVERLAY_PATH)?);
        let id = self.repo.commit("main", message, &[(OVERLAY_PATH, &overlay)])?;
        touch_requested_at(&self.world.api("GitRepository", "flux-system").await?, "task-tool").await?;
        Ok(id)
    }

    async fn wait_for_image(&self, tag: &str) -> Result<()> {
        let deployments = self.world.api("Deployment", "prod").await?;
        let wanted = self.image(tag);
        let rolled_out = |object: Option<&DynamicObject>| {
            object.is_some_and(|object| {
                object.data["spec"]["template"]["spec"]["containers"][0]["image"] == wanted.as_str()
            })
        };
        wait_for(&deployments, "prod-task-service", &wanted, DEADLINE, rolled_out).await?;
        Ok(())
    }
}

#[tokio::test]
async fn c5_a_bump_by_hand_rolls_out() -> Result<()> {
    let task_tool = TaskTool::start().await?;
    task_tool.wait_for_image("1.0.0").await?;
    let world = &task_tool.world;
    let kustomization = world.api("Kustomization", "flux-system").await?.get("task-tool").await?;
    let entries =
        kustomization.data["status"]["inventory"]["entries"].as_array().context("no inventory")?.clone();
    let mut ids: Vec<_> = entries.iter().filter_map(|entry| entry["id"].as_str()).collect();
    ids.sort_unstable();
    assert!(ids.iter().all(|id| id.starts_with("prod_prod-")), "{ids:?}");
    assert_eq!(ids.len(), 6, "{ids:?}");

    let id = task_tool.change_overlay("Bumped to 1.1.0", |text| text.replace("1.0.0", "1.1.0")).await?;
    task_tool.wait_for_image("1.1.0").await?;
    let kustomizations = world.api("Kustomization", "flux-system").await?;
    let ready = wait_ready(&kustomizations, "task-tool", DEADLINE).await?;
    assert_eq!(ready.data["status"]["lastAppliedRevision"], format!("main@sha1:{id}"));
    Ok(())
}

#[tokio::test]
async fn c6_and_c7_a_new_image_is_one_commit_and_a_rollout() -> Result<()> {
    let task_tool = TaskTool::start().await?;
    let world = &task_tool.world;
    world.registry.push_image(IMAGE_NAME, "1.1.0").await?;
    let marked = task_tool
        .change_overlay("Enable image update automation", |text| {
            text.replace(
                "/task-service\n",
                "/task-service # {\"$imagepolicy\": \"flux-system:task-service:name\"}\n",
            )
            .replace("1.0.0\n", "1.1.0 # {\"$imagepolicy\": \"flux-system:task-service:tag\"}\n")
        })
        .await?;
    task_tool.wait_for_image("1.1.0").await?;

    // C6: nothing is to be done yet.
    world.apply("", &task_tool.with_hosts(IMAGE)).await?;
    for (kind, name) in [
        ("ImageRepository", "task-service"),
        ("ImagePolicy", "task-service"),
        ("ImageUpdateAutomation", "task-tool"),
    ] {
        wait_ready(&world.api(kind, "flux-system").await?, name, DEADLINE).await?;
    }
    assert_eq!(task_tool.repo.head("main")?, marked);
    let printed = world.weir.cli(&["get", "image", "repository"]).await?;
    assert!(printed.contains("found 2 tags"), "{printed}");
    let printed = world.weir.cli(&["get", "image", "policy"]).await?;
    assert!(printed.contains("resolved to 1.1.0"), "{printed}");
    let printed = world.weir.cli(&["get", "image", "update"]).await?;
    assert!(printed.contains("True") && printed.contains("repository up-to-date"), "{printed}");

    // C7: a new patch version.
    world.registry.push_image(IMAGE_NAME, "1.1.1").await?;
    touch_requested_at(&world.api("ImageRepository", "flux-system").await?, "task-service").await?;
    task_tool.wait_for_image("1.1.1").await?;
    check_bot_commit(&task_tool, &marked)?;
    check_printed(&task_tool).await
}

fn check_bot_commit(task_tool: &TaskTool, parent: &str) -> Result<()> {
    let log = task_tool.repo.log("main")?;
    let bot: Vec<_> = log.iter().filter(|commit| commit.author_name == "fluxcdbot").collect();
    assert_eq!(bot.len(), 1, "{log:?}");
    assert_eq!(bot[0], &log[0]);
    assert_eq!(bot[0].parents, [parent]);
    assert_eq!(bot[0].author_email, "fluxcdbot@users.noreply.github.com");
    assert_eq!(bot[0].message, task_tool.image("1.1.1"));

    let diff = task_tool.repo.diff("main")?;
    let lines: Vec<_> = diff.lines().skip_while(|line| !line.starts_with("@@")).skip(1).collect();
    let marker = "# {\"$imagepolicy\": \"flux-system:task-service:tag\"}";
    assert_eq!(lines, [format!("-  newTag: 1.1.0 {marker}"), format!("+  newTag: 1.1.1 {marker}")]);
    Ok(())
}

/// Checks the output of C7, with today's texts (docs/adr/0006-texts-of-get.md).
async fn check_printed(task_tool: &TaskTool) -> Result<()> {
    let world = &task_tool.world;
    let commit = task_tool.repo.head("main")?;
    let automations = world.api("ImageUpdateAutomation", "flux-system").await?;
    let pushed = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| {
            let status = &object.data["status"];
            status["lastPushCommit"] == commit.as_str() && status["lastPushTime"].is_string()
        })
    };
    wait_for(&automations, "task-tool", "the push in its status", DEADLINE, pushed).await?;

    let printed = world.weir.cli(&["get", "image", "repository"]).await?;
    assert!(printed.contains("successful scan: found 3 tags with checksum"), "{printed}");
    let printed = world.weir.cli(&["get", "image", "policy"]).await?;
    assert!(printed.contains("resolved to 1.1.1"), "{printed}");
    let printed = world.weir.cli(&["get", "image", "update"]).await?;
    assert!(printed.contains("task-tool") && printed.contains("True"), "{printed}");
    Ok(())
}
