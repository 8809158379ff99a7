//! Signatures as raw material: what Git itself signed, byte for byte.

use std::path::Path;
use std::process::Command;

use rstest::rstest;
use weir_git::Reference;
use weir_testkit::{Folder, GitServer};

use crate::{branch, fetched, remote};

/// Runs a program in `directory` and returns what it printed.
fn run(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).current_dir(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Clones `url` into a folder with an SSH signing key.
fn signer(folder: &Folder, url: &str) -> std::path::PathBuf {
    run(folder.path(), "ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", "key"]);
    run(folder.path(), "git", &["clone", "-q", url, "work"]);
    let work = folder.path().join("work");
    for (key, value) in [
        ("user.name", "a"),
        ("user.email", "a@b"),
        ("gpg.format", "ssh"),
        ("user.signingkey", "../key.pub"),
        ("push.default", "current"),
    ] {
        run(&work, "git", &["config", key, value]);
    }
    work
}

/// Checks the signature over the payload with OpenSSH.
fn assert_signed(folder: &Folder, payload: &[u8], signature: Option<&[u8]>) {
    let path = folder.path();
    let key = std::fs::read_to_string(path.join("key.pub")).unwrap();
    std::fs::write(path.join("allowed"), format!("a@b {key}")).unwrap();
    std::fs::write(path.join("signature"), signature.expect("a signature")).unwrap();
    std::fs::write(path.join("payload"), payload).unwrap();
    let arguments = ["-Y", "verify", "-f", "allowed", "-I", "a@b", "-n", "git", "-s", "signature"];
    let checked = Command::new("ssh-keygen")
        .current_dir(path)
        .args(arguments)
        .stdin(std::fs::File::open(path.join("payload")).unwrap())
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn commit_and_tag_come_with_what_was_signed(#[values("sha1", "sha256")] format: &str) {
    let server = GitServer::start().await.unwrap();
    server.repo_as("app", format).unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let (folder, url) = (Folder::new("signed").unwrap(), server.url("app"));
    let work = tokio::task::block_in_place(|| {
        let work = signer(&folder, &url);
        run(&work, "git", &["checkout", "-q", "main"]);
        run(&work, "git", &["commit", "-q", "--allow-empty", "-S", "-m", "signed\n\nbody"]);
        run(&work, "git", &["tag", "-s", "v1.0.0", "-m", "one\n\ntwo"]);
        run(&work, "git", &["tag", "light"]);
        run(&work, "git", &["push", "-q", "origin", "main", "v1.0.0", "light"]);
        work
    });
    let checkout = fetched(&remote(&url), &Reference::Tag("v1.0.0".into())).await;
    let commit = checkout.commit_signature().unwrap();
    assert_eq!(commit.id, checkout.commit().id);
    assert_signed(&folder, &commit.payload, commit.signature.as_deref());
    let tag = checkout.tag().unwrap().expect("an annotated tag");
    assert_eq!((tag.name.as_str(), tag.target), ("v1.0.0", checkout.commit().id));
    assert_eq!(tag.signed.id.to_string(), run(&work, "git", &["rev-parse", "v1.0.0"]).trim());
    assert_signed(&folder, &tag.signed.payload, tag.signed.signature.as_deref());
    let light = fetched(&remote(&url), &Reference::Tag("light".into())).await;
    assert_eq!(light.tag().unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_signed_says_so() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let id = repository.commit("main", "first", &[("a.yaml", "a")]).unwrap();
    repository.annotated_tag("v1.0.0", &id, "plain").unwrap();
    let on_branch = fetched(&remote(&server.url("app")), &branch("main")).await;
    let commit = on_branch.commit_signature().unwrap();
    assert_eq!(commit.signature, None);
    assert!(commit.payload.starts_with(b"tree "), "the whole commit is the payload");
    assert_eq!(on_branch.tag().unwrap(), None);
    let tagged = fetched(&remote(&server.url("app")), &Reference::Tag("v1.0.0".into())).await;
    let tag = tagged.tag().unwrap().expect("an annotated tag");
    assert_eq!(tag.signed.signature, None);
    assert!(tag.signed.payload.ends_with(b"plain\n"), "{:?}", String::from_utf8_lossy(&tag.signed.payload));
}
