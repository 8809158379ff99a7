//! Signatures of commits and tags, made by `git` with `gpg` and `ssh-keygen` (SRC-GIT-22…26, SRC-SCK-4).

use kube::core::DynamicObject;
use serde_json::{Value, json};
use weir_git::{Author, CommitRequest, Git, GitConfig, Lease, PushRequest, Remote};
use weir_testkit::{GitRepo, GitServer, GpgHome, SshKey, condition, touch_requested_at};
use weir_verify::git::{Choice, SigningKey};

use crate::world::World;

const GIT: &str = "GitRepository";
const DEV: &str = "dev@example.com";

async fn keys(world: &World, name: &str, data: Value) {
    world.secret(name, "Opaque", data).await;
}

async fn verified(world: &World, name: &str, url: &str, secret: &str, mode: &str, reference: Value) {
    let verify = json!({"mode": mode, "secretRef": {"name": secret}});
    world.git(name, url, json!({"ref": reference, "verify": verify})).await;
}

/// Status, reason and message of SourceVerified.
async fn source_verified(world: &World, name: &str) -> Option<(String, String, String)> {
    let object = world.api(GIT).await.get(name).await.unwrap();
    condition(&object, "SourceVerified").map(|found| (found.status, found.reason, found.message))
}

fn signed_by(key: &SshKey, repository: &GitRepo, files: &[(&str, &str)]) -> String {
    repository.commit("main", "change", files).unwrap();
    repository.sign_commit("main", &key.signer()).unwrap()
}

#[tokio::test]
async fn signed_commits_pass_and_an_unsigned_one_is_kept_out() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (repository, key) = (server.repo("app").unwrap(), SshKey::generate("ed25519").unwrap());
    let commit = signed_by(&key, &repository, &[("a.yaml", "a: 1\n")]);
    keys(&world, "a", json!({"a.sshpub": key.public().unwrap()})).await;
    verified(&world, "app", &server.url("app"), "a", "head", json!({"branch": "main"})).await;
    let before = world.ready(GIT, "app").await;
    assert_eq!(before["sourceVerificationMode"], "HEAD");
    let good =
        format!("verified signature of\n\t- commit '{commit}' with key '{}'", key.fingerprint().unwrap());
    assert_eq!(source_verified(&world, "app").await, Some(("True".into(), "Succeeded".into(), good)));

    let unsigned = repository.commit("main", "change", &[("a.yaml", "a: 2\n")]).unwrap();
    touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    let bad =
        format!("signature verification of commit '{unsigned}' failed: unsupported signature type: empty");
    assert_eq!(world.failure(GIT, "app").await, ("InvalidCommitSignature".into(), bad.clone()));
    assert_eq!(
        source_verified(&world, "app").await,
        Some(("False".into(), "InvalidCommitSignature".into(), bad))
    );
    let after = world.api(GIT).await.get("app").await.unwrap().data["status"].clone();
    assert_eq!(after["artifact"], before["artifact"], "the old artifact stays");

    world.git("app", &server.url("app"), json!({})).await;
    let status = world.at(GIT, "app", &unsigned).await;
    assert!(status["sourceVerificationMode"].is_null());
    assert_eq!(source_verified(&world, "app").await, None);
}

/// Verdicts are in memory: after a restart the commit is verified again, and its artifact stays as it is.
#[tokio::test]
async fn a_restart_leaves_a_verified_artifact_alone() {
    let (mut world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (repository, key) = (server.repo("app").unwrap(), SshKey::generate("ed25519").unwrap());
    signed_by(&key, &repository, &[("a.yaml", "a: 1\n")]);
    keys(&world, "a", json!({"a.sshpub": key.public().unwrap()})).await;
    verified(&world, "app", &server.url("app"), "a", "head", json!({"branch": "main"})).await;
    let before = world.ready(GIT, "app").await;
    server.forget_requests();
    world.start_again(&[]);
    let after = world.reconciled(GIT, "app").await;
    assert!(!server.requests().is_empty());
    assert_eq!(after["artifact"], before["artifact"]);
    assert_eq!(source_verified(&world, "app").await.unwrap().0, "True");
}

#[tokio::test]
async fn tags_and_commits_in_all_modes_with_openpgp_and_ssh() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (repository, ssh) = (server.repo("app").unwrap(), SshKey::generate("ed25519").unwrap());
    let gpg = GpgHome::create().unwrap();
    let fingerprint = gpg.generate(DEV, "ed25519", "0").unwrap();
    let id = &fingerprint[fingerprint.len() - 16..];
    repository.commit("main", "change", &[("a.yaml", "a: 1\n")]).unwrap();
    let commit = repository.sign_commit("main", &gpg.signer(DEV)).unwrap();
    let tag = repository.signed_tag("v1.2.0", &commit, &ssh.signer()).unwrap();
    keys(&world, "all", json!({"a.sshpub": ssh.public().unwrap(), "b.asc": gpg.public(DEV).unwrap()})).await;
    let url = server.url("app");
    verified(&world, "head", &url, "all", "HEAD", json!({"branch": "main"})).await;
    verified(&world, "tag", &url, "all", "Tag", json!({"semver": "1.x"})).await;
    verified(&world, "both", &url, "all", "TagAndHEAD", json!({"tag": "v1.2.0"})).await;
    verified(&world, "name", &url, "all", "Tag", json!({"name": "refs/tags/v1.2.0"})).await;
    let tag_line = format!("\n\t- tag 'v1.2.0@{tag}' with key '{}'", ssh.fingerprint().unwrap());
    let commit_line = format!("\n\t- commit '{commit}' with key '{id}'");
    for (name, mode, lines) in [
        ("head", "HEAD", commit_line.clone()),
        ("tag", "Tag", tag_line.clone()),
        ("both", "TagAndHEAD", format!("{tag_line}{commit_line}")),
        ("name", "Tag", tag_line.clone()),
    ] {
        let status = world.ready(GIT, name).await;
        assert_eq!(status["sourceVerificationMode"], mode);
        let (_, _, message) = source_verified(&world, name).await.unwrap();
        assert_eq!(message, format!("verified signature of{lines}"), "{name}");
    }
}

/// SRC-SCK-4, SRC-GIT-25.
#[tokio::test]
async fn signatures_that_prove_nothing_give_no_artifact() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    let (key, stranger) = (SshKey::generate("ed25519").unwrap(), SshKey::generate("ed25519").unwrap());
    let unsigned = repository.commit("main", "change", &[("a.yaml", "a: 0\n")]).unwrap();
    let commit = signed_by(&key, &repository, &[("a.yaml", "a: 1\n")]);
    let half = repository.signed_tag("half", &unsigned, &key.signer()).unwrap();
    repository.annotated_tag("plain", &commit, "plain").unwrap();
    let plain = repository.git(&["rev-parse", "plain"]).unwrap().trim().to_owned();
    repository.tag("light", &commit).unwrap();
    let moved = moved_signature(&repository, "moved", &half, &commit);
    keys(&world, "a", json!({"a.sshpub": key.public().unwrap()})).await;
    keys(&world, "b", json!({"b.sshpub": stranger.public().unwrap()})).await;
    keys(&world, "none", json!({})).await;
    let mismatch = "unable to verify payload with any of the given authorized keys: no matching key\npublic key does \
                    not match";
    let wrong = "unable to verify payload with any of the given authorized keys: no matching key\nssh: signature did \
                 not verify";
    let cases = [
        (
            "other",
            "b",
            "HEAD",
            json!({"branch": "main"}),
            "InvalidCommitSignature",
            format!(
                "signature verification of commit '{commit}' failed: unable to verify Git commit SSH signature: {mismatch}"
            ),
        ),
        (
            "empty",
            "none",
            "HEAD",
            json!({"branch": "main"}),
            "InvalidCommitSignature",
            format!(
                "signature verification of commit '{commit}' failed: SSH signature detected but no SSH public keys found \
                     in secret (keys with .sshpub suffix)"
            ),
        ),
        (
            "missing",
            "nope",
            "HEAD",
            json!({"branch": "main"}),
            "VerificationError",
            "public keys secret error: secrets \"nope\" not found".to_owned(),
        ),
        (
            "unsigned",
            "a",
            "HEAD",
            json!({"commit": unsigned}),
            "InvalidCommitSignature",
            format!(
                "signature verification of commit '{unsigned}' failed: unsupported signature type: empty"
            ),
        ),
        (
            "half",
            "a",
            "TagAndHEAD",
            json!({"tag": "half"}),
            "InvalidCommitSignature",
            format!(
                "signature verification of commit '{unsigned}' failed: unsupported signature type: empty"
            ),
        ),
        (
            "moved",
            "a",
            "Tag",
            json!({"tag": "moved"}),
            "InvalidTagSignature",
            format!(
                "signature verification of tag 'half@{moved}' failed: unable to verify Git tag SSH signature: {wrong}"
            ),
        ),
        (
            "plain",
            "a",
            "Tag",
            json!({"tag": "plain"}),
            "InvalidGitObject",
            format!("cannot verify signature of tag 'plain@{plain}' since it is not signed"),
        ),
        (
            "light",
            "a",
            "Tag",
            json!({"tag": "light"}),
            "InvalidGitObject",
            "cannot verify signature of tag 'light' since it is not signed".to_owned(),
        ),
        (
            "branch",
            "a",
            "Tag",
            json!({"branch": "main"}),
            "InvalidVerificationMode",
            "cannot verify tag object's signature if a tag reference is not specified".to_owned(),
        ),
    ];
    for (name, secret, mode, reference, _, _) in &cases {
        verified(&world, name, &server.url("app"), secret, mode, reference.clone()).await;
    }
    for (name, _, _, _, reason, message) in cases {
        assert_eq!(world.failure(GIT, name).await, (reason.to_owned(), message), "{name}");
        let status = world.api(GIT).await.get(name).await.unwrap().data["status"].clone();
        assert!(status["artifact"].is_null(), "{name}");
        assert!(status["sourceVerificationMode"].is_null(), "{name}");
    }
}

/// A tag object with the signature of another, pointing at another commit.
fn moved_signature(repository: &GitRepo, name: &str, signed: &str, target: &str) -> String {
    let text = repository.git(&["cat-file", "tag", signed]).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    let path = repository.path().join("moved-tag");
    std::fs::write(&path, format!("object {target}\n{rest}")).unwrap();
    let path = path.display().to_string();
    let id =
        repository.git(&["hash-object", "-w", "-t", "tag", "--literally", &path]).unwrap().trim().to_owned();
    repository.git(&["update-ref", &format!("refs/tags/{name}"), &id]).unwrap();
    id
}

/// DEV 18, SRC-GIT-26.
#[tokio::test]
async fn other_keys_in_the_secret_are_noticed_without_a_new_commit() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let repository = server.repo("app").unwrap();
    let (key, stranger) = (SshKey::generate("ed25519").unwrap(), SshKey::generate("ed25519").unwrap());
    signed_by(&key, &repository, &[("a.yaml", "a: 1\n")]);
    let data = |key: &SshKey| json!({"a.sshpub": key.public().unwrap()});
    keys(&world, "rotated", data(&key)).await;
    verified(&world, "app", &server.url("app"), "rotated", "HEAD", json!({"branch": "main"})).await;
    let before = world.ready(GIT, "app").await;

    server.forget_requests();
    let token = touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    let handled = |object: &DynamicObject| object.data["status"]["lastHandledReconcileAt"] == token;
    world.until(GIT, "app", "request handled", handled).await;
    assert_eq!(server.requests().len(), 1, "the same keys and commit need no fetch");

    keys(&world, "rotated", data(&stranger)).await;
    touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    let (reason, _) = world.failure(GIT, "app").await;
    assert_eq!(reason, "InvalidCommitSignature");
    keys(&world, "rotated", data(&key)).await;
    touch_requested_at(&world.api(GIT).await, "app").await.unwrap();
    let after = world.ready(GIT, "app").await;
    assert_eq!(after["artifact"]["digest"], before["artifact"]["digest"]);
}

/// A commit as image-automation and `weir bootstrap` make it (IU-21).
#[tokio::test]
async fn a_commit_that_weir_signed_is_accepted() {
    let (world, server) = (World::start().await, GitServer::start().await.unwrap());
    let (repository, home) = (server.repo("app").unwrap(), GpgHome::create().unwrap());
    repository.commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    let fingerprint = home.generate(DEV, "ed25519", "0").unwrap();
    let ring = home.gpg(&["--armor", "--export-secret-keys", DEV], b"").unwrap();
    let now = jiff::Timestamp::now();
    let key = SigningKey::openpgp(ring.as_bytes(), Choice::Only, None, now).unwrap();
    let (git, remote) =
        (Git::new(GitConfig::default()).unwrap(), Remote::new(server.url("app").parse().unwrap()));
    let checkout = git.clone_branch(&remote, "main").await.unwrap();
    let author = Author { name: "bot".into(), email: DEV.into(), time: now.as_second() };
    let sign = |bytes: &[u8]| key.sign(bytes, now).map_err(|error| error.to_string());
    let commit = checkout
        .commit_edits(CommitRequest {
            parent: checkout.commit().id,
            edits: vec![("a.yaml".into(), b"a: 2\n".to_vec())],
            message: "by a machine".into(),
            author,
            sign: Some(&sign),
        })
        .unwrap();
    let lease = Lease::Expect(checkout.commit().id);
    let push = PushRequest { commit, refname: "refs/heads/main".into(), lease, options: Vec::new() };
    git.push(&remote, &checkout, push).await.unwrap();
    keys(&world, "a", json!({"a.asc": home.public(DEV).unwrap()})).await;
    verified(&world, "app", &server.url("app"), "a", "HEAD", json!({"branch": "main"})).await;
    world.ready(GIT, "app").await;
    let id = &fingerprint[fingerprint.len() - 16..];
    let message = format!("verified signature of\n\t- commit '{commit}' with key '{id}'");
    assert_eq!(source_verified(&world, "app").await, Some(("True".into(), "Succeeded".into(), message)));
}
