//! Charts in the files of Git repositories and buckets, with what they need (B5, SRC-CHT-11…14).

use serde_json::{Value, json};
use weir_testkit::{Artifact, GitServer, Registry, touch_requested_at};

use super::{CHART, HELM, LAYER, of, text};
use crate::bucket::stand_in::StandIn;
use crate::chart_server::{ChartServer, chart};
use crate::world::{World, files};

/// B5, SRC-SCK-1: SRC-CHT-11 to SRC-CHT-15, deviation 16.
#[tokio::test]
async fn charts_of_a_git_repository() {
    let world = World::start().await;
    let server = GitServer::start().await.unwrap();
    let repo = server.repo("src").unwrap();
    let (chart_server, registry) = (ChartServer::start().await, Registry::start().await.unwrap());
    chart_server.publish("/deps", &["1.0.0", "1.4.0"]);
    let mut layer = Artifact::of_layer(chart("cache", "3.0.0", &[]));
    layer.layer_media_type = LAYER.to_owned();
    registry.push_artifact_with("deps/cache", "3.0.0", layer).await.unwrap();
    world.apply(HELM, "deps", json!({"url": registry.url("deps"), "type": "oci", "insecure": true})).await;
    let umbrella = format!(
        "apiVersion: v2\nname: umbrella\nversion: 0.1.0\ndependencies:\n- {{name: app, version: 1.x, repository: '{}'}}\n- {{name: lib, version: 0.x, repository: 'file://../lib', alias: tools}}\n- {{name: named, version: 0.x, repository: 'file://../other'}}\n- {{name: cache, version: '>=2', repository: '{}'}}\n",
        chart_server.url("/deps/"),
        registry.url("deps"),
    );
    let files_ = [
        ("charts/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n"),
        ("charts/app/values.yaml", "replicas: 1\n"),
        ("charts/app/.helmignore", "*.bak\n"),
        ("charts/app/x.bak", "x"),
        ("charts/lib/Chart.yaml", "apiVersion: v2\nname: lib\nversion: 0.9.0\n"),
        ("charts/other/Chart.yaml", "apiVersion: v2\nname: other\nversion: 0.2.0\n"),
        ("charts/umbrella/Chart.yaml", umbrella.as_str()),
        (
            "charts/broken/Chart.yaml",
            "apiVersion: v2\nname: broken\nversion: 1.0.0\ndependencies: [{name: x, version: 1.x, repository: 'file://../../../../etc'}]\n",
        ),
        (
            "charts/alias/Chart.yaml",
            "apiVersion: v2\nname: alias\nversion: 1.0.0\ndependencies: [{name: x, version: 1.x, repository: '@team'}]\n",
        ),
        ("env.yaml", "replicas: 9\n"),
    ];
    let commit = repo.commit("main", "charts", &files_).unwrap();
    world.git("src", &server.url("src"), json!({})).await;
    let git = |path: &str, more: Value| of("GitRepository", "src", path, more);
    let table = [
        ("dir", git("./charts/app", json!({})), "1.0.0".to_owned()),
        (
            "rev",
            git("charts/app", json!({"reconcileStrategy": "Revision"})),
            format!("1.0.0+{}", &commit[..12]),
        ),
        ("values", git("charts/app", json!({"valuesFiles": ["env.yaml"]})), "1.0.0+1".to_owned()),
        (
            "both",
            git("charts/app", json!({"reconcileStrategy": "Revision", "valuesFile": "env.yaml"})),
            format!("1.0.0+{}.1", &commit[..12]),
        ),
        ("umbrella", git("charts/umbrella", json!({})), "0.1.0".to_owned()),
    ];
    for (name, spec, _) in &table {
        world.apply(CHART, name, spec.clone()).await;
    }
    for (name, _, version) in &table {
        assert_eq!(world.ready(CHART, name).await["artifact"]["revision"], *version, "{name}");
    }
    let content = files(&world.ready(CHART, "dir").await).await;
    let names: Vec<&str> = content.keys().map(weir_artifact::RelPath::as_str).collect();
    assert_eq!(names, ["app/.helmignore", "app/Chart.yaml", "app/values.yaml"]);
    assert_eq!(text(&files(&world.ready(CHART, "values").await).await, "app/values.yaml"), "replicas: 9\n");
    let content = files(&world.ready(CHART, "umbrella").await).await;
    // A chart with an alias lies under it, others under their own names, as Flux packages them.
    let places = [("app", "1.4.0"), ("tools", "0.9.0"), ("other", "0.2.0"), ("cache", "3.0.0")];
    for (name, version) in places {
        let description = text(&content, &format!("umbrella/charts/{name}/Chart.yaml"));
        assert!(description.contains(&format!("version: \"{version}\"")), "{description}");
    }
    let failures = [
        (
            "nopath",
            git("", json!({})),
            "InvalidChartReference",
            "invalid chart reference: no path set for local chart reference",
        ),
        (
            "abs",
            git("/charts/app", json!({})),
            "InvalidChartReference",
            "invalid chart reference: local chart reference path is expected to be relative",
        ),
        (
            "up",
            git("../../etc", json!({})),
            "InvalidChartReference",
            "invalid chart reference: stat etc: no such file or directory",
        ),
        (
            "nochart",
            git("charts", json!({})),
            "InvalidChartReference",
            "invalid chart reference: open charts/Chart.yaml: no such file or directory",
        ),
        (
            "novalues",
            git("charts/app", json!({"valuesFiles": ["prod.yaml"]})),
            "ValuesFilesError",
            "values files merge error: no values file found at path '/prod.yaml' (reference 'prod.yaml')",
        ),
        (
            "encoded",
            git("charts/%2e%2e/app", json!({})),
            "InvalidChartReference",
            "invalid chart reference: stat charts/%2e%2e/app: no such file or directory",
        ),
        (
            "upvalues",
            git("charts/app", json!({"valuesFiles": ["../../etc/passwd"]})),
            "ValuesFilesError",
            "values files merge error: no values file found at path '/etc/passwd' (reference '../../etc/passwd')",
        ),
        (
            "broken",
            git("charts/broken", json!({})),
            "DependencyBuildError",
            "dependency build error: failed to add local dependency 'x': no chart found at '/etc' (reference 'file://../../../../etc')",
        ),
        (
            "alias",
            git("charts/alias", json!({})),
            "DependencyBuildError",
            "dependency build error: failed to add remote dependency 'x': aliased repository dependency is not supported: @team/",
        ),
    ];
    for (name, spec, reason, expected) in &failures {
        world.apply(CHART, name, spec.clone()).await;
        let (found, said) = world.failure(CHART, name).await;
        assert_eq!((found.as_str(), said.as_str()), (*reason, *expected), "{name}");
    }
    let second = repo.commit("main", "other", &[("charts/app/templates/new.yaml", "kind: X\n")]).unwrap();
    touch_requested_at(&world.api("GitRepository").await, "src").await.unwrap();
    world.at(CHART, "rev", &second[..12]).await;
    let seen = |object: &kube::core::DynamicObject| {
        object.data["status"]["observedSourceArtifactRevision"]
            .as_str()
            .is_some_and(|seen| seen.ends_with(&second))
    };
    let status = world.until(CHART, "dir", "the new commit is seen", seen).await;
    assert!(
        !files(&status).await.keys().any(|path| path.as_str().ends_with("new.yaml")),
        "same version, same chart"
    );
}

/// B5 for buckets: dependencies of one repository cost one look at its index, and the strategy `Revision` follows the
/// bucket.
#[tokio::test]
async fn charts_of_a_bucket() {
    let (world, bucket, server) =
        (World::start().await, StandIn::start(None).await, ChartServer::start().await);
    server.publish("/deps", &["1.0.0", "1.4.0"]);
    let needed = format!(
        "- {{name: app, version: 1.x, repository: '{url}'}}\n- {{name: app, alias: old, version: 1.0.0, repository: '{url}'}}\n\
         - {{name: lib, version: 0.x, repository: 'file://../lib'}}\n",
        url = server.url("/deps")
    );
    bucket.put(
        "charts/web/Chart.yaml",
        &format!("apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies:\n{needed}"),
    );
    bucket.put("charts/web/values.yaml", "replicas: 1\n");
    bucket.put("charts/lib/Chart.yaml", "apiVersion: v2\nname: lib\nversion: 0.9.0\n");
    bucket.put("env.yaml", "replicas: 9\n");
    world.bucket("src", &bucket.endpoint(), "apps", json!({})).await;
    world.apply(CHART, "web", of("Bucket", "src", "charts/web", json!({}))).await;
    let status = world.ready(CHART, "web").await;
    assert_eq!(status["artifact"]["revision"], "0.1.0");
    let content = files(&status).await;
    for (place, version) in [("app", "1.4.0"), ("old", "1.0.0"), ("lib", "0.9.0")] {
        let description = text(&content, &format!("web/charts/{place}/Chart.yaml"));
        assert!(description.contains(version), "{place}: {description}");
    }
    assert_eq!(server.count("/deps/index.yaml"), 1);

    let by_revision = json!({"reconcileStrategy": "Revision", "valuesFiles": ["env.yaml"]});
    world.apply(CHART, "rev", of("Bucket", "src", "charts/web", by_revision)).await;
    let short = |status: &Value| {
        let revision = status["artifact"]["revision"].as_str().unwrap();
        revision["sha256:".len()..][..12].to_owned()
    };
    let first = format!("0.1.0+{}.1", short(&world.ready("Bucket", "src").await));
    let status = world.ready(CHART, "rev").await;
    assert_eq!(status["artifact"]["revision"], first.as_str());
    assert_eq!(text(&files(&status).await, "web/values.yaml"), "replicas: 9\n");
    bucket.put("env.yaml", "replicas: 10\n");
    let second = format!("0.1.0+{}.1", short(&world.reconciled("Bucket", "src").await));
    assert_ne!(second, first);
    let status = world.at(CHART, "rev", &second).await;
    assert_eq!(text(&files(&status).await, "web/values.yaml"), "replicas: 10\n");
}

/// SRC-CHT-13: what a `HelmRepository` of the namespace has stored is not downloaded again for a dependency.
#[tokio::test]
async fn a_described_repository_is_asked_for_the_package_only() {
    let (world, bucket, server) =
        (World::start().await, StandIn::start(None).await, ChartServer::start().await);
    server.publish("/private/deps", &["1.0.0"]);
    world.secret("login", "Opaque", json!({"username": "user", "password": "pass"})).await;
    let url = server.url("/private/deps");
    world.apply(HELM, "deps", json!({"url": url, "interval": "1h", "secretRef": {"name": "login"}})).await;
    world.ready(HELM, "deps").await;
    bucket.put(
        "web/Chart.yaml",
        &format!("name: web\nversion: 0.1.0\napiVersion: v2\ndependencies: [{{name: app, version: 1.x, repository: '{url}/'}}]\n"),
    );
    world.bucket("src", &bucket.endpoint(), "apps", json!({})).await;
    world.apply(CHART, "web", of("Bucket", "src", "web", json!({}))).await;
    world.ready(CHART, "web").await;
    assert_eq!(
        (server.count("/private/deps/index.yaml"), server.count("/private/deps/app-1.0.0.tgz")),
        (1, 1)
    );
}

/// B5, SRC-CHT-11, SRC-CHT-13: packages among the files, and the versions in a lock file.
#[tokio::test]
async fn packages_and_locks_of_git_and_buckets() {
    let (world, bucket, charts) =
        (World::start().await, StandIn::start(None).await, ChartServer::start().await);
    let server = GitServer::start().await.unwrap();
    charts.publish("/deps", &["1.0.0", "1.4.0"]);
    let url = charts.url("/deps");
    let description = format!(
        "apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies: [{{name: app, version: 1.x, repository: '{url}'}}]\n"
    );
    let lock = format!(
        "dependencies:\n- name: app\n  repository: {url}\n  version: 1.0.0\ndigest: sha256:{}\n\
         generated: \"2026-01-01T00:00:00Z\"\n",
        "0".repeat(64)
    );
    let package = chart("packed", "2.0.0", &[]);
    let repo = server.repo("src").unwrap();
    let change = repo.change("main").file("packed-2.0.0.tgz", &package).file("junk.tgz", "junk");
    change.file("web/Chart.yaml", &description).file("web/Chart.lock", &lock).commit().unwrap();
    bucket.put_bytes("packed-2.0.0.tgz", &package);
    bucket.put("junk.tgz", "junk");
    bucket.put("web/Chart.yaml", &description);
    bucket.put("web/Chart.lock", &lock);
    // Without a rule of its own, archives stay out of what Git gives.
    world.git("src", &server.url("src"), json!({"ignore": "nothing"})).await;
    world.bucket("src", &bucket.endpoint(), "apps", json!({})).await;
    for kind in ["GitRepository", "Bucket"] {
        world.ready(kind, "src").await;
        let name = |what: &str| format!("{what}-{}", kind.to_lowercase());
        for (what, path) in [("packed", "packed-2.0.0.tgz"), ("web", "web"), ("junk", "junk.tgz")] {
            world.apply(CHART, &name(what), of(kind, "src", path, json!({}))).await;
        }
        let status = world.ready(CHART, &name("packed")).await;
        assert_eq!(status["artifact"]["revision"], "2.0.0", "{kind}");
        assert!(text(&files(&status).await, "packed/Chart.yaml").contains("name: packed"));
        let content = files(&world.ready(CHART, &name("web")).await).await;
        let needed = text(&content, "web/charts/app/Chart.yaml");
        assert!(needed.contains("1.0.0"), "{kind}: the lock's version, not {needed}");
        let (reason, message) = world.failure(CHART, &name("junk")).await;
        assert_ne!(reason, "NoSourceArtifact", "{kind}: {message}");
    }
}
