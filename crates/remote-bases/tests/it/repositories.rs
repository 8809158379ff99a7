//! Bases in repositories over HTTP.

use rstest::rstest;
use weir_testkit::{GitRepo, GitServer};

use crate::{built, config_map, resource};

/// Commits a directory `base` with a ConfigMap that has the version.
fn commit(repository: &GitRepo, branch: &str, version: &str) -> String {
    let map = config_map("app", version);
    let files = [("base/kustomization.yaml", "resources: [cm.yaml]\n"), ("base/cm.yaml", map.as_str())];
    repository.commit(branch, version, &files).unwrap()
}

#[tokio::test]
async fn a_base_is_the_one_of_the_reference() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let first = commit(&repository, "main", "first");
    repository.tag("light", &first).unwrap();
    let second = commit(&repository, "main", "second");
    repository.annotated_tag("v1", &second, "annotated").unwrap();
    commit(&repository, "main", "third");
    commit(&repository, "feature/x", "feature");
    let url = server.url("app");
    for (query, version) in [
        (String::new(), "third"),
        ("?ref=main".to_owned(), "third"),
        ("?ref=feature/x".to_owned(), "feature"),
        ("?version=refs/heads/feature/x".to_owned(), "feature"),
        ("?ref=light".to_owned(), "first"),
        ("?ref=v1".to_owned(), "second"),
        (format!("?ref={first}"), "first"),
        (format!("?ref={second}&timeout=20s&submodules=false"), "second"),
    ] {
        let yaml = resource(&format!("{url}//base{query}")).await.unwrap();
        assert_eq!(yaml, config_map("app", version), "{query}");
    }
    let yaml = built(&format!("components: ['{url}//base']\n")).await.unwrap_err();
    assert!(yaml.contains("expected kind 'Component'"), "{yaml}");
}

#[tokio::test]
async fn what_is_not_there_is_told_in_gits_words() {
    let server = GitServer::start().await.unwrap();
    commit(&server.repo("app").unwrap(), "main", "first");
    let (there, missing) = (server.url("app"), server.url("none"));
    let error = resource(&format!("{there}//base?ref=nope")).await.unwrap_err();
    let wanted = format!(
        "accumulating resources: accumulation err='accumulating resources from '{there}//base?ref=nope': URL is a git \
         repository': failed to fetch '{there}' at 'nope': couldn't find remote ref \"nope\""
    );
    assert_eq!(error, wanted);
    let error = resource(&format!("{missing}//base")).await.unwrap_err();
    assert!(
        error.contains(&format!("': failed to fetch '{missing}' at 'HEAD': repository not found")),
        "{error}"
    );
    let error = resource(&format!("{there}//none")).await.unwrap_err();
    assert!(error.ends_with("lstat /.remote-bases/1/none: no such file or directory"), "{error}");
}

#[tokio::test]
async fn credentials_are_those_of_the_url_and_are_not_told() {
    let server = GitServer::start().await.unwrap();
    commit(&server.repo("private/app").unwrap(), "main", "first");
    let url = |user: &str| server.url("private/app").replace("://", &format!("://{user}"));
    assert_eq!(resource(&format!("{}//base", url("user:pass@"))).await.unwrap(), config_map("app", "first"));
    let error = resource(&format!("{}//base", url("user:wrong@"))).await.unwrap_err();
    assert!(error.contains("authentication required") && !error.contains("wrong"), "{error}");
}

/// Many directories may need a repository, which is fetched once.
#[tokio::test]
async fn a_repository_is_cloned_once() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let (one, two) = (config_map("one", "1"), config_map("two", "2"));
    let files = [
        ("one/kustomization.yaml", "resources: [../two]\nnamePrefix: a-\n"),
        ("two/kustomization.yaml", "resources: [cm.yaml]\n"),
        ("two/cm.yaml", two.as_str()),
        ("three/kustomization.yaml", "resources: [cm.yaml]\n"),
        ("three/cm.yaml", one.as_str()),
    ];
    repository.commit("main", "x", &files).unwrap();
    let url = server.url("app");
    let yaml = built(&format!("resources: ['{url}//one', '{url}//three']\n")).await.unwrap();
    assert_eq!(yaml, format!("{}---\n{one}", config_map("a-two", "2")));
    let lists = server.requests().iter().filter(|request| request.path.ends_with("/info/refs")).count();
    assert_eq!(lists, 1, "{:?}", server.requests());
}

#[tokio::test]
async fn submodules_are_there_unless_they_are_not_wanted() {
    let server = GitServer::start().await.unwrap();
    let inner = commit(&server.repo("inner").unwrap(), "main", "inner");
    let outer = server.repo("outer").unwrap();
    let modules = "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = ../inner.git\n";
    let change = outer.change("main").file(".gitmodules", modules).submodule("vendor/lib", &inner);
    change.file("base/kustomization.yaml", "resources: [../vendor/lib/base]\n").commit().unwrap();
    let url = server.url("outer");
    assert_eq!(resource(&format!("{url}//base")).await.unwrap(), config_map("app", "inner"));
    assert_eq!(resource(&format!("{url}//vendor/lib/base")).await.unwrap(), config_map("app", "inner"));
    let error = resource(&format!("{url}//base?submodules=false")).await.unwrap_err();
    assert!(error.contains("lstat /.remote-bases/1/vendor/lib/base: no such file"), "{error}");
    let modules = modules.replace("../inner.git", "file:///etc");
    outer.change("main").file(".gitmodules", modules).commit().unwrap();
    let error = resource(&format!("{url}//base")).await.unwrap_err();
    assert!(error.contains("submodule 'vendor/lib': the URL is none of http, https and ssh"), "{error}");
}

#[tokio::test]
async fn a_repository_that_names_itself_is_a_cycle() {
    let server = GitServer::start().await.unwrap();
    let url = server.url("app");
    let base = format!("resources: ['{url}//base?ref=main']\n");
    server.repo("app").unwrap().commit("main", "x", &[("base/kustomization.yaml", base.as_str())]).unwrap();
    let error = resource(&format!("{url}//base?ref=main")).await.unwrap_err();
    let cycle = format!(
        "cycle detected: URI '{url}//base?ref=main' referenced by previous URI '{url}//base?ref=main'"
    );
    assert!(error.ends_with(&cycle), "{error}");
}

#[rstest]
#[case::files("file:///etc//x", "failed to fetch 'file:///etc': the URL is none of http, https and ssh")]
#[case::ssh(
    "ssh://git@127.0.0.1:1/a/b",
    "failed to fetch 'ssh://git@127.0.0.1:1/a/b': there is no key and no known host for SSH here"
)]
#[case::scp(
    "git@127.0.0.1:a/b",
    "failed to fetch 'git@127.0.0.1:a/b': there is no key and no known host for SSH here"
)]
#[tokio::test]
async fn files_of_the_machine_and_hosts_that_nobody_knows_are_refused(
    #[case] reference: &str,
    #[case] wanted: &str,
) {
    let error = resource(reference).await.unwrap_err();
    assert!(error.contains(wanted), "{error}");
}
