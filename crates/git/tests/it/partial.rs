//! Parts of a tree: what is not wanted is not moved, where the server offers it.

use rstest::rstest;
use weir_git::{Checkout, Credentials, Error, Part, Reference, Remote, SshAuth};
use weir_testkit::{DulwichServer, GitRepo, SshGitServer};

use crate::store::Kept;
use crate::{branch, fetched, remote};

/// All below one folder.
fn below(folder: &'static str) -> Option<Part> {
    Some(Part::new(move |path, is_directory| {
        path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            || (is_directory && path == folder)
    }))
}

/// The text of a file, or why it cannot be read; blocks.
fn read(checkout: &Checkout, path: &str) -> Result<String, Error> {
    let reader = checkout.reader().unwrap();
    let file = reader.find(checkout.commit().tree, path).unwrap().expect("a file");
    reader.read(file.id).map(|bytes| String::from_utf8(bytes).unwrap())
}

fn is_missing(checkout: &Checkout, path: &str) -> bool {
    match read(checkout, path) {
        Ok(_) => false,
        Err(Error::NotFetched { .. }) => true,
        Err(error) => panic!("{path}: {error}"),
    }
}

/// A repository with noise beside the folder `deploy`, of which that folder is fetched.
async fn start() -> Kept {
    start_as("sha1").await
}

async fn start_as(format: &str) -> Kept {
    let mut kept = Kept::start_as(format).await;
    kept.noise();
    let files = [("deploy/app.yaml", "app: 1\n"), ("other/b.yaml", "b: 1\n"), (".gitmodules", "# none\n")];
    kept.repository.commit("main", "files", &files).unwrap();
    kept.remote.part = below("deploy");
    kept
}

#[rstest]
#[tokio::test]
async fn only_what_is_wanted_is_moved(#[values("sha1", "sha256")] format: &str) {
    let kept = start_as(format).await;
    kept.server.forget_requests();
    let checkout = kept.fetch(&branch("main")).await;
    assert_eq!(read(&checkout, "deploy/app.yaml").unwrap(), "app: 1\n");
    assert_eq!(read(&checkout, ".gitmodules").unwrap(), "# none\n");
    assert!(is_missing(&checkout, "noise") && is_missing(&checkout, "other/b.yaml"));
    let error = read(&checkout, "noise").unwrap_err().to_string();
    assert!(error.ends_with("was not fetched: it is outside the part of the tree that is wanted"), "{error}");
    assert_eq!(kept.posts(), 2, "trees and blobs");
    let bytes: u64 = kept.packs().iter().map(|(bytes, _)| bytes).sum();
    assert!(bytes < 2_000, "{bytes}");
    drop(checkout);

    kept.repository.commit("main", "elsewhere", &[("other/b.yaml", "b: 2\n")]).unwrap();
    kept.server.forget_requests();
    let checkout = kept.fetch(&branch("main")).await;
    assert_eq!(read(&checkout, "deploy/app.yaml").unwrap(), "app: 1\n");
    assert_eq!(kept.posts(), 1, "the wanted blobs are there");
    drop(checkout);

    kept.repository.commit("main", "here", &[("deploy/app.yaml", "app: 2\n")]).unwrap();
    assert_eq!(read(&kept.fetch(&branch("main")).await, "deploy/app.yaml").unwrap(), "app: 2\n");
}

#[tokio::test]
async fn another_part_and_the_whole() {
    let mut kept = start().await;
    drop(kept.fetch(&branch("main")).await);
    kept.remote.part = below("other");
    kept.server.forget_requests();
    let checkout = kept.fetch(&branch("main")).await;
    assert_eq!(read(&checkout, "other/b.yaml").unwrap(), "b: 1\n");
    assert_eq!(kept.posts(), 1, "only blobs");
    drop(checkout);

    kept.remote.part = None;
    let checkout = kept.fetch(&branch("main")).await;
    assert!(!is_missing(&checkout, "noise") && !is_missing(&checkout, "deploy/app.yaml"));
    drop(checkout);

    // A whole repository stays of use when only a part is wanted.
    kept.remote.part = below("deploy");
    kept.repository.commit("main", "next", &[("deploy/app.yaml", "app: 3\n")]).unwrap();
    let checkout = kept.fetch(&branch("main")).await;
    assert_eq!(read(&checkout, "deploy/app.yaml").unwrap(), "app: 3\n");
    assert!(!is_missing(&checkout, "noise"));
}

#[rstest]
#[tokio::test]
async fn tags_ranges_and_commits(#[values("sha1", "sha256")] format: &str) {
    let kept = start_as(format).await;
    let old = kept.repository.head("main").unwrap();
    kept.repository.annotated_tag("v1.0.0", &old, "tag").unwrap();
    let new = kept.repository.commit("main", "next", &[("deploy/app.yaml", "app: 2\n")]).unwrap();
    kept.repository.tag("v1.1.0", &new).unwrap();
    let pin = |branch: Option<&str>| Reference::Commit {
        id: old.clone(),
        branch: branch.map(str::to_owned),
        name: None,
    };
    for (reference, expected) in [
        (Reference::Tag("v1.0.0".into()), "app: 1\n"),
        (Reference::Semver("1.x".into()), "app: 2\n"),
        (pin(None), "app: 1\n"),
        (pin(Some("main")), "app: 1\n"),
    ] {
        let checkout = kept.fetch(&reference).await;
        assert_eq!(read(&checkout, "deploy/app.yaml").unwrap(), expected, "{reference:?}");
        assert!(is_missing(&checkout, "noise"), "{reference:?}");
    }
}

fn set(repository: &GitRepo, setting: &str, value: &str) {
    repository.git(&["config", setting, value]).unwrap();
}

/// Servers that do not offer it, do not give blobs by their ids, or refuse what they offer give everything.
#[rstest]
#[case::no_filter("uploadpack.allowFilter", "false")]
#[case::no_ids("uploadpack.allowAnySHA1InWant", "false")]
#[case::refused("uploadpackfilter.allow", "false")]
#[tokio::test]
async fn servers_without_parts(#[case] setting: &str, #[case] value: &str) {
    let kept = start().await;
    set(&kept.repository, setting, value);
    for number in 2..4 {
        let checkout = kept.fetch(&branch("main")).await;
        assert!(!is_missing(&checkout, "noise"));
        drop(checkout);
        let text = format!("app: {number}\n");
        kept.repository.commit("main", "next", &[("deploy/app.yaml", &text)]).unwrap();
        assert_eq!(read(&kept.fetch(&branch("main")).await, "deploy/app.yaml").unwrap(), text);
    }
}

/// A server that has offered parts and does so no more: what it believes to be there is not.
#[tokio::test]
async fn a_server_that_stops_offering_parts() {
    let kept = start().await;
    drop(kept.fetch(&branch("main")).await);
    set(&kept.repository, "uploadpack.allowFilter", "false");
    kept.repository.commit("main", "next", &[("deploy/app.yaml", "app: 2\n")]).unwrap();
    let checkout = kept.fetch(&branch("main")).await;
    assert_eq!(read(&checkout, "deploy/app.yaml").unwrap(), "app: 2\n");
    assert!(!is_missing(&checkout, "noise"));
}

#[rstest]
#[case::offered("true")]
#[case::not_offered("false")]
#[tokio::test]
async fn over_ssh(#[case] offered: &str) {
    let server = SshGitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    set(&repository, "uploadpack.allowFilter", offered);
    repository.commit("main", "files", &[("deploy/app.yaml", "app: 1\n"), ("b.yaml", "b: 1\n")]).unwrap();
    let credentials = Credentials::Ssh(SshAuth {
        identity: server.identity().to_string().into(),
        passphrase: None,
        known_hosts: server.known_hosts().to_string(),
    });
    let remote = Remote { credentials, part: below("deploy"), ..remote(&server.url("app")) };
    let checkout = fetched(&remote, &branch("main")).await;
    assert_eq!(read(&checkout, "deploy/app.yaml").unwrap(), "app: 1\n");
    assert_eq!(is_missing(&checkout, "b.yaml"), offered == "true");
}

#[tokio::test]
async fn another_server() {
    let Some(server) = DulwichServer::start().await.unwrap() else { return };
    let files = [("deploy/app.yaml", "app: 1\n"), ("b.yaml", "b: 1\n")];
    server.repository().commit("main", "files", &files).unwrap();
    let remote = Remote { part: below("deploy"), ..remote(&server.url()) };
    let checkout = fetched(&remote, &branch("main")).await;
    assert_eq!(read(&checkout, "deploy/app.yaml").unwrap(), "app: 1\n");
}
