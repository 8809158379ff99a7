//! Repositories that are kept: only what is new is moved, and what is broken is fetched anew; whatever names the objects
//! (DEV 17, docs/adr/0009).

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rstest::rstest;
use weir_git::{Checkout, Fetched, Git, GitConfig, Reference, Remote, Stores};
use weir_testkit::{Folder, GitRepo, GitServer};

use crate::{branch, files, git, remote};

const OWNER: &str = "5a2f9c1e-0000-4000-8000-000000000001";
/// Bytes that no compression makes small.
const NOISE_BYTES: usize = 200_000;

pub(crate) struct Kept {
    pub(crate) server: GitServer,
    pub(crate) repository: GitRepo,
    folder: Folder,
    pub(crate) remote: Remote,
}

impl Kept {
    pub(crate) async fn start() -> Self {
        Self::start_as("sha1").await
    }

    /// A repository whose objects have names of a format.
    pub(crate) async fn start_as(format: &str) -> Self {
        let server = GitServer::start().await.unwrap();
        let repository = server.repo_as("app", format).unwrap();
        let folder = Folder::new("store").unwrap();
        let mut remote = remote(&server.url("app"));
        remote.store = Stores::new(folder.path().to_owned()).of(OWNER);
        Self { server, repository, folder, remote }
    }

    /// A commit with a file of noise, so that a download of everything is seen.
    pub(crate) fn noise(&self) -> String {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (state >> 58) as u8)
        };
        let text: String = (0..NOISE_BYTES).map(|_| next()).collect();
        self.repository.commit("main", "noise", &[("noise", &text), ("a.yaml", "a: 0\n")]).unwrap()
    }

    pub(crate) async fn fetch(&self, reference: &Reference) -> Checkout {
        match git().fetch(&self.remote, reference, None).await.unwrap() {
            Fetched::New(checkout) => checkout,
            Fetched::Unchanged { .. } => panic!("nothing was known"),
        }
    }

    /// The packs of the only kept repository, the largest first.
    pub(crate) fn packs(&self) -> Vec<(u64, PathBuf)> {
        let kept = only_entry(&only_entry(self.folder.path()));
        let entries = std::fs::read_dir(kept.join("objects/pack")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let packs = paths.filter(|path| path.extension().is_some_and(|end| end == "pack"));
        let mut packs: Vec<_> = packs.map(|path| (path.metadata().unwrap().len(), path)).collect();
        packs.sort_by(|a, b| b.cmp(a));
        packs
    }

    pub(crate) fn posts(&self) -> usize {
        self.server.requests().iter().filter(|request| request.method == "POST").count()
    }
}

/// The steps at which services/source/tests/it/durability/kills.rs ends the process.
#[tokio::test]
async fn every_step_of_a_download_is_reported_in_order() {
    static SEEN: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    let git = Git::new(GitConfig { step: |name| SEEN.lock().push(name), ..GitConfig::default() }).unwrap();
    for format in ["sha1", "sha256"] {
        let kept = Kept::start_as(format).await;
        kept.noise();
        git.fetch(&kept.remote, &branch("main"), None).await.unwrap();
        assert_eq!(std::mem::take(&mut *SEEN.lock()), weir_git::STEPS, "{format}");
    }
}

fn only_entry(folder: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(folder).unwrap();
    let only = entries.next().expect("an entry").unwrap().path();
    assert!(entries.next().is_none(), "{folder:?} has one entry");
    only
}

fn content(checkout: &Checkout, path: &str) -> String {
    files(checkout).into_iter().find(|(found, _)| found == path).unwrap().1
}

#[rstest]
#[tokio::test]
async fn the_next_fetch_moves_only_what_is_new(#[values("sha1", "sha256")] format: &str) {
    let kept = Kept::start_as(format).await;
    kept.noise();
    drop(kept.fetch(&branch("main")).await);
    for number in 1..4 {
        let id =
            kept.repository.commit("main", "one file", &[("a.yaml", &format!("a: {number}\n"))]).unwrap();
        kept.server.forget_requests();
        let checkout = kept.fetch(&branch("main")).await;
        assert_eq!(checkout.revision(), format!("main@{format}:{id}"));
        assert_eq!(content(&checkout, "a.yaml"), format!("a: {number}\n"));
        assert_eq!(content(&checkout, "noise").len(), NOISE_BYTES);
        assert_eq!((kept.server.requests().len(), kept.posts()), (2, 1), "a look and one request");
    }
    let packs = kept.packs();
    assert_eq!(packs.len(), 4, "{packs:?}");
    assert!(packs[1].0 < 2000, "{packs:?}");
}

#[rstest]
#[tokio::test]
async fn a_restart_fetches_nothing_that_is_there(#[values("sha1", "sha256")] format: &str) {
    let kept = Kept::start_as(format).await;
    let id = kept.noise();
    drop(kept.fetch(&branch("main")).await);
    kept.server.forget_requests();
    let checkout = kept.fetch(&branch("main")).await;
    assert_eq!(checkout.revision(), format!("main@{format}:{id}"));
    assert_eq!(content(&checkout, "a.yaml"), "a: 0\n");
    assert_eq!((kept.server.requests().len(), kept.posts()), (1, 0));
}

#[rstest]
#[tokio::test]
async fn history_that_was_rewritten_and_other_references(#[values("sha1", "sha256")] format: &str) {
    let kept = Kept::start_as(format).await;
    let base = kept.noise();
    kept.repository.commit("main", "will go", &[("a.yaml", "gone")]).unwrap();
    drop(kept.fetch(&branch("main")).await);
    kept.repository.set_branch("main", &base).unwrap();
    let new = kept.repository.commit("main", "instead", &[("a.yaml", "new")]).unwrap();
    kept.repository.annotated_tag("v1.0.0", &base, "tag").unwrap();
    let checkout = kept.fetch(&branch("main")).await;
    assert_eq!((checkout.commit().id.to_string(), content(&checkout, "a.yaml")), (new, "new".to_owned()));
    drop(checkout);
    let tag = kept.fetch(&Reference::Semver("1.x".into())).await;
    assert_eq!(tag.revision(), format!("v1.0.0@{format}:{base}"));
    assert_eq!(content(&tag, "a.yaml"), "a: 0\n");
}

#[rstest]
#[tokio::test]
async fn a_commit_behind_a_shallow_tip(#[values("sha1", "sha256")] format: &str) {
    let kept = Kept::start_as(format).await;
    let old = kept.noise();
    kept.repository.commit("main", "two", &[("a.yaml", "2")]).unwrap();
    let side = kept.repository.commit("side", "side", &[("b.yaml", "side")]).unwrap();
    drop(kept.fetch(&branch("main")).await);
    drop(kept.fetch(&branch("side")).await);
    let pin = |id: &str, branch: Option<&str>| Reference::Commit {
        id: id.to_owned(),
        branch: branch.map(str::to_owned),
        name: None,
    };
    let checkout = kept.fetch(&pin(&old, Some("main"))).await;
    assert_eq!(content(&checkout, "a.yaml"), "a: 0\n");
    drop(checkout);
    let wrong = git().fetch(&kept.remote, &pin(&side, Some("main")), None).await;
    let Err(error) = wrong else { panic!("that commit is on another branch") };
    assert!(error.to_string().contains("object not found"), "{error}");
    drop(kept.fetch(&pin(&old, None)).await);
}

#[rstest]
#[tokio::test]
async fn what_is_broken_is_fetched_anew(#[values("sha1", "sha256")] format: &str) {
    let kept = Kept::start_as(format).await;
    kept.noise();
    drop(kept.fetch(&branch("main")).await);
    let (bytes, path) = kept.packs().remove(0);
    // The end is cut off, as a full disk or a lost write would.
    let mut permissions = path.metadata().unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
    std::fs::set_permissions(&path, permissions).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes / 2).unwrap();
    kept.repository.commit("main", "next", &[("a.yaml", "a: 1\n")]).unwrap();
    let checkout = kept.fetch(&branch("main")).await;
    assert_eq!(content(&checkout, "noise").len(), NOISE_BYTES);
    checkout.distrust();
    drop(checkout);
    assert_eq!(content(&kept.fetch(&branch("main")).await, "a.yaml"), "a: 1\n");
}

#[rstest]
#[tokio::test]
async fn leftovers_go_and_a_repository_with_too_many_packs_is_fetched_anew(
    #[values("sha1", "sha256")] format: &str,
) {
    let kept = Kept::start_as(format).await;
    kept.noise();
    drop(kept.fetch(&branch("main")).await);
    let pack = kept.packs().remove(0).1;
    let names = ["pack_git2_abc123", ".tmpabc123", "weir-pack-abc123"];
    let partial = names.map(|name| pack.with_file_name(name));
    for path in &partial {
        std::fs::write(path, "half").unwrap();
    }
    kept.repository.commit("main", "next", &[("a.yaml", "a: 1\n")]).unwrap();
    drop(kept.fetch(&branch("main")).await);
    assert!(partial.iter().all(|path| !path.exists()));
    assert_eq!(kept.packs().len(), 2);
    for number in 0..100 {
        std::fs::write(pack.with_file_name(format!("pack-{number}.pack")), "").unwrap();
    }
    kept.repository.commit("main", "last", &[("a.yaml", "a: 2\n")]).unwrap();
    assert_eq!(content(&kept.fetch(&branch("main")).await, "a.yaml"), "a: 2\n");
    assert_eq!(kept.packs().len(), 1);
}

#[tokio::test]
async fn one_user_at_a_time() {
    let kept = Kept::start().await;
    kept.noise();
    let first = kept.fetch(&branch("main")).await;
    let mut impatient = kept.remote.clone();
    impatient.timeout = std::time::Duration::from_millis(100);
    let Err(error) = git().fetch(&impatient, &branch("main"), None).await else { panic!("it is in use") };
    assert!(matches!(error, weir_git::Error::Deadline), "{error}");
    drop(first);
    drop(kept.fetch(&branch("main")).await);
}

#[tokio::test]
async fn what_nobody_needs_is_removed() {
    let kept = Kept::start().await;
    kept.noise();
    drop(kept.fetch(&branch("main")).await);
    let stores = Stores::new(kept.folder.path().to_owned());
    let store = stores.of(OWNER).unwrap();
    assert_eq!(store.keep_only([("", &kept.remote.url)]).unwrap(), 0);
    assert_eq!(stores.sweep(&|owner| owner == OWNER).unwrap(), 0);
    assert_eq!(
        store.keep_only([("role", &kept.remote.url)]).unwrap(),
        1,
        "another role is another repository"
    );
    drop(kept.fetch(&branch("main")).await);
    assert_eq!(stores.sweep(&|_| false).unwrap(), 1);
    assert!(!store.remove().unwrap());
    for name in ["", "..", "a/b", "a.b"] {
        assert!(stores.of(name).is_none(), "{name}");
    }
}

/// A URL may come to serve another repository, whose objects have other names.
#[tokio::test]
async fn the_format_changes() {
    let kept = Kept::start().await;
    kept.noise();
    drop(kept.fetch(&branch("main")).await);
    for format in ["sha256", "sha1"] {
        std::fs::remove_dir_all(kept.repository.path()).unwrap();
        let repository = kept.server.repo_as("app", format).unwrap();
        let id = repository.commit("main", "again", &[("a.yaml", format)]).unwrap();
        let checkout = kept.fetch(&branch("main")).await;
        assert_eq!(checkout.revision(), format!("main@{format}:{id}"));
        assert_eq!(content(&checkout, "a.yaml"), format);
    }
}
