//! Another implementation of Git on the other end: dulwich, in Python.

use weir_git::{Fetched, Reference, Stores};
use weir_testkit::{DulwichServer, Folder};

use crate::{branch, fetched, files, git, remote};

#[tokio::test]
async fn branches_tags_and_ranges() {
    let Some(server) = DulwichServer::start().await.unwrap() else { return };
    let repository = server.repository();
    let first = repository.commit("main", "first", &[("a.yaml", "1")]).unwrap();
    let second = repository.commit("main", "second", &[("a.yaml", "2"), ("d/b.yaml", "b")]).unwrap();
    repository.tag("v1.10.0", &first).unwrap();
    repository.annotated_tag("v1.2.0", &second, "annotated").unwrap();
    let remote = remote(&server.url());
    for (reference, revision, content) in [
        (branch("main"), format!("main@sha1:{second}"), "2"),
        (Reference::Tag("v1.2.0".into()), format!("v1.2.0@sha1:{second}"), "2"),
        (Reference::Semver("1.x".into()), format!("v1.10.0@sha1:{first}"), "1"),
        (Reference::Name("refs/heads/main".into()), format!("refs/heads/main@sha1:{second}"), "2"),
        (Reference::Commit { id: first.clone(), branch: None, name: None }, format!("sha1:{first}"), "1"),
    ] {
        let checkout = fetched(&remote, &reference).await;
        assert_eq!(checkout.revision(), revision);
        assert_eq!(files(&checkout)[0], ("a.yaml".to_owned(), content.to_owned()), "{reference:?}");
        let again = git().fetch(&remote, &reference, Some(&revision)).await.unwrap();
        assert!(matches!(again, Fetched::Unchanged { .. }), "{reference:?}");
    }
}

#[tokio::test]
async fn a_kept_repository_takes_up_what_is_new() {
    let Some(server) = DulwichServer::start().await.unwrap() else { return };
    let folder = Folder::new("store").unwrap();
    let mut remote = remote(&server.url());
    remote.store = Stores::new(folder.path().to_owned()).of("owner");
    for number in 0..4 {
        let content = number.to_string();
        let id = server.repository().commit("main", "one file", &[("a.yaml", &content)]).unwrap();
        let checkout = fetched(&remote, &branch("main")).await;
        assert_eq!(checkout.revision(), format!("main@sha1:{id}"));
        assert_eq!(files(&checkout), [("a.yaml".to_owned(), content)]);
    }
}
