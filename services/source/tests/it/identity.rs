//! The identity of objects at the login to a cloud: a ServiceAccount of their own namespace, for every kind
//! (SRC-CLD-2, SRC-CLD-3, SRC-SCK-14, DEV 9, C1). The account without annotations is refused by name before any cloud
//! is asked.

use rstest::rstest;
use serde_json::{Value, json};
use weir_testkit::condition;

use crate::world::{Setup, World};

const ECR: &str = "oci://123456789012.dkr.ecr.eu-west-1.amazonaws.com";

/// A controller with the gate open.
async fn gate_open(default_account: &str) -> World {
    let arguments = vec![
        "--feature-gates=ObjectLevelWorkloadIdentity=true".to_owned(),
        format!("--default-service-account={default_account}"),
    ];
    with_accounts(World::start_as(Setup { arguments, ..Setup::default() }).await).await
}

/// Two accounts that are nobody in any cloud.
async fn with_accounts(world: World) -> World {
    for name in ["tenant", "locked"] {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        world.plane.apply(&world.namespace, account).await.unwrap();
    }
    world
}

/// Objects of every kind that log in to AWS, as `account` where their kind can say so.
async fn objects(world: &World, account: Option<&str>) {
    let with = |mut spec: Value| {
        spec["provider"] = json!("aws");
        if let Some(account) = account {
            spec["serviceAccountName"] = json!(account);
        }
        spec
    };
    let git = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/app";
    world.git("app", git, with(json!({}))).await;
    world.oci("app", &format!("{ECR}/app"), with(json!({"insecure": false}))).await;
    let bucket = json!({"insecure": false, "region": "eu-west-1"});
    world.bucket("app", "s3.eu-west-1.amazonaws.com", "apps", with(bucket)).await;
    world.apply("HelmRepository", "repo", json!({"url": ECR, "type": "oci", "provider": "aws"})).await;
    let source = json!({"kind": "HelmRepository", "name": "repo"});
    let chart = json!({"interval": "1h", "chart": "app", "version": "1.0.0", "sourceRef": source});
    world.apply("HelmChart", "app", chart).await;
}

/// Flux's source-controller logs in to a registry only with its first question.
fn reason_of(kind: &str) -> &'static str {
    if kind == "OCIRepository" { "OCIArtifactPullFailed" } else { "AuthenticationFailed" }
}

#[rstest]
#[case::named(Some("tenant"), "", "tenant")]
#[case::named_under_a_lockdown(Some("tenant"), "locked", "tenant")]
#[case::locked_down(None, "locked", "locked")]
#[tokio::test]
async fn every_kind_is_the_account_of_its_namespace(
    #[case] account: Option<&str>,
    #[case] default_account: &str,
    #[case] expected: &str,
) {
    let world = gate_open(default_account).await;
    objects(&world, account).await;
    let place = format!("'{}/{expected}'", world.namespace);
    for kind in ["GitRepository", "OCIRepository", "Bucket"] {
        let (reason, message) = world.failure(kind, "app").await;
        assert_eq!(reason, reason_of(kind), "{kind}: {message}");
        assert!(
            message.contains(&place) && message.contains("invalid eks.amazonaws.com/role-arn annotation: "),
            "{kind}: {message}"
        );
    }
    let (_, message) = world.failure("OCIRepository", "app").await;
    let expected = "failed to determine artifact digest: failed to get access token for artifact registry: ";
    assert!(message.starts_with(expected), "{message}");
    if default_account.is_empty() {
        return;
    }
    // A HelmRepository names no account: under a lockdown the default one is used, whatever else it names (DEV 9).
    let (reason, message) = world.failure("HelmChart", "app").await;
    assert_eq!(reason, "AuthenticationFailed", "{message}");
    assert!(message.contains(&format!("'{}/locked'", world.namespace)), "{message}");
}

#[tokio::test]
async fn a_lockdown_is_not_bypassed_by_an_account_that_is_not_there() {
    let world = gate_open("absent").await;
    objects(&world, None).await;
    for kind in ["GitRepository", "OCIRepository", "Bucket", "HelmChart"] {
        let (reason, message) = world.failure(kind, "app").await;
        assert_eq!(reason, reason_of(kind), "{kind}: {message}");
        let expected = "the specified default service account does not exist in the object namespace";
        assert!(message.contains(expected), "{kind}: {message}");
    }
}

#[tokio::test]
async fn accounts_need_the_gate() {
    let world = with_accounts(World::start().await).await;
    objects(&world, Some("tenant")).await;
    for kind in ["GitRepository", "OCIRepository", "Bucket"] {
        let (reason, message) = world.failure(kind, "app").await;
        assert_eq!(reason, "FeatureGateDisabled", "{kind}: {message}");
    }
    // As with Flux, which fetches nothing of this kind then.
    let object = world.api("OCIRepository").await.get("app").await.unwrap();
    assert!(condition(&object, "FetchFailed").is_none());
}
