//! Bad input gets a condition that names the object, field or line; nothing panics, and everything else goes on.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use weir_e2e::World;
use weir_testkit::object::{
    git_repository, image_policy, image_repository, kustomization, oci_repository, with_spec,
};
use weir_testkit::{SshGitServer, wait_not_ready, wait_ready};

const DEADLINE: Duration = Duration::from_secs(60);

/// Time for a source of [`HUGE_MANIFEST`], which an unoptimised program on a busy machine packs for a minute and more.
const HUGE_DEADLINE: Duration = Duration::from_secs(300);

/// More than a manifest may be; the file is mostly one comment.
const HUGE_MANIFEST: usize = 100 * 1024 * 1024;

/// An object and the message of its condition.
struct Case(Value, &'static str);

impl Case {
    async fn check(self, world: &World) -> Result<()> {
        let Self(object, says) = self;
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        world.plane.apply("flux-system", object).await?;
        wait_not_ready(&world.api(&kind, "flux-system").await?, &name, says, DEADLINE).await?;
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
    let applied = kustomization("sound", "GitRepository", "sound", "./");
    world.plane.apply("flux-system", with_spec(applied, json!({"targetNamespace": "default"}))).await?;
    wait_ready(&world.api("Kustomization", "flux-system").await?, "sound", DEADLINE).await?;
    Ok(())
}

/// A folder of the GitRepository `app`.
fn folder(name: &str) -> Value {
    let object = kustomization(name, "GitRepository", "app", name);
    with_spec(object, json!({"targetNamespace": "default"}))
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
    let with_secret = |name: &str, url: String, secret: &str| {
        with_spec(git_repository(name, &url), json!({"secretRef": {"name": secret}}))
    };

    let cases = [
        Case(
            with_secret("wrong-credentials", world.git.url("private/app"), "wrong"),
            "authentication required",
        ),
        Case(with_secret("unknown-host-key", ssh.url("app"), "other-host"), "knownhosts: key mismatch"),
        Case(
            with_spec(
                git_repository("missing-branch", &world.git.url("app")),
                json!({"ref": {"branch": "nope"}}),
            ),
            "couldn't find remote ref \"refs/heads/nope\"",
        ),
        Case(
            oci_repository("missing-repository", &world.registry.url("nothing")),
            "/v2/nothing/manifests/v1: MANIFEST_UNKNOWN",
        ),
        Case(
            with_spec(
                oci_repository("missing-tag", &world.registry.url("app")),
                json!({"ref": {"tag": "v9"}}),
            ),
            "MANIFEST_UNKNOWN",
        ),
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
    let source = with_spec(git_repository("app", &world.git.url("app")), json!({"timeout": "5m"}));
    world.plane.apply("flux-system", source).await?;
    wait_ready(&world.api("GitRepository", "flux-system").await?, "app", HUGE_DEADLINE).await?;
    let substituted = json!({"postBuild": {"substitute": {"defined": "yes"}}});

    let cases = [
        Case(folder("invalid-yaml"), "invalid-yaml/a.yaml"),
        Case(folder("unknown-kind"), "no matches for kind \"Thing\" in version \"nope.example/v1\""),
        Case(with_spec(folder("undefined"), substituted), "undefined_variable"),
        Case(folder("huge"), "huge/a.yaml"),
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
        let object = kustomization(name, "GitRepository", "app", "./");
        world.plane.apply("flux-system", with_spec(object, json!({"dependsOn": [{"name": needs}]}))).await?;
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
    world.plane.apply("flux-system", image_repository("app", &image("app"))).await?;
    wait_ready(&world.api("ImageRepository", "flux-system").await?, "app", DEADLINE).await?;
    let exclusion = image_repository("invalid-exclusion", &image("app"));
    let filter = image_policy("invalid-filter", "app", ">=1.0.0");

    let cases = [
        Case(image_repository("missing-image", &image("nothing")), "NAME_UNKNOWN"),
        Case(with_spec(exclusion, json!({"exclusionList": ["[a-"]})), "[a-"),
        Case(with_spec(filter, json!({"filterTags": {"pattern": "(unclosed"}})), "(unclosed"),
        Case(image_policy("invalid-range", "app", "not a range"), "improper constraint: \"not a range\""),
    ];
    for case in cases {
        case.check(&world).await?;
    }
    check_sound(&mut world).await
}
