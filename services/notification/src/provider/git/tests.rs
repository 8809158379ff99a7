//! Addresses of repositories, commits in revisions.

use rstest::rstest;

use super::*;

#[rstest]
#[case("https://github.com/org/repo", "https://github.com/", "org/repo")]
#[case("https://me:pin@github.com/org/repo", "https://github.com/", "org/repo")]
#[case("https://github.com/org/repo.git", "https://github.com/", "org/repo")]
#[case("http://127.0.0.1:3000/group/sub/repo.git", "http://127.0.0.1:3000/", "group/sub/repo")]
#[case("ssh://git@gitlab.com/group/repo", "https://gitlab.com/", "group/repo")]
#[case("ssh://git@gitlab.com:2222/group/repo", "https://gitlab.com:2222/", "group/repo")]
#[case("git@github.com:org/repo.git", "https://github.com/", "org/repo")]
#[case("github.com:org/repo.git", "https://github.com/", "org/repo")]
#[case("git@git.example:/org/repo", "https://git.example/", "org/repo")]
#[case("https://git.example/my%20org/repo", "https://git.example/", "my org/repo")]
fn addresses(#[case] address: &str, #[case] host: &str, #[case] id: &str) {
    let repository = Repository::parse(address).unwrap();
    assert_eq!((repository.host.as_str(), repository.id.as_str()), (host, id));
}

#[rstest]
#[case("", "")]
#[case("hello", "hello")]
#[case("me@:org/repo", "me@:org/repo")]
fn files_are_no_repositories(#[case] address: &str, #[case] id: &str) {
    assert_eq!(Repository::parse(address), Err(InitError::Repository(id.to_owned())));
}

#[rstest]
#[case("https://github.com/org/repo", true)]
#[case("https://github.com/a/b/c", false)]
#[case("https://github.com/org", false)]
fn owner_and_name_are_exactly_two(#[case] address: &str, #[case] good: bool) {
    assert_eq!(Repository::parse(address).unwrap().owner_and_name().is_ok(), good);
}

fn commit_of(metadata: &[(&str, &str)]) -> Result<String, RenderError> {
    let metadata = metadata.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    commit(&Event { metadata, ..Default::default() })
}

const HASH: &str = "5394cb7f48332b2de7c17dd8b8384bbc84b7e736";

#[rstest]
#[case(&format!("sha1:{HASH}"), true)]
#[case(&format!("main@sha1:{HASH}"), true)]
#[case(&format!("env/dev@sha1:{HASH}"), true)]
#[case(&format!("main/{HASH}"), true)]
#[case(&format!("env/dev/{HASH}"), true)]
#[case("main", false)]
#[case("main@sha1:abc", false)]
#[case(&format!("latest@sha256:{}", "a".repeat(64)), false)]
#[case(&format!("main@sha1:{}", "z".repeat(40)), false)]
fn commits_in_revisions(#[case] revision: &str, #[case] good: bool) {
    let expected = if good { Ok(HASH.to_owned()) } else { Err(RenderError::NoCommit(revision.to_owned())) };
    assert_eq!(commit_of(&[("revision", revision)]), expected);
}

#[test]
fn the_users_commit_goes_before_the_origin_and_the_revision() {
    let other = "1".repeat(40);
    let revision = format!("sha1:{HASH}");
    assert_eq!(
        commit_of(&[("commit", &revision), ("originRevision", &other), ("revision", &other)]),
        Ok(HASH.to_owned())
    );
    assert_eq!(commit_of(&[("originRevision", &revision), ("revision", &other)]), Ok(HASH.to_owned()));
    assert_eq!(commit_of(&[]), Err(RenderError::NoRevision));
}

#[test]
fn keys_of_statuses_are_hashes_of_their_names() {
    assert_eq!(
        status_key("kustomization/gitops-system/0c9c2e41"),
        "c99410a43c260fddd152a40c296bddfa0b8fd879"
    );
}

#[test]
fn the_default_name_of_a_status_is_unique_per_cluster() {
    let object =
        ObjectReference { kind: "Kustomization".into(), name: "gitops-system".into(), ..Default::default() };
    assert_eq!(
        default_status(&object, "0c9c2e41-d2f9-4f9b-9c41-bebc1984d67a"),
        "kustomization/gitops-system/0c9c2e41"
    );
}
