//! `OCIRepository` from object to artifact, and what stops it (A12; its pull Secrets and charts are in `oci_history`).

use serde_json::{Value, json};
use weir_testkit::{Artifact, Registry, touch_requested_at};

use crate::world::{World, files, paths};

const OCI: &str = "OCIRepository";

#[tokio::test]
async fn a_tag_becomes_an_artifact_and_follows_when_it_moves() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let first = registry.push_artifact("app", "latest", &[("a.yaml", "a: 1\n")]).await.unwrap();
    world.oci("app", &registry.url("app"), json!({})).await;
    let status = world.ready(OCI, "app").await;
    assert_eq!(status["artifact"]["revision"], format!("latest@{first}"));
    assert!(status["artifact"]["metadata"]["org.opencontainers.image.revision"].is_string());
    assert!(status["url"].as_str().unwrap().ends_with("/app/latest.tar.gz"));
    assert_eq!(paths(&status).await, ["a.yaml"]);
    let second = registry.push_artifact("app", "latest", &[("b.yaml", "b: 1\n")]).await.unwrap();
    touch_requested_at(&world.api(OCI).await, "app").await.unwrap();
    let status = world.at(OCI, "app", &second).await;
    assert_eq!(paths(&status).await, ["b.yaml"]);
}

#[tokio::test]
async fn ranges_digests_and_copied_layers() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let old = registry.push_artifact("app", "1.0.0", &[("a.yaml", "old")]).await.unwrap();
    let new = registry.push_artifact("app", "1.10.0", &[("a.yaml", "new")]).await.unwrap();
    let url = registry.url("app");
    world.oci("range", &url, json!({"ref": {"semver": "1.x"}})).await;
    world.oci("digest", &url, json!({"ref": {"digest": old}})).await;
    world.oci("copy", &url, json!({"ref": {"tag": "1.0.0"}, "layerSelector": {"operation": "copy"}})).await;
    assert_eq!(world.ready(OCI, "range").await["artifact"]["revision"], format!("1.10.0@{new}"));
    assert_eq!(world.ready(OCI, "digest").await["artifact"]["revision"], old);
    let copied = world.ready(OCI, "copy").await;
    assert_eq!(files(&copied).await.values().next().unwrap().bytes, "old");
}

#[tokio::test]
async fn credentials_of_pull_secrets() {
    let (world, registry) = (World::start().await, Registry::start_with_basic_auth().await.unwrap());
    registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
    let config = json!({".dockerconfigjson": registry.docker_config()});
    world.secret("pull", "kubernetes.io/dockerconfigjson", config).await;
    let url = registry.url("app");
    world.oci("right", &url, json!({"secretRef": {"name": "pull"}})).await;
    world.oci("none", &url, json!({})).await;
    world.ready(OCI, "right").await;
    let (reason, message) = world.failure(OCI, "none").await;
    assert_eq!(reason, "OCIArtifactPullFailed");
    assert!(message.contains("UNAUTHORIZED: authentication required"), "{message}");
}

#[tokio::test]
async fn what_cannot_be_fetched_says_why() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    registry.push_artifact("app", "latest", &[("a.yaml", "a")]).await.unwrap();
    world.oci("norepo", &registry.url("nothing"), json!({})).await;
    world.oci("tag", &registry.url("app"), json!({"ref": {"tag": "v9"}})).await;
    world.oci("url", &format!("{}:v1", registry.url("app")), json!({})).await;
    let no_secret = json!({"secretRef": {"name": "missing"}});
    world.oci("secret", &format!("{}:v1", registry.url("app")), no_secret).await;
    let missing = json!({"name": "missing"});
    let way = json!({"certSecretRef": missing, "proxySecretRef": missing});
    world.oci("way", &format!("{}:v1", registry.url("app")), way).await;
    for (name, reason, part) in [
        ("norepo", "OCIArtifactPullFailed", "failed to determine artifact digest: GET "),
        ("tag", "OCIArtifactPullFailed", "MANIFEST_UNKNOWN"),
        ("url", "URLInvalid", "repository can only contain the characters"),
        ("secret", "AuthenticationFailed", "failed to get credential: "),
        ("way", "AuthenticationFailed", "failed to get proxy address: "),
    ] {
        let (found, message) = world.failure(OCI, name).await;
        assert_eq!(found, reason, "{name}: {message}");
        assert!(message.contains(part), "{name}: {message}");
    }
}

/// SRC-REC-7: the old artifact stays, and the status shows that there is something newer.
#[tokio::test]
async fn something_new_that_cannot_be_had_makes_the_artifact_outdated() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let first = registry.push_artifact("app", "latest", &[("a.yaml", "a: 1\n")]).await.unwrap();
    world.oci("app", &registry.url("app"), json!({})).await;
    world.ready(OCI, "app").await;
    let broken = Artifact::of_layer(b"no archive".to_vec());
    let second = registry.push_artifact_with("app", "latest", broken).await.unwrap();
    let condition = |status: &Value, type_: &str| {
        let conditions = status["conditions"].as_array().unwrap();
        conditions.iter().find(|condition| condition["type"] == type_).cloned().unwrap_or_default()
    };
    let status = world.reconciled(OCI, "app").await;
    let outdated = condition(&status, "ArtifactOutdated");
    let reference = registry.url("app").replace("oci://", "");
    let message = format!("new revision 'latest@{second}' for '{reference}:latest'");
    assert_eq!(
        (outdated["reason"].as_str(), outdated["message"].as_str()),
        (Some("NewRevision"), Some(&*message))
    );
    assert_eq!(condition(&status, "Ready")["reason"], "OCIArtifactLayerOperationFailed");
    assert_eq!(status["artifact"]["revision"], format!("latest@{first}"));
    let third = registry.push_artifact("app", "latest", &[("a.yaml", "a: 3\n")]).await.unwrap();
    touch_requested_at(&world.api(OCI).await, "app").await.unwrap();
    let status = world.at(OCI, "app", &third).await;
    assert_eq!(condition(&status, "ArtifactOutdated"), Value::Null);
}

/// SRC-OCI-9, A12: of several platforms that of Flux is taken, and of one the one that there is.
#[tokio::test]
async fn indexes_of_platforms() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    let push = async |platform| registry.push_artifact("app", platform, &[(platform, "x")]).await.unwrap();
    let (arm, amd, s390x) = (push("arm64").await, push("amd64").await, push("s390x").await);
    let (arm, amd, s390x) = (arm.as_str(), amd.as_str(), s390x.as_str());
    let both = registry.push_index("app", "both", &[("arm64", arm), ("amd64", amd)]).await.unwrap();
    let one = registry.push_index("app", "one", &[("arm64", arm)]).await.unwrap();
    registry.push_index("app", "neither", &[("arm64", arm), ("s390x", s390x)]).await.unwrap();
    for name in ["both", "one", "neither"] {
        world.oci(name, &registry.url("app"), json!({"ref": {"tag": name}})).await;
    }
    world.oci("digest", &registry.url("app"), json!({"ref": {"digest": both}})).await;
    for (name, revision, platform) in [
        ("both", format!("both@{both}"), "amd64"),
        ("one", format!("one@{one}"), "arm64"),
        ("digest", both.clone(), "amd64"),
    ] {
        let status = world.ready(OCI, name).await;
        assert_eq!(status["artifact"]["revision"], revision, "{name}");
        assert_eq!(paths(&status).await, [platform], "{name}");
    }
    let (reason, message) = world.failure(OCI, "neither").await;
    assert_eq!(reason, "OCIArtifactPullFailed", "{message}");
}

/// SRC-OCI-3: the filter comes before the range.
#[tokio::test]
async fn tags_are_filtered_before_they_are_compared() {
    let (world, registry) = (World::start().await, Registry::start().await.unwrap());
    for tag in ["1.0.0-staging", "1.1.0-staging", "1.2.0-prod", "2.0.0", "latest"] {
        registry.push_artifact("app", tag, &[("a.yaml", tag)]).await.unwrap();
    }
    for (name, range, filter) in [
        ("staging", ">=1.0.0-0", "-staging$"),
        ("plain", "*", r"^\d+\.\d+\.\d+$"),
        ("nothing", ">=1.0.0-0", "-qa$"),
        ("junk", "*", "("),
    ] {
        let reference = json!({"ref": {"semver": range, "semverFilter": filter}});
        world.oci(name, &registry.url("app"), reference).await;
    }
    for (name, expected) in [("staging", "1.1.0-staging"), ("plain", "2.0.0")] {
        let status = world.ready(OCI, name).await;
        assert_eq!(files(&status).await.values().next().unwrap().bytes, expected, "{name}");
    }
    for (name, part) in [("nothing", "no match found for semver: >=1.0.0-0"), ("junk", "(")] {
        let (reason, message) = world.failure(OCI, name).await;
        assert_eq!(reason, "ReadOperationFailed", "{name}: {message}");
        assert!(message.contains(part), "{name}: {message}");
    }
}
