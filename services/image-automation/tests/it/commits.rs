//! Commits on the branch that is checked out.

use kube::api::Patch;
use serde_json::json;
use weir_testkit::SshGitServer;

use crate::world::World;

#[tokio::test]
async fn a_new_selection_is_one_commit_of_the_marked_lines_only() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    let manifest = world.manifest("old:1", "web");
    let files = [("apps/web.yaml", manifest.as_str()), ("b.yml", &manifest), ("README.md", &manifest)];
    repo.commit("main", "first", &files).unwrap();
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
    // IU-20: the template's text as it is, and the author as committer.
    let raw = repo.git(&["cat-file", "commit", "main"]).unwrap();
    assert!(raw.contains("\ncommitter bot <bot@example.com> "), "{raw}");
    assert!(raw.ends_with("\n\nghcr.io/acme/web:1.0.0\n"), "{raw:?}");
    for path in ["apps/web.yaml", "b.yml"] {
        assert_eq!(repo.read("main", path).unwrap(), world.manifest("ghcr.io/acme/web:1.0.0", "web"));
    }
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
        world.secret(name, data).await;
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

/// IU-29.
#[tokio::test]
async fn the_algorithms_of_the_flags_are_those_that_are_offered() {
    let flags = ["--ssh-kex-algos=diffie-hellman-group1-sha1".to_owned()];
    let world = World::start_with(|_| Vec::new(), &flags).await;
    let ssh = SshGitServer::start().await.unwrap();
    let repo = ssh.repo("app").unwrap();
    repo.commit("main", "first", &[("web.yaml", &world.manifest("old:1", "web"))]).unwrap();
    world.select("web", "ghcr.io/acme/web", "1.0.0").await;
    let data = json!({"identity": ssh.identity(), "known_hosts": ssh.known_hosts()});
    world.secret("app", data).await;
    world.repository_at("app", &ssh.url("app"), json!({"secretRef": {"name": "app"}})).await;
    world.automation("app", json!({})).await;
    world.until_failed("app", r#"No common Kex algorithm - ours: ["diffie-hellman-group1-sha1"], "#).await;
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

/// ST-5.
#[tokio::test]
async fn the_path_is_a_folder_or_a_file_and_may_lead_through_symbolic_links() {
    let world = World::start().await;
    let repo = world.git.repo("app").unwrap();
    let manifest = world.manifest("old:1", "web");
    let change =
        repo.change("main").message("links").file("apps/web.yaml", &manifest).file("x.yaml", &manifest);
    change.symlink("current", "apps").commit().unwrap();
    world.select("web", "ghcr.io/acme/web", "1.0.0").await;
    world.repository("app").await;
    world.automation("app", json!({})).await;
    let api = world.api("ImageUpdateAutomation").await;
    let spec = |path: &str| {
        let update = json!({"strategy": "Setters", "path": path});
        kube::api::Patch::Merge(json!({"spec": {"update": update}}))
    };
    world.until_seen("app", "web", "1.0.0").await;
    let changed = |tag: &str| world.manifest(&format!("ghcr.io/acme/web:{tag}"), "web");
    assert_eq!(repo.read("main", "x.yaml").unwrap(), changed("1.0.0"));
    for (path, tag) in [("./current", "1.1.0"), ("current/web.yaml", "1.2.0"), ("/apps/../apps", "1.3.0")] {
        api.patch("app", &Default::default(), &spec(path)).await.unwrap();
        world.select("web", "ghcr.io/acme/web", tag).await;
        world.until_seen("app", "web", tag).await;
        assert_eq!(repo.read("main", "apps/web.yaml").unwrap(), changed(tag), "{path}");
        assert_eq!(repo.read("main", "x.yaml").unwrap(), changed("1.0.0"), "outside of {path}");
    }
    api.patch("app", &Default::default(), &spec("./current/none")).await.unwrap();
    world.until_failed("app", "walking path for files: lstat apps/none: no such file or directory").await;
}

#[tokio::test]
async fn a_broken_template_is_told_and_nothing_is_committed() {
    let world = World::start().await;
    let repo = world.app().await;
    world.automation("app", json!({"commit": {"messageTemplate": "{{ nope }}"}})).await;
    world.until_failed("app", "template: commit message:1: function \"nope\" not defined").await;
    assert_eq!(repo.log("main").unwrap().len(), 1);
}

/// TP-2, TP-13: a Handlebars template is known by itself; the annotation decides where it does not show.
#[tokio::test]
async fn messages_may_be_written_in_handlebars() {
    let world = World::start().await;
    let repo = world.app().await;
    let template = "bump\n\n{{#each changes}}\n- {{oldValue}} -> {{newValue}}\n{{/each}}\n";
    world.automation("app", json!({"commit": {"messageTemplate": template}})).await;
    world.until_seen("app", "web", "1.0.0").await;
    let raw = repo.git(&["cat-file", "commit", "main"]).unwrap();
    assert!(raw.ends_with("\n\nbump\n\n- old:1 -> r/web:1.0.0\n"), "{raw:?}");

    let api = world.api("ImageUpdateAutomation").await;
    let engine = |name: &str| {
        let annotations = json!({"weir.dev/message-template-engine": name});
        let git = json!({"commit": {"messageTemplate": "{{automation.name}}"}});
        Patch::Merge(json!({"metadata": {"annotations": annotations}, "spec": {"git": git}}))
    };
    api.patch("app", &Default::default(), &engine("mustache")).await.unwrap();
    world.until_failed("app", "must be 'go' or 'handlebars', not 'mustache'").await;
    world.select("web", "ghcr.io/acme/web", "1.1.0").await;
    api.patch("app", &Default::default(), &engine("handlebars")).await.unwrap();
    world.until_seen("app", "web", "1.1.0").await;
    let raw = repo.git(&["cat-file", "commit", "main"]).unwrap();
    assert!(raw.ends_with("\n\napp"), "{raw:?}");
}
