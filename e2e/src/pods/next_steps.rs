//! C9: what the article of scenario C names as its next steps, with Pods: an encrypted Secret, and a kind whose readiness its own
//! controller tells. Messages to Slack are in the main loop.

use anyhow::{Result, ensure};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use weir_testkit::{condition, repo_path, wait_for, wait_gone, wait_ready};

use super::fleet::Fleet;
use super::{DEADLINE, text};
use crate::NAMESPACE;

/// A CRD as that of Sealed Secrets, an object of it, and the Kustomization that waits for it.
const SEALED_SECRETS: &str = include_str!("manifests/sealed-secrets.yaml");
const SEALED_SECRET: &str = include_str!("manifests/sealed-secret.yaml");
const SEALED: &str = include_str!("manifests/sealed-kustomization.yaml");

const ENCRYPTED: &str = "create kustomization encrypted --target-namespace=prod --source=flux-system \
                         --path=./encrypted --prune=true --interval=5m --decryption-provider=sops \
                         --decryption-secret=sops-age --export";

/// The password of the encrypted Secret, `correct horse`, as Secrets have it.
const CORRECT_HORSE: &str = "Y29ycmVjdCBob3JzZQ==";

/// A Secret that `sops` has encrypted is in the cluster in the clear, and goes when it leaves the repository.
pub(super) async fn secrets_are_decrypted(fleet: &Fleet<'_>) -> Result<()> {
    let data = |name: &str| std::fs::read_to_string(repo_path(&format!("crates/sops/tests/data/{name}")));
    let key = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sops-age"},
        "stringData": {"age.agekey": data("keys/age.agekey")?}});
    fleet.world.plane().apply(NAMESPACE, key).await?;
    let (secret, kustomization) = (data("cases/secret.yaml")?, fleet.weir(ENCRYPTED).await?);
    let files = [("encrypted/secret.yaml", &*secret), ("clusters/prod/encrypted.yaml", &*kustomization)];
    fleet.push("Add an encrypted Secret", &files).await?;
    let secrets = fleet.world.api("Secret", "prod").await?;
    let is_clear = |object: Option<&DynamicObject>| {
        let password = object.and_then(|object| text(&object.data, "/data/password").ok());
        password == Some(CORRECT_HORSE)
    };
    wait_for(&secrets, "db", "its password in the clear", DEADLINE, is_clear).await?;
    fleet.remove("Remove a next step", &["encrypted/secret.yaml", "clusters/prod/encrypted.yaml"]).await?;
    wait_gone(&secrets, "db", DEADLINE).await?;
    Ok(())
}

/// A SealedSecret comes with its CRD, and its Kustomization is ready only when its controller, here the test, has unsealed it.
pub(super) async fn sealed_secrets_are_waited_for(fleet: &Fleet<'_>) -> Result<()> {
    let files = [
        ("sealed/crd.yaml", SEALED_SECRETS),
        ("sealed/secret.yaml", SEALED_SECRET),
        ("clusters/prod/sealed.yaml", SEALED),
    ];
    fleet.push("Add a SealedSecret", &files).await?;
    let world = fleet.world;
    let kustomizations = world.api("Kustomization", NAMESPACE).await?;
    let waits = |object: Option<&DynamicObject>| {
        let healthy = object.and_then(|object| condition(object, "Healthy"));
        healthy.is_some_and(|healthy| healthy.status == "Unknown")
    };
    wait_for(&kustomizations, "sealed", "its health check to run", DEADLINE, waits).await?;
    let sealed = world.api("SealedSecret", "prod").await?;
    let status = json!({"status": {"conditions": [{"type": "Synced", "status": "True"}]}});
    sealed.patch_status("tls", &PatchParams::default(), &Patch::Merge(status)).await?;
    let ready = wait_ready(&kustomizations, "sealed", DEADLINE).await?;
    let inventory = ready.data.pointer("/status/inventory/entries").and_then(serde_json::Value::as_array);
    ensure!(inventory.is_some_and(|entries| entries.len() == 2), "the inventory has {inventory:?}");
    fleet
        .remove("Remove a next step", &["sealed/crd.yaml", "sealed/secret.yaml", "clusters/prod/sealed.yaml"])
        .await?;
    wait_gone(&kustomizations, "sealed", DEADLINE).await?;
    Ok(())
}
