//! Scenario C, typed as in its article with `weir` for `flux`, on a cluster where nothing is installed yet.

use anyhow::{Context, Result, ensure};
use kube::api::DynamicObject;
use serde_json::json;
use weir_testkit::{stand_in_image, wait_for, wait_gone, wait_ready};

use super::fleet::Fleet;
use super::main_loop::is_rolled_out;
use super::{DEADLINE, deployment};
use crate::NAMESPACE;

const OVERLAY: &str = include_str!("../../tests/it/manifests/task-tool/app/prod-kustomization.yaml");
const OVERLAY_PATH: &str = "app/overlays/prod/kustomization.yaml";

const FILES: [(&str, &str); 6] = [
    (
        "app/base/kustomization.yaml",
        include_str!("../../tests/it/manifests/task-tool/app/base-kustomization.yaml"),
    ),
    (
        "app/base/task-service/deployment.yaml",
        include_str!("../../tests/it/manifests/task-tool/app/deployment.yaml"),
    ),
    (
        "app/base/task-service/service.yaml",
        include_str!("../../tests/it/manifests/task-tool/app/service.yaml"),
    ),
    (
        "app/base/task-reporter/cronjob.yaml",
        include_str!("../../tests/it/manifests/task-tool/app/cronjob.yaml"),
    ),
    ("app/base/ingress/ingress.yaml", include_str!("../../tests/it/manifests/task-tool/app/ingress.yaml")),
    (
        "app/overlays/prod/patches/deployment.yaml",
        include_str!("../../tests/it/manifests/task-tool/app/patch.yaml"),
    ),
];

/// The registry that the article has, and the image in it.
const ARTICLE_REGISTRY: &str = "<aws-account-id>.dkr.ecr.<aws-region>.amazonaws.com";
const IMAGE: &str = "mamezou-tech/task-service";

/// The article's `create` commands, whose output is committed.
const KUSTOMIZATION: &str = "create kustomization task-tool --target-namespace=prod --source=task-tool \
                             --path=./app/overlays/prod --prune=true --interval=5m --export";
const POLICY: &str =
    "create image policy task-service --image-ref=task-service --select-semver=1.1.x --export";
const AUTOMATION: &str = "create image update task-tool --git-repo-ref=task-tool --git-repo-path=./app/overlays/prod \
                          --checkout-branch=main --push-branch=main --author-name=fluxcdbot \
                          --author-email=fluxcdbot@users.noreply.github.com \
                          --commit-template='{{range .Updated.Images}}{{println .}}{{end}}' --export";

/// The objects that the article deletes at its end, and Weir itself.
const CLEAN_UP: [&str; 6] = [
    "delete image update task-tool -s",
    "delete image repository task-service -s",
    "delete image policy task-service -s",
    "delete kustomization task-tool -s",
    "delete source git task-tool -s",
    "uninstall -s",
];

/// One application, and the configuration of its cluster.
pub(super) struct TaskTool<'a> {
    fleet: &'a Fleet<'a>,
}

impl<'a> TaskTool<'a> {
    pub(super) fn new(fleet: &'a Fleet<'a>) -> Self {
        Self { fleet }
    }

    /// C1: from an empty cluster and an empty repository to running services; the second run changes nothing.
    pub(super) async fn bootstrap(&self) -> Result<()> {
        self.fleet.weir("check --pre").await?;
        self.fleet.bootstrap("").await?;
        let head = self.fleet.repo.head("main")?;
        self.fleet.bootstrap("").await?;
        let log = self.fleet.repo.log("main")?;
        ensure!(self.fleet.repo.head("main")? == head, "the second run made a commit: {log:?}");
        self.fleet.weir("check").await?;
        Ok(())
    }

    /// C2 to C4: source and Kustomization by `create … --export`, a commit, and what `get` and `tree` show then.
    pub(super) async fn deploy(&self) -> Result<()> {
        self.push_image("1.0.0").await?;
        let plane = self.fleet.world.plane();
        plane.namespace("prod").await?;
        plane.apply(NAMESPACE, self.key()).await?;
        let source = format!(
            "create source git task-tool --url={} --branch=main --interval=30s --secret-ref=task-tool-ssh-key --export",
            self.fleet.url()
        );
        let source = self.fleet.weir(&source).await?;
        let kustomization = self.fleet.weir(KUSTOMIZATION).await?;
        let overlay = OVERLAY.replace(ARTICLE_REGISTRY, &self.fleet.world.cluster.registry_address());
        // The article's Pods run; those of the other tests need not.
        let files = FILES.map(|(path, text)| (path, text.replace("replicas: 0", "replicas: 1")));
        let mut files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        files.extend([
            (OVERLAY_PATH, overlay.as_str()),
            ("clusters/prod/task-tool-source.yaml", &source),
            ("clusters/prod/task-tool-kustomization.yaml", &kustomization),
        ]);
        self.fleet.push("Add task-tool config", &files).await?;
        self.wait_for_image("1.0.0").await?;
        let head = self.fleet.repo.head("main")?;
        let applied = format!("Applied revision: main@sha1:{}", head.get(..8).unwrap_or_default());
        self.fleet.printed("get kustomization task-tool", &[&applied]).await?;
        let objects = [
            "Deployment/prod/prod-task-service",
            "CronJob/prod/prod-task-reporter",
            "ConfigMap/prod/prod-task-service-config-",
        ];
        self.fleet.printed("tree kustomization task-tool", &objects).await
    }

    /// C5: a bump by hand rolls out.
    pub(super) async fn bump(&self) -> Result<()> {
        self.push_image("1.1.0").await?;
        let overlay = self.fleet.repo.read("main", OVERLAY_PATH)?.replace("1.0.0", "1.1.0");
        self.fleet.push("Bumped to 1.1.0", &[(OVERLAY_PATH, &overlay)]).await?;
        self.fleet.weir("reconcile source git task-tool").await?;
        self.wait_for_image("1.1.0").await
    }

    /// C6: `bootstrap` again adds the image services.
    pub(super) async fn add_image_services(&self) -> Result<()> {
        let extra = "--components-extra=image-reflector-controller,image-automation-controller";
        self.fleet.bootstrap(extra).await
    }

    /// C6: an automation that finds nothing to do yet.
    pub(super) async fn automate(&self) -> Result<()> {
        let (fleet, registry) = (self.fleet, self.fleet.world.cluster.registry_address());
        let repository =
            format!("create image repository task-service --image={registry}/{IMAGE} --interval=1m --export");
        let overlay = fleet.repo.read("main", OVERLAY_PATH)?;
        let overlay = overlay
            .replace(
                "/task-service\n",
                "/task-service # {\"$imagepolicy\": \"flux-system:task-service:name\"}\n",
            )
            .replace("1.1.0\n", "1.1.0 # {\"$imagepolicy\": \"flux-system:task-service:tag\"}\n");
        let files = [
            (OVERLAY_PATH, overlay),
            ("clusters/prod/task-service-registry.yaml", fleet.weir(&repository).await?),
            ("clusters/prod/task-service-policy.yaml", fleet.weir(POLICY).await?),
            ("clusters/prod/task-tool-automation.yaml", fleet.weir(AUTOMATION).await?),
        ];
        let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
        fleet.push("Enable image update automation", &files).await?;
        // The automation may be ready before there is a policy.
        for (kind, name) in [
            ("ImageRepository", "task-service"),
            ("ImagePolicy", "task-service"),
            ("ImageUpdateAutomation", "task-tool"),
        ] {
            let objects = fleet.world.api(kind, NAMESPACE).await?;
            wait_ready(&objects, name, DEADLINE).await?;
        }
        fleet.printed("get image repository", &["found 2 tags"]).await?;
        fleet.printed("get image policy", &["resolved to 1.1.0"]).await
    }

    /// C7: a new image is one commit of the bot and a rollout.
    pub(super) async fn release(&self) -> Result<()> {
        let before = self.fleet.repo.head("main")?;
        self.push_image("1.1.1").await?;
        self.fleet.weir("reconcile image repository task-service").await?;
        self.wait_for_image("1.1.1").await?;
        let log = self.fleet.repo.log("main")?;
        let bump = log.first().context("no commits")?;
        ensure!(bump.author_name == "fluxcdbot" && bump.parents == [before], "not one bot commit: {log:?}");
        self.fleet.printed("get image repository", &["found 3 tags"]).await?;
        self.fleet.printed("get image policy", &["resolved to 1.1.1"]).await
    }

    /// C8: what the article deletes, and `uninstall`.
    pub(super) async fn clean_up(&self) -> Result<()> {
        for line in CLEAN_UP {
            self.fleet.weir(line).await?;
        }
        let world = self.fleet.world;
        wait_gone(&world.api("Namespace", "").await?, NAMESPACE, DEADLINE).await?;
        deployment::nothing_is_left(world).await?;
        let deployments = world.api("Deployment", "prod").await?;
        ensure!(deployments.get_opt("prod-task-service").await?.is_none(), "the application is left behind");
        Ok(())
    }

    /// The Secret that the article makes of its key.
    fn key(&self) -> serde_json::Value {
        let ssh = &self.fleet.ssh;
        let known_hosts = self.fleet.fronted(&ssh.known_hosts());
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "task-tool-ssh-key"},
            "stringData": {
                "identity": ssh.identity(), "identity.pub": ssh.identity_pub(), "known_hosts": known_hosts,
            },
        })
    }

    async fn push_image(&self, tag: &str) -> Result<()> {
        let made = stand_in_image(IMAGE, tag, "task-service")?;
        self.fleet.world.registry().push_made_image(IMAGE, tag, &made).await?;
        Ok(())
    }

    async fn wait_for_image(&self, tag: &str) -> Result<()> {
        let world = self.fleet.world;
        let image = format!("{}/{IMAGE}:{tag}", world.cluster.registry_address());
        let deployments = world.api("Deployment", "prod").await?;
        let runs = |object: Option<&DynamicObject>| object.is_some_and(|it| is_rolled_out(it, &image));
        wait_for(&deployments, "prod-task-service", &image, DEADLINE, runs).await?;
        let kustomizations = world.api("Kustomization", NAMESPACE).await?;
        wait_ready(&kustomizations, "task-tool", DEADLINE).await?;
        Ok(())
    }
}
