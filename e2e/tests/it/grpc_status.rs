//! Status over gRPC, with the caller's Kubernetes rights.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;
use weir_e2e::{StatusClient, World};
use weir_proto::status::v1::ChangeType;
use weir_testkit::object::git_repository;
use weir_testkit::{repo_path, wait_ready};

const DEADLINE: Duration = Duration::from_secs(60);

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n";

/// A world with one source that is ready, a token that may read sources, and one that may not.
struct Served {
    world: World,
    reader: String,
    stranger: String,
}

impl Served {
    async fn start() -> Result<Self> {
        let world = World::start().await?;
        world.git.repo("app")?.commit("main", "first", &[("a.yaml", CONFIG_MAP)])?;
        world.plane.apply("flux-system", git_repository("app", &world.git.url("app"))).await?;
        wait_ready(&world.api("GitRepository", "flux-system").await?, "app", DEADLINE).await?;
        let rule = PolicyRule {
            api_groups: Some(vec!["source.toolkit.fluxcd.io".into()]),
            resources: Some(vec!["gitrepositories".into()]),
            verbs: ["get", "list", "watch"].map(str::to_owned).into(),
            ..Default::default()
        };
        world.plane.service_account("flux-system", "reader", &[rule]).await?;
        world.plane.service_account("flux-system", "stranger", &[]).await?;
        let reader = world.plane.service_account_token("flux-system", "reader").await?;
        let stranger = world.plane.service_account_token("flux-system", "stranger").await?;
        Ok(Self { world, reader, stranger })
    }
}

#[tokio::test]
async fn a_reader_lists_and_watches_changes_as_they_happen() -> Result<()> {
    let served = Served::start().await?;
    let client = StatusClient::connect(&served.world.weir.grpc_address(), &served.reader).await?;
    let listed = client.list("GitRepository", "flux-system").await?.objects;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].name, "app");
    assert!(listed[0].revision.starts_with("main@sha1:"), "{listed:?}");
    let ready =
        listed[0].conditions.iter().find(|condition| condition.r#type == "Ready").context("no Ready")?;
    assert_eq!(ready.status, "True");

    let mut watch = client.watch("GitRepository", "flux-system").await?;
    let repo = served.world.git.repo("app")?;
    let head = repo.commit("main", "second", &[("b.yaml", CONFIG_MAP)])?;
    let sources = served.world.api("GitRepository", "flux-system").await?;
    weir_testkit::touch_requested_at(&sources, "app").await?;
    let revision = format!("main@sha1:{head}");
    let seen = tokio::time::timeout(DEADLINE, async {
        while let Some(change) = watch.next().await {
            let change = change?;
            let applied = change.r#type() == ChangeType::Applied;
            if applied && change.object.is_some_and(|object| object.revision == revision) {
                return Ok(());
            }
        }
        anyhow::bail!("the watch ended")
    });
    seen.await?
}

#[tokio::test]
async fn a_token_without_rights_or_no_token_is_refused() -> Result<()> {
    let served = Served::start().await?;
    let address = served.world.weir.grpc_address();
    let code = async |token: &str| {
        let client = StatusClient::connect(&address, token).await.unwrap();
        let listed = client.list("GitRepository", "flux-system").await.map(drop).unwrap_err().code();
        let watched = client.watch("GitRepository", "flux-system").await.map(drop).unwrap_err().code();
        (listed, watched)
    };
    use tonic::Code::{PermissionDenied, Unauthenticated};
    assert_eq!(code(&served.stranger).await, (PermissionDenied, PermissionDenied));
    assert_eq!(code("made-up").await, (Unauthenticated, Unauthenticated));

    // The reader's rights end at the namespace.
    let client = StatusClient::connect(&address, &served.reader).await?;
    let refused = client.list("GitRepository", "kube-system").await.unwrap_err();
    assert_eq!(refused.code(), PermissionDenied);
    Ok(())
}

#[tokio::test]
async fn grpcurl_lists_and_watches_by_reflection() -> Result<()> {
    let served = Served::start().await?;
    let address = served.world.weir.grpc_address();
    let request = r#"{"kind": "GitRepository", "namespace": "flux-system"}"#;

    let authorization = format!("authorization: Bearer {}", served.reader);
    let listed = grpcurl(&["-H", &authorization, &address, "list"]).await?;
    assert!(listed.stdout.contains("weir.status.v1.Status"), "{}{}", listed.stdout, listed.stderr);

    let call = |token: String, method: &'static str| {
        let address = address.clone();
        async move {
            let arguments = ["-H", &token, "-d", request, "-max-time", "5", &address, method];
            grpcurl(&arguments).await
        }
    };
    let answer = call(authorization.clone(), "weir.status.v1.Status/List").await?;
    let answer: Value = serde_json::from_str(&answer.stdout).context(answer.stderr)?;
    assert_eq!(answer["objects"][0]["name"], "app");
    // The watch goes on until the time is up; what it has seen by then is printed.
    let watched = call(authorization, "weir.status.v1.Status/Watch").await?;
    assert!(watched.stdout.contains(r#""name": "app""#), "{}{}", watched.stdout, watched.stderr);

    let refused =
        call(format!("authorization: Bearer {}", served.stranger), "weir.status.v1.Status/List").await?;
    assert!(refused.stderr.contains("PermissionDenied"), "{}", refused.stderr);
    Ok(())
}

struct Printed {
    stdout: String,
    stderr: String,
}

/// Runs the pinned grpcurl of `e2e/grpcurl` over plain text.
async fn grpcurl(arguments: &[&str]) -> Result<Printed> {
    let module = repo_path("e2e/grpcurl");
    let output = tokio::process::Command::new("go")
        .args(["tool", "grpcurl", "-plaintext"])
        .args(arguments)
        .current_dir(Path::new(&module))
        .output()
        .await
        .context("a Go toolchain is needed for grpcurl")?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Printed { stdout: text(output.stdout), stderr: text(output.stderr) })
}
