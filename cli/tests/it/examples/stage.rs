//! A place where the examples make sense: their files, their cluster, their registry, their receiver of webhooks.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;
use tokio::process::Command;
use tokio::sync::OnceCell;
use weir_testkit::{ControlPlane, Folder, Registry, WebhookSink, repo_path};

use crate::build::write;
use crate::create;
use crate::logs::Installation;
use crate::trigger;
use crate::world::{World, ready, with};

pub(super) const KINDS: [&str; 15] = [
    "GitRepository",
    "OCIRepository",
    "Bucket",
    "HelmRepository",
    "HelmChart",
    "ExternalArtifact",
    "ArtifactGenerator",
    "Kustomization",
    "HelmRelease",
    "ImageRepository",
    "ImagePolicy",
    "ImageUpdateAutomation",
    "Receiver",
    "Alert",
    "Provider",
];

/// The namespaces of the examples.
pub(super) const NAMESPACES: [&str; 2] = ["flux-system", "apps"];

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, namespace: apps}\n";

/// The files of the examples.
const FILES: [(&str, &str); 12] = [
    ("kustomization.yaml", "resources: [deployment.yaml]\n"),
    (
        "deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, labels: {region: '${REGION:=eu}'}}\n",
    ),
    ("clusters/prod/kustomization.yaml", "resources: [apps.yaml]\n"),
    (
        "clusters/prod/apps.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
         spec: {interval: 10m, prune: true, path: ./clusters/prod/apps, sourceRef: {kind: GitRepository, name: flux-system}}\n",
    ),
    ("clusters/prod/apps/kustomization.yaml", "resources: [config.yaml]\n"),
    ("clusters/prod/apps/config.yaml", CONFIG),
    ("deploy/kustomization.yaml", "resources: [config.yaml]\n"),
    ("deploy/config.yaml", CONFIG),
    ("deploy/kustomize/crds/kustomization.yaml", "resources: [config.yaml]\n"),
    ("deploy/kustomize/crds/config.yaml", CONFIG),
    ("kustomize/config.yaml", CONFIG),
    ("home/.config/fish/completions/weir.fish", ""),
];

/// Everything that the examples need.
pub(super) struct Stage {
    pub(super) plane: &'static ControlPlane,
    folder: Folder,
    registry: Registry,
    sink: WebhookSink,
    _installation: Installation,
}

impl Stage {
    pub(super) async fn new() -> Self {
        static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();
        let plane = PLANE.get_or_try_init(ControlPlane::start).await.unwrap();
        let [of_services, apps] = NAMESPACES;
        let installation = Installation::in_world(World::on(plane, of_services).await).await;
        for world in [&installation.world, &World::on(plane, apps).await] {
            objects(world).await;
        }
        root(&installation.world).await;
        workload(plane, apps).await;
        let registry = Registry::start().await.unwrap();
        let stage = Self {
            plane,
            folder: folder(),
            registry,
            sink: trigger::sink().await,
            _installation: installation,
        };
        for (tag, path) in [
            ("org/config/app:1.0.0", "deploy"),
            ("org/manifests/app:v0.0.1", "deploy"),
            ("stefanprodan/manifests/podinfo:6.2.0", "kustomize"),
        ] {
            let push =
                format!("weir push artifact oci://ghcr.io/{tag} --path {path} --source local --revision v1");
            let pushed = stage.shell(&push).output().await.unwrap();
            assert!(pushed.status.success(), "{pushed:?}");
        }
        stage
    }

    /// A shell that runs an example here.
    pub(super) fn shell(&self, example: &str) -> Command {
        let url = self.sink.url("");
        let example = example
            .replace("oci://ghcr.io/", &format!("oci://{}/", self.registry.address()))
            .replace("https://flux-webhook.example.com", url.trim_end_matches('/'));
        let mut shell = shell(&example, self.folder.path(), self.plane);
        shell
            .env("SOPS_AGE_KEY_FILE", self.folder.join("age.agekey"))
            .env("ACTIONS_ID_TOKEN_REQUEST_URL", self.sink.url("/token?a=b"))
            .env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "job");
        shell
    }
}

/// A shell that runs an example in a folder, with a cluster.
pub(super) fn shell(example: &str, folder: &Path, plane: &ControlPlane) -> Command {
    let mut shell = Command::new("bash");
    // The array is zsh's, of the folders with completions.
    let script = format!("set -e -o pipefail; fpath=(. .)\n{example}");
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
    shell.args(["-c", &script]).current_dir(folder).env_clear().kill_on_drop(true);
    shell.env("PATH", path).env("HOME", folder.join("home")).env("TOKEN", "secret");
    shell.env("KUBECONFIG", plane.kubeconfig_path());
    shell
}

/// A folder with the files, and with programs that examples call.
pub(super) fn folder() -> Folder {
    let folder = create::files();
    write(folder.path(), &FILES);
    let data = repo_path("crates/sops/tests/data");
    let copies = [
        ("cases/age.yaml", "secret.yaml"),
        ("cases/age.yaml", "values.enc"),
        ("keys/age.agekey", "age.agekey"),
    ];
    for (from, to) in copies {
        std::fs::copy(data.join(from), folder.join(to)).unwrap();
    }
    std::fs::copy(folder.join("key.pem"), folder.join("app.pem")).unwrap();
    for name in ["bin", "manifests"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_weir"), folder.join("bin/weir")).unwrap();
    let kubectl = folder.write("bin/kubectl", "#!/bin/sh\nexec cat >/dev/null\n").unwrap();
    std::fs::set_permissions(kubectl, PermissionsExt::from_mode(0o755)).unwrap();
    let git = "git init -q && git remote add origin https://example.com/app && \
               git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m first";
    let made = std::process::Command::new("sh").args(["-c", git]).current_dir(folder.path()).status();
    assert!(made.unwrap().success());
    folder
}

/// Makes two objects of each kind.
async fn objects(world: &World) {
    for kind in KINDS {
        for name in ["podinfo", "redis"] {
            match kind {
                "HelmRelease" => {
                    let source = json!({ "kind": "HelmRepository", "name": "podinfo" });
                    let chart = json!({ "spec": { "chart": "podinfo", "sourceRef": source } });
                    world.release(name, json!({ "interval": "10m", "chart": chart })).await;
                    // The chart that the release's controller makes of that.
                    world.object("HelmChart", &format!("{}-{name}", world.namespace)).await;
                }
                kind => world.object(kind, name).await,
            }
        }
    }
    let token = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "token" }, "stringData": { "token": "t" } });
    world.plane.apply(&world.namespace, token).await.unwrap();
}

/// Makes the Kustomizations of a cluster that was bootstrapped.
async fn root(world: &World) {
    let entry = |id: &str| json!({ "id": id, "v": "v1" });
    let inventory = json!({ "inventory": { "entries": [
        entry("flux-system_apps_kustomize.toolkit.fluxcd.io_Kustomization"),
        entry("apps_podinfo_apps_Deployment"),
    ] } });
    for name in ["flux-system", "apps"] {
        world.object("Kustomization", name).await;
    }
    let source = json!({ "kind": "GitRepository", "name": "podinfo" });
    let variables = json!({ "substitute": { "region": "eu" } });
    let spec = json!({ "interval": "10m", "prune": true, "sourceRef": source, "postBuild": variables });
    world.object_with("Kustomization", "podinfo", spec).await;
    world
        .status("Kustomization", "flux-system", with(ready(1, "True", "Succeeded", "Applied"), inventory))
        .await;
}

/// Makes what the Kustomization podinfo would have applied.
async fn workload(plane: &ControlPlane, namespace: &str) {
    let labels = json!({
        "kustomize.toolkit.fluxcd.io/name": "podinfo",
        "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
        "app": "podinfo",
    });
    let spec = json!({ "containers": [{ "name": "podinfo", "image": "podinfo" }] });
    let metadata = |name: &str| json!({ "name": name, "labels": labels });
    let deployment = json!({
        "replicas": 0,
        "selector": { "matchLabels": { "app": "podinfo" } },
        "template": { "metadata": { "labels": { "app": "podinfo" } }, "spec": spec },
    });
    for object in [
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("podinfo"), "spec": deployment }),
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata("podinfo-0"), "spec": spec }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("settings") }),
    ] {
        plane.apply(namespace, object).await.unwrap();
    }
}
