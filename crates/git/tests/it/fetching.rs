//! Branches, tags, ranges, names and commits over smart HTTP.

use weir_git::{Allowance, Credentials, Fetched, Reference, Remote, TreeKind};
use weir_testkit::GitServer;

use crate::{branch, failure, fetched, files, git, remote};

fn commit(id: &str, branch: Option<&str>) -> Reference {
    Reference::Commit { id: id.into(), branch: branch.map(str::to_owned), name: None }
}

#[tokio::test]
async fn a_branch_is_fetched_shallow_with_one_list() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    repository.commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    let id = repository.commit("main", "second\n\nbody", &[("d/b.yaml", "b: 1\n")]).unwrap();
    server.forget_requests();
    let checkout = fetched(&remote(&server.url("app")), &branch("main")).await;
    assert_eq!(checkout.revision(), format!("main@sha1:{id}"));
    assert_eq!(checkout.commit().summary, "second");
    let expected = [("a.yaml", "a: 1\n"), ("d/b.yaml", "b: 1\n")];
    assert_eq!(files(&checkout), expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    // SRC-GIT-2: what was before is not there.
    let before = repository.log("main").unwrap()[1].id.parse().unwrap();
    assert!(checkout.at(before).is_err(), "the history is fetched too");
    let requests = server.requests();
    let lists = requests.iter().filter(|request| request.method.as_str() == "GET").count();
    assert_eq!(lists, 1, "{requests:?}");
}

#[tokio::test]
async fn an_unchanged_branch_costs_one_request() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let id = repository.commit("main", "first", &[("a.yaml", "a: 1\n")]).unwrap();
    server.forget_requests();
    let known = format!("main@sha1:{id}");
    let remote = remote(&server.url("app"));
    let result = git().fetch(&remote, &branch("main"), Some(&known)).await.unwrap();
    assert!(matches!(result, Fetched::Unchanged { revision } if revision == known));
    assert_eq!(server.requests().len(), 1);
    let pinned = git().fetch(&remote, &commit(&id, None), Some(&format!("sha1:{id}"))).await.unwrap();
    assert!(matches!(pinned, Fetched::Unchanged { .. }));
    assert_eq!(server.requests().len(), 1, "a pinned commit is not asked for");
}

/// A4, SRC-GIT-3, SRC-GIT-4.
#[tokio::test]
async fn tags_stand_for_their_commit() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let first = repository.commit("main", "first", &[("a.yaml", "1")]).unwrap();
    let second = repository.commit("main", "second", &[("a.yaml", "2")]).unwrap();
    repository.tag("light", &first).unwrap();
    repository.annotated_tag("v1.2.0", &second, "annotated").unwrap();
    repository.tag("v1.10.0", &first).unwrap();
    let remote = remote(&server.url("app"));
    for (reference, revision, content) in [
        (Reference::Tag("light".into()), format!("light@sha1:{first}"), "1"),
        (Reference::Tag("v1.2.0".into()), format!("v1.2.0@sha1:{second}"), "2"),
        (Reference::Semver("1.x".into()), format!("v1.10.0@sha1:{first}"), "1"),
        (Reference::Semver("<1.5".into()), format!("v1.2.0@sha1:{second}"), "2"),
        (Reference::Name("refs/tags/v1.2.0^{}".into()), format!("refs/tags/v1.2.0^{{}}@sha1:{second}"), "2"),
        (Reference::Name("refs/heads/main".into()), format!("refs/heads/main@sha1:{second}"), "2"),
    ] {
        let checkout = fetched(&remote, &reference).await;
        assert_eq!(checkout.revision(), revision);
        assert_eq!(files(&checkout)[0].1, content, "{reference:?}");
    }
}

#[tokio::test]
async fn names_outside_branches_and_tags() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let base = repository.commit("main", "base", &[("a.yaml", "1")]).unwrap();
    let proposed = repository.commit("fork", "proposal", &[("a.yaml", "2")]).unwrap();
    // A pull request whose commit is on no branch (DEV 29).
    repository.git(&["update-ref", "refs/pull/7/head", &proposed]).unwrap();
    repository.delete_branch("fork").unwrap();
    let checkout = fetched(&remote(&server.url("app")), &Reference::Name("refs/pull/7/head".into())).await;
    assert_eq!(checkout.revision(), format!("refs/pull/7/head@sha1:{proposed}"));
    assert_eq!(files(&checkout)[0].1, "2");
    assert_ne!(base, proposed);
}

/// B11, SRC-GIT-6.
#[tokio::test]
async fn commits_in_the_middle_of_history() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let old = repository.commit("main", "old", &[("a.yaml", "old")]).unwrap();
    let tip = repository.commit("main", "new", &[("a.yaml", "new")]).unwrap();
    let side = repository.commit("side", "side", &[("b.yaml", "side")]).unwrap();
    let remote = remote(&server.url("app"));
    let checkout = fetched(&remote, &commit(&old, None)).await;
    assert_eq!(
        (checkout.revision(), files(&checkout)[0].1.as_str()),
        (format!("sha1:{old}").as_str(), "old")
    );
    let checkout = fetched(&remote, &commit(&old, Some("main"))).await;
    assert_eq!(checkout.revision(), format!("main@sha1:{old}"));
    let checkout = fetched(&remote, &commit(&tip, None)).await;
    assert_eq!(files(&checkout)[0].1, "new");
    let unknown = "0123456789012345678901234567890123456789";
    for reference in [commit(unknown, None), commit(&side, Some("main"))] {
        let Reference::Commit { id, .. } = &reference else { panic!("a commit") };
        let expected = format!("unable to resolve commit object for '{id}': object not found");
        assert_eq!(failure(&remote, &reference).await.clone_message("u"), expected);
    }
}

#[tokio::test]
async fn kinds_of_tree_entries() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let change = repository
        .change("main")
        .message("m")
        .file("plain", "p")
        .executable("run.sh", "#!")
        .symlink("l", "t");
    change.commit().unwrap();
    let checkout = fetched(&remote(&server.url("app")), &branch("main")).await;
    let nodes = checkout.reader().unwrap().list(checkout.commit().tree).unwrap();
    let kinds: Vec<_> = nodes.iter().map(|node| (node.name.as_str(), node.kind)).collect();
    let expected = [
        ("l", TreeKind::Symlink),
        ("plain", TreeKind::File { executable: false }),
        ("run.sh", TreeKind::File { executable: true }),
    ];
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn basic_credentials() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("private/app").unwrap();
    repository.commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let mut remote = remote(&server.url("private/app"));
    remote.credentials = Credentials::Basic { username: "user".into(), password: "pass".into() };
    assert_eq!(files(&fetched(&remote, &branch("main")).await).len(), 1);
}

/// The bytes of a server are counted as they arrive, over all downloads that share an allowance.
#[tokio::test]
async fn an_allowance_ends_a_download() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    // Bytes that do not compress.
    let noise: String =
        (0_u64..40_000).map(|n| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    repository.commit("main", "large", &[("a", &noise)]).unwrap();
    let limited = |bytes| {
        let allowance = Some(Allowance::new(bytes));
        Remote { allowance, ..remote(&server.url("app")) }
    };
    let error = failure(&limited(10_000), &branch("main")).await;
    assert_eq!(error.to_string(), "size of the download exceeds 10000");
    let remote = limited(1_000_000);
    fetched(&remote, &branch("main")).await;
    let mut last = None;
    for _ in 0..10 {
        last = git().fetch(&remote, &branch("main"), None).await.err();
    }
    assert!(matches!(last, Some(weir_git::Error::Limit { .. })), "{last:?}");
}
