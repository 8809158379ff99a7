//! Signed commits (IU-21 to IU-23), checked by `git` with `gpg` and `ssh-keygen`.

use rstest::rstest;
use serde_json::json;
use weir_testkit::{GpgHome, SshKey};

use crate::world::World;

const BOT: &str = "bot@example.com";
const PASSPHRASE: &str = "correct horse";

/// An automation that signs with the Secret.
async fn automation(world: &World, kind: Option<&str>) {
    let key = json!({"secretRef": {"name": "key"}, "type": kind});
    world.automation("app", json!({"commit": {"signingKey": key}})).await;
}

#[tokio::test]
async fn gpg_signs_with_a_locked_subkey() {
    let (world, home) = (World::start().await, GpgHome::create().unwrap());
    let with = ["--passphrase", PASSPHRASE];
    home.gpg(&[&with[..], &["--quick-gen-key", BOT, "ed25519", "cert", "0"]].concat(), b"").unwrap();
    let listing = home.gpg(&["--list-keys", "--with-colons", BOT], b"").unwrap();
    let primary = listing.lines().find(|line| line.starts_with("fpr:")).unwrap().split(':').nth(9).unwrap();
    home.gpg(&[&with[..], &["--quick-add-key", primary, "ed25519", "sign", "0"]].concat(), b"").unwrap();
    let ring = home.gpg(&[&with[..], &["--armor", "--export-secret-keys", BOT]].concat(), b"").unwrap();
    let repo = world.app().await;
    world.secret("key", json!({"git.asc": ring, "passphrase": PASSPHRASE})).await;
    automation(&world, None).await;
    world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(repo.read("main", "web.yaml").unwrap(), world.manifest("r/web:1.0.0", "web"));
    repo.verify_commit("main", &home.signer(BOT)).unwrap();
    repo.git(&["fsck", "--strict", "--no-dangling"]).unwrap();
    let unsigned = repo.verify_commit("main^", &home.signer(BOT));
    assert!(unsigned.is_err(), "the first commit is of nobody");
}

#[rstest]
#[case("ed25519", "")]
#[case("ecdsa", PASSPHRASE)]
#[case("rsa", "")]
#[tokio::test]
async fn ssh_signs(#[case] kind: &str, #[case] passphrase: &str) {
    let world = World::start().await;
    let key = SshKey::generate_with(&["-t", kind, "-N", passphrase]).unwrap();
    let repo = world.app().await;
    let mut data = json!({"identity": key.private().unwrap(), "git.asc": "of no account"});
    if !passphrase.is_empty() {
        data["password"] = passphrase.into();
    }
    world.secret("key", data).await;
    automation(&world, Some("ssh")).await;
    world.until_seen("app", "web", "1.0.0").await;
    repo.verify_commit("main", &key.signer()).unwrap();
    let stranger = SshKey::generate("ed25519").unwrap();
    assert!(repo.verify_commit("main", &stranger.signer()).is_err());
}

#[tokio::test]
async fn no_commit_is_made_without_the_key_and_the_next_run_has_it() {
    let (world, home) = (World::start().await, GpgHome::create().unwrap());
    let repo = world.app().await;
    automation(&world, None).await;
    world.until_failed("app", "could not find signing key secret 'key': secrets \"key\" not found").await;
    let key = SshKey::generate("ed25519").unwrap();
    world.secret("key", json!({"identity": key.private().unwrap()})).await;
    world.touch("app").await;
    world.until_failed("app", "signing key secret 'key' does not contain a 'git.asc' key").await;
    assert_eq!(repo.log("main").unwrap().len(), 1);
    home.generate(BOT, "ed25519", "0").unwrap();
    let ring = home.gpg(&["--armor", "--export-secret-keys", BOT], b"").unwrap();
    world.secret("key", json!({"git.asc": ring})).await;
    world.touch("app").await;
    world.until_seen("app", "web", "1.0.0").await;
    repo.verify_commit("main", &home.signer(BOT)).unwrap();
}
