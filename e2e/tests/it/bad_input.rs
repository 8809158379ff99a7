//! Bad input gets a condition that names the object, field or line; nothing panics, and everything else goes on.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use weir_e2e::World;
use weir_testkit::{SshGitServer, wait_not_ready, wait_ready};

const DEADLINE: Duration = Duration::from_secs(60);

/// More than a manifest may be; the file is mostly one comment.
const HUGE_MANIFEST: usize = 100 * 1024 * 1024;

/// What is applied, which object it is about, and what its condition says.
struct Case {
    kind: &'static str,
    name: &'static str,
    spec: serde_json::Value,
    says: &'static str,
}

impl Case {
    async fn check(&self, world: &World) -> Result<()> {
        let api_version = match self.kind {
            "Kustomization" => "kustomize.toolkit.fluxcd.io/v1",
            kind if kind.starts_with("Image") => "image.toolkit.fluxcd.io/v1",
            _ => "source.toolkit.fluxcd.io/v1",
        };
        let object = json!({"apiVersion": api_version, "kind": self.kind,
            "metadata": {"name": self.name, "namespace": "flux-system"}, "spec": self.spec});
        world.plane.apply("", object).await?;
        wait_not_ready(&world.api(self.kind, "flux-system").await?, self.name, self.says, DEADLINE).await?;
        Ok(())
    }
}

/// The process lives, has not panicked, and still does its work.
async fn check_sound(world: &mut World) -> Result<()> {
    world.weir.check_running()?;
    let log = world.weir.log();
    if let Some(line) = log.lines().find(|line| line.contains("panicked")) {
        bail!("{line}");
    }
    let repo = world.git.repo("sound")?;
    repo.commit(
        "main",
        "sound",
        &[("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sound}\n")],
    )?;
    world.plane.apply("flux-system", git_repository("sound", &world.git.url("sound"))).await?;
    world.plane.apply("flux-system", kustomization("sound", "sound", "./")).await?;
    wait_ready(&world.api("Kustomization", "flux-system").await?, "sound", DEADLINE).await?;
    Ok(())
}

fn git_repository(name: &str, url: &str) -> serde_json::Value {
    json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": name},
        "spec": {"interval": "10m", "url": url, "ref": {"branch": "main"}}})
}

fn kustomization(name: &str, source: &str, path: &str) -> serde_json::Value {
    json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name},
        "spec": {"interval": "10m", "path": path, "prune": true, "targetNamespace": "default",
            "sourceRef": {"kind": "GitRepository", "name": source}}})
}

#[tokio::test]
async fn sources_tell_what_is_wrong() -> Result<()> {
    let mut world = World::start().await?;
    let ssh = SshGitServer::start().await?;
    ssh.repo("app")?.commit("main", "first", &[("a", "1")])?;
    world.git.repo("app")?.commit("main", "first", &[("a", "1")])?;
    world.git.repo("private/app")?.commit("main", "first", &[("a", "1")])?;
    world.registry.push_artifact("app", "v1", &[("a.yaml", "a: 1\n")]).await?;
    world.secret("flux-system", "wrong", &[("username", "user"), ("password", "wrong")]).await?;
    let other_host = ssh.other_known_hosts();
    let key =
        [("identity", ssh.identity()), ("identity.pub", ssh.identity_pub()), ("known_hosts", &other_host)];
    world.secret("flux-system", "other-host", &key).await?;
    let oci = |repository: &str, tag: &str| json!({"interval": "10m", "insecure": true, "url": world.registry.url(repository), "ref": {"tag": tag}});

    let cases = [
        Case {
            kind: "GitRepository",
            name: "wrong-credentials",
            spec: json!({"interval": "10m", "url": world.git.url("private/app"), "secretRef": {"name": "wrong"}}),
            says: "authentication required",
        },
        Case {
            kind: "GitRepository",
            name: "unknown-host-key",
            spec: json!({"interval": "10m", "url": ssh.url("app"), "secretRef": {"name": "other-host"}}),
            says: "knownhosts: key mismatch",
        },
        Case {
            kind: "GitRepository",
            name: "missing-branch",
            spec: json!({"interval": "10m", "url": world.git.url("app"), "ref": {"branch": "nope"}}),
            says: "couldn't find remote ref \"refs/heads/nope\"",
        },
        Case {
            kind: "OCIRepository",
            name: "missing-repository",
            spec: oci("nothing", "v1"),
            says: "NAME_UNKNOWN",
        },
        Case { kind: "OCIRepository", name: "missing-tag", spec: oci("app", "v9"), says: "MANIFEST_UNKNOWN" },
    ];
    for case in cases {
        case.check(&world).await?;
    }
    check_sound(&mut world).await
}

#[tokio::test]
async fn builds_tell_what_is_wrong() -> Result<()> {
    let mut world = World::start().await?;
    let huge = format!("# {}\n", "x".repeat(HUGE_MANIFEST));
    let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let files = [
        ("invalid-yaml/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: [unclosed\n"),
        ("unknown-kind/a.yaml", "apiVersion: nope.example/v1\nkind: Thing\nmetadata: {name: x}\n"),
        ("undefined/a.yaml", &format!("{config_map}data: {{a: \"${{undefined_variable}}\"}}\n")),
        ("huge/a.yaml", &huge),
        ("good/a.yaml", config_map),
    ];
    world.git.repo("app")?.commit("main", "first", &files)?;
    let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "app"}, "spec": {"interval": "10m", "url": world.git.url("app"),
        "ref": {"branch": "main"}}});
    world.plane.apply("flux-system", source).await?;
    let spec = |name: &str| kustomization(name, "app", name)["spec"].clone();
    let mut undefined = spec("undefined");
    undefined["postBuild"] = json!({"substitute": {"defined": "yes"}});

    let cases = [
        Case {
            kind: "Kustomization",
            name: "invalid-yaml",
            spec: spec("invalid-yaml"),
            says: "invalid-yaml/a.yaml",
        },
        Case {
            kind: "Kustomization",
            name: "unknown-kind",
            spec: spec("unknown-kind"),
            says: "no matches for kind \"Thing\" in version \"nope.example/v1\"",
        },
        Case { kind: "Kustomization", name: "undefined", spec: undefined, says: "undefined_variable" },
        Case { kind: "Kustomization", name: "huge", spec: spec("huge"), says: "huge/a.yaml" },
    ];
    for case in cases {
        case.check(&world).await?;
    }
    check_sound(&mut world).await
}

#[tokio::test]
async fn dependencies_in_a_circle_are_named() -> Result<()> {
    let mut world = World::start().await?;
    world.git.repo("app")?.commit("main", "first", &[("a.yaml", "{}")])?;
    world.plane.apply("flux-system", git_repository("app", &world.git.url("app"))).await?;
    for (name, needs) in [("first", "second"), ("second", "first")] {
        let mut object = kustomization(name, "app", "./");
        object["spec"]["dependsOn"] = json!([{"name": needs}]);
        world.plane.apply("flux-system", object).await?;
    }
    let kustomizations = world.api("Kustomization", "flux-system").await?;
    let told = wait_not_ready(&kustomizations, "first", "second", DEADLINE).await?;
    assert_eq!(told.reason, "DependencyNotReady");
    wait_not_ready(&kustomizations, "second", "first", DEADLINE).await?;
    check_sound(&mut world).await
}

#[tokio::test]
async fn image_objects_tell_what_is_wrong() -> Result<()> {
    let mut world = World::start().await?;
    world.registry.push_image("app", "1.0.0").await?;
    let image = |name: &str| format!("{}/{name}", world.registry.address());
    let repository = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageRepository",
        "metadata": {"name": "app"}, "spec": {"interval": "10m", "insecure": true, "image": image("app")}});
    world.plane.apply("flux-system", repository).await?;
    wait_ready(&world.api("ImageRepository", "flux-system").await?, "app", DEADLINE).await?;

    let cases = [
        Case {
            kind: "ImageRepository",
            name: "missing-image",
            spec: json!({"interval": "10m", "insecure": true, "image": image("nothing")}),
            says: "NAME_UNKNOWN",
        },
        Case {
            kind: "ImageRepository",
            name: "invalid-exclusion",
            spec: json!({"interval": "10m", "insecure": true, "image": image("app"), "exclusionList": ["[a-"]}),
            says: "[a-",
        },
        Case {
            kind: "ImagePolicy",
            name: "invalid-filter",
            spec: json!({"imageRepositoryRef": {"name": "app"}, "filterTags": {"pattern": "(unclosed"},
                "policy": {"semver": {"range": ">=1.0.0"}}}),
            says: "(unclosed",
        },
        Case {
            kind: "ImagePolicy",
            name: "invalid-range",
            spec: json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "not a range"}}}),
            says: "semver",
        },
    ];
    for case in cases {
        case.check(&world).await?;
    }
    check_sound(&mut world).await
}
