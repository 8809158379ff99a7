use std::path::Path;
use std::process::Output;

use axum::http::StatusCode;
use weir_testkit::{Folder, GitServer, SshGitServer};

async fn git(folder: &Path, arguments: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = tokio::process::Command::new("git");
    command.current_dir(folder).args(arguments).env("GIT_TERMINAL_PROMPT", "0");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").envs(env.iter().copied());
    command.output().await.unwrap()
}

#[tokio::test]
async fn clone_and_push_over_http() {
    let server = GitServer::start().await.unwrap();
    let repo = server.repo("team/app").unwrap();
    let first = repo.commit("main", "first", &[("deploy/a.yaml", "a: 1\n")]).unwrap();
    let folder = Folder::new("clone").unwrap();

    let cloned = git(folder.path(), &["clone", "-q", &server.url("team/app"), "work"], &[]).await;
    assert!(cloned.status.success(), "{cloned:?}");
    let work = folder.join("work");
    assert_eq!(std::fs::read_to_string(work.join("deploy/a.yaml")).unwrap(), "a: 1\n");

    std::fs::write(work.join("deploy/a.yaml"), "a: 2\n").unwrap();
    let author = ["-c", "user.name=Someone", "-c", "user.email=some@one"];
    git(&work, &[&author[..], &["commit", "-qam", "second\n\nwith a body"]].concat(), &[]).await;
    let pushed = git(&work, &["push", "-q", "origin", "main"], &[]).await;
    assert!(pushed.status.success(), "{pushed:?}");

    let log = repo.log("main").unwrap();
    assert_eq!(log.len(), 2);
    assert_eq!((log[0].author_name.as_str(), log[0].message.as_str()), ("Someone", "second\n\nwith a body"));
    assert_eq!(log[0].parents, [first]);
    assert_eq!(repo.read("main", "deploy/a.yaml").unwrap(), "a: 2\n");
    assert!(repo.diff("main").unwrap().ends_with("-a: 1\n+a: 2\n"));
}

#[tokio::test]
async fn requests_are_counted_and_outages_can_be_played() {
    let server = GitServer::start().await.unwrap();
    let repo = server.repo("app").unwrap();
    repo.commit("main", "first", &[("a", "1")]).unwrap();
    let here = Path::new(".");
    assert!(git(here, &["ls-remote", &server.url("app")], &[]).await.status.success());
    let requests = server.requests();
    assert!(requests.iter().any(|r| r.path == "/app.git/info/refs" && r.query == "service=git-upload-pack"));

    server.forget_requests();
    server.answer_with(Some(StatusCode::SERVICE_UNAVAILABLE));
    assert!(!git(here, &["ls-remote", &server.url("app")], &[]).await.status.success());
    server.answer_with(None);
    assert!(git(here, &["ls-remote", &server.url("app")], &[]).await.status.success());
    assert!(!server.requests().is_empty());
}

#[tokio::test]
async fn private_repositories_want_the_password() {
    let server = GitServer::start().await.unwrap();
    server.repo("private/app").unwrap().commit("main", "first", &[("a", "1")]).unwrap();
    let url = server.url("private/app");
    assert!(!git(Path::new("."), &["ls-remote", &url], &[]).await.status.success());
    let url = url.replace("http://", "http://user:pass@");
    assert!(git(Path::new("."), &["ls-remote", &url], &[]).await.status.success());
}

#[tokio::test]
async fn https_is_trusted_with_its_ca_only() {
    let server = GitServer::start_tls().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a", "1")]).unwrap();
    let folder = Folder::new("ca").unwrap();
    let ca = folder.write("ca.crt", server.ca_pem().unwrap()).unwrap();
    let arguments = ["ls-remote", &server.url("app")];
    assert!(!git(folder.path(), &arguments, &[]).await.status.success());
    let trusting = git(folder.path(), &arguments, &[("GIT_SSL_CAINFO", ca.to_str().unwrap())]).await;
    assert!(trusting.status.success(), "{trusting:?}");
}

#[tokio::test]
async fn changes_can_hold_links_executables_and_deletions() {
    let server = GitServer::start().await.unwrap();
    let repo = server.repo("app").unwrap();
    repo.commit("main", "first", &[("old", "1"), ("kept", "1")]).unwrap();
    let change = repo.change("main").message("more").author("bot", "bot@example.com");
    let change = change.executable("run.sh", "#!/bin/sh\n").symlink("link", "kept").delete("old");
    let id = change.commit().unwrap();

    let tree = repo.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "main"]).unwrap();
    assert_eq!(tree, "100644 kept\n120000 link\n100755 run.sh\n");
    repo.tag("v1", &id).unwrap();
    repo.annotated_tag("v1.0.0", &id, "release").unwrap();
    assert_eq!(repo.head("v1").unwrap(), repo.head("v1.0.0").unwrap());

    repo.commit("feature", "root of its own", &[("a", "1")]).unwrap();
    assert_eq!(repo.branches().unwrap(), ["feature", "main"]);
    repo.set_branch("feature", &id).unwrap();
    assert_eq!(repo.head("feature").unwrap(), id);
    repo.delete_branch("feature").unwrap();
    assert!(repo.head("feature").is_err());
}

#[tokio::test]
async fn clone_over_ssh_wants_the_key_and_the_right_host() {
    let server = SshGitServer::start().await.unwrap();
    server.repo("app").unwrap().commit("main", "first", &[("a", "1")]).unwrap();
    let folder = Folder::new("ssh").unwrap();
    let key = folder.write("identity", server.identity()).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, mode).unwrap();
    let list = async |name: &str, known_hosts: String| {
        let known = folder.write(name, known_hosts).unwrap();
        let ssh = format!(
            "ssh -F none -i {} -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile={}",
            key.display(),
            known.display()
        );
        git(folder.path(), &["ls-remote", &server.url("app")], &[("GIT_SSH_COMMAND", &ssh)]).await
    };
    let right = list("right", server.known_hosts()).await;
    assert!(right.status.success(), "{right:?}");
    assert!(!list("wrong", server.other_known_hosts()).await.status.success());
    assert!(server.identity_pub().starts_with("ssh-ed25519 "));
}
