//! Commits on the branch that is checked out.

use serde_json::json;
use weir_testkit::SshGitServer;

use crate::world::World;

#[tokio::test]
async fn a_new_selection_is_one_commit_of_the_marked_lines_only() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    let manifest = world.manifest("old:1", "web");
    repo.commit("main", "first", &[("apps/web.yaml", &manifest), ("README.md", &manifest)]).unwrap();
    world.select("web", "ghcr.io/acme/web", "1.0.0").await;
    world.repository("app").await;
    let template = "{{range .Updated.Images}}{{println .}}{{end}}";
    world.automation("app", json!({"commit": {"messageTemplate": template}})).await;
    let status = world.until_seen("app", "web", "1.0.0").await;
    let head = repo.head("main").unwrap();
    assert_eq!(status["lastPushCommit"], head.as_str());
    assert_eq!(status["observedSourceRevision"], format!("main@sha1:{head}"));
    let log = repo.log("main").unwrap();
    assert_eq!(
        (log.len(), log[0].author_name.as_str(), log[0].author_email.as_str()),
        (2, "bot", "bot@example.com")
    );
    assert_eq!(log[0].message.trim_end(), "ghcr.io/acme/web:1.0.0");
    assert_eq!(repo.read("main", "apps/web.yaml").unwrap(), world.manifest("ghcr.io/acme/web:1.0.0", "web"));
    assert_eq!(repo.read("main", "README.md").unwrap(), manifest);

    world.select("web", "ghcr.io/acme/web", "1.1.0").await;
    world.until_seen("app", "web", "1.1.0").await;
    assert_eq!(repo.log("main").unwrap().len(), 3);
}

#[tokio::test]
async fn ssh_is_pushed_to_with_a_known_host_and_refused_with_another() {
    let world = World::start().await;
    let ssh = SshGitServer::start().await.unwrap();
    let repo = ssh.repo("app").unwrap();
    repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    world.select("web", "ghcr.io/acme/web", "1.0.0").await;
    for (name, known_hosts) in [("stranger", ssh.other_known_hosts()), ("app", ssh.known_hosts())] {
        let data = json!({"identity": ssh.identity(), "known_hosts": known_hosts});
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        world.apply(secret).await;
        world.repository_at(name, &ssh.url("app"), json!({"secretRef": {"name": name}})).await;
        world.automation(name, json!({})).await;
        if name == "stranger" {
            world.until_failed(name, "knownhosts: key mismatch").await;
            assert_eq!(repo.log("main").unwrap().len(), 1);
        }
    }
    world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(repo.read("main", "web.yaml").unwrap(), world.manifest("ghcr.io/acme/web:1.0.0", "web"));
}

#[tokio::test]
async fn a_symbolic_link_does_not_lead_out_of_the_tree() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    let manifest = world.manifest("old:1", "web");
    repo.change("main")
        .message("links")
        .file("base/web.yaml", &manifest)
        .symlink("apps/inside.yaml", "../base/web.yaml")
        .symlink("apps/outside.yaml", "../../../etc/passwd")
        .symlink("apps/absolute.yaml", "/etc/passwd")
        .commit()
        .unwrap();
    world.select("web", "ghcr.io/acme/web", "1.0.0").await;
    world.repository("app").await;
    world.automation("app", json!({})).await;
    world.until_seen("app", "web", "1.0.0").await;
    assert_eq!(repo.read("main", "base/web.yaml").unwrap(), world.manifest("ghcr.io/acme/web:1.0.0", "web"));
    assert_eq!(repo.read("main", "apps/outside.yaml").unwrap(), "../../../etc/passwd");
}

#[tokio::test]
async fn a_broken_template_is_told_and_nothing_is_committed() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    world.select("web", "ghcr.io/acme/web", "1.0.0").await;
    world.repository("app").await;
    world.automation("app", json!({"commit": {"messageTemplate": "{{ nope }}"}})).await;
    world.until_failed("app", "template: commit message:1: function \"nope\" not defined").await;
    assert_eq!(repo.log("main").unwrap().len(), 1);
}
