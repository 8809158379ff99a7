//! Commits and pushes: nothing of anyone is lost.

use rstest::rstest;
use weir_git::{Author, Checkout, CommitRequest, Error, Lease, ObjectId, PushRequest, Remote};
use weir_testkit::{GitRepo, GitServer};

use crate::{branch, fetched, git, remote};

async fn cloned() -> (GitServer, GitRepo, Remote, Checkout) {
    cloned_as("sha1").await
}

async fn cloned_as(format: &str) -> (GitServer, GitRepo, Remote, Checkout) {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo_as("app", format).unwrap();
    repository.commit("main", "old", &[("deploy/a.yaml", "a: 0\n")]).unwrap();
    let change = repository
        .change("main")
        .message("first")
        .file("deploy/a.yaml", "a: 1\n")
        .executable("run.sh", "#!\n");
    change.commit().unwrap();
    let remote = remote(&server.url("app"));
    let checkout = git().clone_branch(&remote, "main").await.unwrap();
    (server, repository, remote, checkout)
}

fn bot() -> Author {
    Author { name: "bot".into(), email: "bot@example.com".into(), time: 1_700_000_000 }
}

fn edited(checkout: &Checkout, edits: &[(&str, &str)]) -> ObjectId {
    checkout.commit_edits(request(checkout, edits)).unwrap()
}

fn request(checkout: &Checkout, edits: &[(&str, &str)]) -> CommitRequest<'static> {
    let edits = edits.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    let parent = checkout.commit().id;
    let message = "bump a".to_owned();
    CommitRequest { parent, edits, message, author: bot(), sign: None }
}

fn to_main(commit: ObjectId, lease: Lease) -> PushRequest {
    PushRequest { commit, refname: "refs/heads/main".into(), lease, options: Vec::new() }
}

#[tokio::test]
async fn edit_commit_push() {
    let (_server, repository, remote, checkout) = cloned().await;
    let parent = checkout.commit().id;
    let commit =
        edited(&checkout, &[("deploy/a.yaml", "a: 2\n"), ("run.sh", "#!/bin/sh\n"), ("new/b.yaml", "b\n")]);
    git().push(&remote, &checkout, to_main(commit, Lease::Expect(parent))).await.unwrap();
    assert_eq!(repository.head("main").unwrap(), commit.to_string());
    assert_eq!(repository.read("main", "deploy/a.yaml").unwrap(), "a: 2\n");
    assert_eq!(repository.read("main", "new/b.yaml").unwrap(), "b\n");
    let log = repository.log("main").unwrap();
    assert_eq!(log[0].author_email, "bot@example.com");
    let raw = repository.git(&["cat-file", "commit", "main"]).unwrap();
    assert!(raw.ends_with("\n\nbump a"), "the message is used as it is: {raw:?}");
    assert_eq!(log[0].parents, [parent.to_string()]);
    assert_eq!(log.len(), 3);
    let again = git().clone_branch(&remote, "main").await.unwrap();
    let nodes = again.reader().unwrap().list(again.commit().tree).unwrap();
    let run = nodes.iter().find(|node| node.name == "run.sh").unwrap();
    assert_eq!(run.kind, weir_git::TreeKind::File { executable: true });
}

#[tokio::test]
async fn someone_else_was_faster() {
    let (_server, repository, remote, checkout) = cloned().await;
    let commit = edited(&checkout, &[("deploy/a.yaml", "a: 2\n")]);
    let theirs = repository.commit("main", "theirs", &[("theirs.yaml", "t")]).unwrap();
    let request = to_main(commit, Lease::Expect(checkout.commit().id));
    let error = git().push(&remote, &checkout, request).await.unwrap_err();
    assert!(matches!(&error, Error::LeaseLost { found, .. } if *found == theirs), "{error}");
    assert_eq!(repository.head("main").unwrap(), theirs);
}

#[tokio::test]
async fn new_branches_and_forced_ones() {
    let (_server, repository, remote, checkout) = cloned().await;
    let commit = edited(&checkout, &[("deploy/a.yaml", "a: 2\n")]);
    let to = |lease| PushRequest { refname: "refs/heads/bot/bumps".into(), ..to_main(commit, lease) };
    git().push(&remote, &checkout, to(Lease::Absent)).await.unwrap();
    assert_eq!(repository.head("bot/bumps").unwrap(), commit.to_string());
    repository.commit("bot/bumps", "theirs", &[("x", "x")]).unwrap();
    let error = git().push(&remote, &checkout, to(Lease::Absent)).await.unwrap_err();
    assert!(matches!(error, Error::LeaseLost { .. }), "{error}");
    git().push(&remote, &checkout, to(Lease::Force)).await.unwrap();
    assert_eq!(repository.head("bot/bumps").unwrap(), commit.to_string());
}

/// The server says in words alone that there is no room for the branch.
#[tokio::test]
async fn a_branch_below_another_one() {
    let (_server, _repository, remote, checkout) = cloned().await;
    let commit = edited(&checkout, &[("deploy/a.yaml", "a: 2\n")]);
    let request = PushRequest { refname: "refs/heads/main/sub".into(), ..to_main(commit, Lease::Absent) };
    let error = git().push(&remote, &checkout, request).await.unwrap_err().to_string();
    let start = "reference 'refs/heads/main/sub' has changed since it was read: expected nothing, found something else (";
    assert!(error.starts_with(start), "{error}");
}

#[tokio::test]
async fn a_branch_beside_the_cloned_one() {
    let (_server, repository, remote, checkout) = cloned().await;
    assert_eq!(git().fetch_more(&remote, &checkout, "bot").await.unwrap(), None);
    let tip = repository.commit("bot", "from the bot", &[("deploy/a.yaml", "a: 9\n")]).unwrap();
    let fetched = git().fetch_more(&remote, &checkout, "bot").await.unwrap().unwrap();
    assert_eq!((fetched.id.to_string(), fetched.summary.as_str()), (tip, "from the bot"));
    let files = checkout.files(fetched.id, "deploy").unwrap();
    assert_eq!(checkout.read(files[0].id).unwrap(), b"a: 9\n");
}

/// Histories that only meet further back, on servers that offer parts and on others.
#[rstest]
#[tokio::test]
async fn commits_that_are_in_the_history_of_others(#[values("sha1", "sha256")] format: &str) {
    let (_server, repository, remote, checkout) = cloned_as(format).await;
    let base = checkout.commit().id;
    let old = repository.log("main").unwrap()[1].id.parse().unwrap();
    repository.set_branch("side", "main").unwrap();
    let side = repository.commit("side", "side", &[("s", "s")]).unwrap().parse().unwrap();
    let main = repository.commit("main", "main", &[("m", "m")]).unwrap().parse().unwrap();
    for offers_parts in ["true", "false"] {
        repository.git(&["config", "uploadpack.allowFilter", offers_parts]).unwrap();
        for (ancestor, commit, expected) in [
            (main, main, true),
            (base, main, true),
            (old, side, true),
            (main, side, false),
            (side, main, false),
            (main, base, false),
        ] {
            let found = git().is_ancestor(&remote, ancestor, commit).await.unwrap();
            assert_eq!(found, expected, "{ancestor} in {commit}, parts: {offers_parts}");
        }
    }
    let unknown = "1".repeat(base.kind().len_in_hex()).parse().unwrap();
    assert!(!git().is_ancestor(&remote, base, unknown).await.unwrap());
}

#[tokio::test]
async fn the_server_says_no() {
    let (_server, repository, remote, checkout) = cloned().await;
    let hook = repository.path().join("hooks/update");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho no bots here >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let commit = edited(&checkout, &[("deploy/a.yaml", "a: 2\n")]);
    let request = to_main(commit, Lease::Expect(checkout.commit().id));
    let error = git().push(&remote, &checkout, request).await.unwrap_err();
    assert!(
        matches!(&error, Error::PushRejected { reason, .. } if reason.contains("hook declined")),
        "{error}"
    );
    assert!(error.to_string().contains("\n  remote: no bots here\n"), "{error}");
}

/// The words of a refusal do not say that the branch has moved, and the list does.
#[tokio::test]
async fn the_server_says_no_to_the_later_of_two() {
    let (_server, repository, remote, checkout) = cloned().await;
    let base = checkout.commit().id;
    repository.set_branch("theirs", "main").unwrap();
    let theirs = repository.commit("theirs", "theirs", &[("t", "t")]).unwrap();
    let hook = repository.path().join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script = "#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/main theirs\nexit 1\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let commit = edited(&checkout, &[("deploy/a.yaml", "a: 2\n")]);
    let error = git().push(&remote, &checkout, to_main(commit, Lease::Expect(base))).await.unwrap_err();
    assert!(matches!(&error, Error::LeaseLost { found, .. } if *found == theirs), "{error}");
}

#[tokio::test]
async fn signatures_go_into_the_commit() {
    let (_server, _repository, _remote, checkout) = cloned().await;
    let sign = |bytes: &[u8]| Ok(format!("-----BEGIN TEST-----\n{} bytes\n-----END TEST-----", bytes.len()));
    let request = |sign| CommitRequest {
        parent: checkout.commit().id,
        edits: vec![("a".into(), b"a".to_vec())],
        message: "signed".into(),
        author: bot(),
        sign,
    };
    let signed = checkout.commit_edits(request(Some(&sign))).unwrap();
    let plain = checkout.commit_edits(request(None)).unwrap();
    assert_ne!(signed, plain);
    let refuse = |_: &[u8]| Err("no key".to_owned());
    let error = checkout.commit_edits(request(Some(&refuse))).unwrap_err();
    assert_eq!(error.to_string(), "failed to sign commit: no key");
}

#[tokio::test]
async fn paths_that_lead_out_of_the_tree() {
    let (_server, _repository, _remote, checkout) = cloned().await;
    for path in ["../a", "a/../b", "/a", "a//b", ".git/config", "a/.GIT/x"] {
        let request = CommitRequest {
            parent: checkout.commit().id,
            edits: vec![(path.into(), Vec::new())],
            message: String::new(),
            author: bot(),
            sign: None,
        };
        assert!(matches!(checkout.commit_edits(request), Err(Error::Path { .. })), "{path}");
    }
}

/// A repository whose objects have SHA-256 names can be read, but nothing can be added to it (docs/adr/0009).
#[tokio::test]
async fn nothing_is_written_where_sha256_names_the_objects() {
    let server = GitServer::start().await.unwrap();
    server.repo_as("app", "sha256").unwrap().commit("main", "first", &[("a.yaml", "a")]).unwrap();
    let checkout = fetched(&remote(&server.url("app")), &branch("main")).await;
    let error = checkout.commit_edits(request(&checkout, &[("a.yaml", "b")])).unwrap_err();
    assert!(matches!(error, Error::ObjectFormat), "{error}");
}

/// CLI-BST03: a repository without any commit gets its first one, unless somebody else was faster.
#[tokio::test]
async fn the_first_commit_of_a_repository() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let remote = remote(&server.url("app"));
    let checkout = git().empty().unwrap();
    let commit = edited(&checkout, &[("a/b.yaml", "b\n")]);
    let checkout = checkout.at(commit).unwrap();
    let next = edited(&checkout, &[("c.yaml", "c\n")]);
    assert_eq!(crate::files(&checkout), [("a/b.yaml".to_owned(), "b\n".to_owned())]);
    git().push(&remote, &checkout, to_main(next, Lease::Absent)).await.unwrap();
    let log = repository.log("main").unwrap();
    assert_eq!(log.iter().map(|it| it.parents.len()).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(repository.read("main", "a/b.yaml").unwrap(), "b\n");
    let late = git().push(&remote, &checkout, to_main(commit, Lease::Absent)).await.unwrap_err();
    assert!(matches!(late, Error::LeaseLost { .. }), "{late}");
}
