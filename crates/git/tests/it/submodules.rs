//! Submodules of submodules, at relative and foreign places, and what must not be asked.

use weir_git::{Credentials, Error, PlaceError, Remote, Submodule};
use weir_testkit::{GitRepo, GitServer};

use crate::{branch, fetched, files, git, remote};

/// Commits a file and one submodule.
fn with_submodule(repository: &GitRepo, path: &str, url: &str, commit: &str) -> String {
    let modules = format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n");
    let change = repository.change("main").file("own.yaml", "own").file(".gitmodules", modules);
    change.submodule(path, commit).commit().unwrap()
}

async fn submodules(remote: &Remote) -> Result<Vec<Submodule>, Error> {
    let checkout = fetched(remote, &branch("main")).await;
    git().submodules(remote, &checkout, |_| true).await
}

fn shown(found: &[Submodule]) -> Vec<(&str, Vec<(String, String)>)> {
    found.iter().map(|submodule| (submodule.path.as_str(), files(&submodule.checkout))).collect()
}

fn text(path: &str, content: &str) -> (String, String) {
    (path.to_owned(), content.to_owned())
}

#[tokio::test]
async fn the_recorded_commits_of_submodules_and_theirs() {
    let server = GitServer::start().await.unwrap();
    let (deep, lib, app) =
        (server.repo("org/deep").unwrap(), server.repo("org/lib").unwrap(), server.repo("org/app").unwrap());
    let old = deep.commit("main", "old", &[("d.yaml", "old")]).unwrap();
    deep.commit("main", "new", &[("d.yaml", "new")]).unwrap();
    let in_lib = with_submodule(&lib, "nested/deep", "../deep.git", &old);
    with_submodule(&app, "vendor/lib", "../lib.git", &in_lib);
    let remote = remote(&server.url("org/app"));
    let found = submodules(&remote).await.unwrap();
    assert_eq!(found[1].path, "vendor/lib/nested/deep");
    assert_eq!(shown(&found)[1].1, [text("d.yaml", "old")], "the commit that is recorded, not the newest");
    assert!(shown(&found)[0].1.contains(&text("own.yaml", "own")));
    let checkout = fetched(&remote, &branch("main")).await;
    let outer = git().submodules(&remote, &checkout, |path| path == "vendor/lib").await.unwrap();
    assert_eq!(outer.len(), 1);
}

/// DEV 19, SRC-SCK-7.
#[tokio::test]
async fn credentials_stay_with_the_host_of_the_parent() {
    let (server, other) = (GitServer::start().await.unwrap(), GitServer::start().await.unwrap());
    let (near, far) = (server.repo("private/lib").unwrap(), other.repo("private/lib").unwrap());
    let near_id = near.commit("main", "m", &[("a.yaml", "near")]).unwrap();
    let far_id = far.commit("main", "m", &[("a.yaml", "far")]).unwrap();
    let (good, bad) = (server.repo("private/good").unwrap(), server.repo("private/bad").unwrap());
    with_submodule(&good, "lib", &server.url("private/lib"), &near_id);
    with_submodule(&bad, "lib", &other.url("private/lib"), &far_id);
    let remote_of = |name: &str| {
        let mut remote = remote(&server.url(name));
        remote.credentials = Credentials::Basic { username: "user".into(), password: "pass".into() };
        remote
    };
    let found = submodules(&remote_of("private/good")).await.unwrap();
    assert_eq!(shown(&found), [("lib", vec![text("a.yaml", "near")])]);
    // The same password would open the other host too, so being refused there shows that it was not sent.
    let Err(Error::Submodule { path, source }) = submodules(&remote_of("private/bad")).await else {
        panic!("the other host got our password");
    };
    assert_eq!(path, "lib");
    assert!(matches!(*source, Error::AuthenticationRequired { .. }), "{source}");
}

/// DEV 19, SRC-SCK-2.
#[tokio::test]
async fn places_that_are_not_asked() {
    let server = GitServer::start().await.unwrap();
    for (name, url, expected) in [
        ("file", "file:///etc", PlaceError::Scheme),
        ("command", "ext::sh -c true", PlaceError::Scheme),
        ("option", "--upload-pack=true", PlaceError::Option),
        ("outside", "../../x", PlaceError::Outside),
    ] {
        let repository = server.repo(name).unwrap();
        let id = repository.commit("main", "m", &[("a", "a")]).unwrap();
        with_submodule(&repository, "lib", &format!("\"{url}\""), &id);
        let Err(Error::Submodule { source, .. }) = submodules(&remote(&server.url(name))).await else {
            panic!("{url} was asked");
        };
        assert!(matches!(*source, Error::Place(found) if found == expected), "{url}: {source}");
    }
}

#[tokio::test]
async fn a_repository_inside_itself_comes_to_an_end() {
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    // Each commit names the one before as its submodule, deeper than anyone goes.
    let mut id = repository.commit("main", "m", &[("a", "a")]).unwrap();
    for _ in 0..12 {
        id = with_submodule(&repository, "self", "../app.git", &id);
    }
    let Err(error) = submodules(&remote(&server.url("app"))).await else { panic!("it has no end") };
    assert_eq!(error.to_string(), "depth of submodules exceeds 10");
}

#[tokio::test]
async fn entries_without_a_submodule_and_paths_that_lead_out() {
    let server = GitServer::start().await.unwrap();
    let app = server.repo("app").unwrap();
    app.commit("main", "m", &[(".gitmodules", "[submodule \"x\"]\n path = x\n url = ../x\n")]).unwrap();
    assert!(submodules(&remote(&server.url("app"))).await.unwrap().is_empty());
    for path in ["../x", "a/../../x", ".GIT/hooks", "/x"] {
        let modules = format!("[submodule \"x\"]\n path = {path}\n url = ../x\n");
        app.commit("main", "m", &[(".gitmodules", &modules)]).unwrap();
        let Err(error) = submodules(&remote(&server.url("app"))).await else { panic!("{path}") };
        assert!(matches!(error, Error::Path { .. }), "{path}: {error}");
    }
    app.change("main").delete(".gitmodules").symlink(".gitmodules", "/etc/passwd").commit().unwrap();
    let Err(error) = submodules(&remote(&server.url("app"))).await else { panic!("a link was followed") };
    assert!(matches!(error, Error::Path { .. }), "{error}");
}
