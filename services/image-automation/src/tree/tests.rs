//! Trees of real repositories.

use rstest::rstest;
use weir_git::{Fetched, Git, GitConfig, Reference, Remote};
use weir_setters::{Image, PolicyName};
use weir_testkit::GitServer;

use super::*;

/// Size of a file that is never read as a whole (`MAX_BLOB` of `weir_git`).
const BEYOND_MEMORY: usize = (256 << 20) + 1;

#[rstest]
#[case("", "a/b.yaml", "a/b.yaml")]
#[case("a", "a/b.yaml", "b.yaml")]
#[case("a/b.yaml", "a/b.yaml", "b.yaml")]
#[case::behind_a_link("a", "ab/c.yaml", "ab/c.yaml")]
fn results_are_relative(#[case] base: &str, #[case] path: &str, #[case] relative: &str) {
    assert_eq!(super::relative(base, path), relative);
}

fn setters() -> Setters {
    let (mut setters, text) = (Setters::default(), str::to_owned);
    let policy = PolicyName { namespace: text("apps"), name: text("web") };
    setters.insert(policy, Image { name: text("web"), tag: text("2"), digest: None });
    setters
}

/// ST-2, ST-4, SEC-7.
#[tokio::test]
async fn files_that_are_too_large_or_no_text_are_problems_of_their_own() {
    weir_runtime::service::install_crypto();
    let server = GitServer::start().await.unwrap();
    let repository = server.repo("app").unwrap();
    let marked = |image: &str| format!("image: {image} # {{\"$imagepolicy\": \"apps:web\"}}\n");
    let latin = |text: &str| [b"# caf\xe9\n", text.as_bytes()].concat();
    let change = repository.change("main").file("web.yaml", marked("web:1"));
    let change =
        change.file("latin.yaml", latin(&marked("web:1"))).file("unmarked.yaml", latin("image: web:1\n"));
    let change = change
        .file("beyond.yaml", vec![b'#'; BEYOND_MEMORY])
        .file("large.yaml", vec![b'#'; MAX_FILE_SIZE + 1]);
    // Links whose targets are too long lead nowhere.
    let far = format!("{}/../web.yaml", "a".repeat(MAX_TARGET));
    let change = change.symlink("far", &far).symlink("beyond", &"#".repeat(BEYOND_MEMORY));
    change.symlink("near", "none/../web.yaml").commit().unwrap();
    let remote = Remote::new(server.url("app").parse().unwrap());
    let git = Git::new(GitConfig::default()).unwrap();
    let Fetched::New(checkout) = git.fetch(&remote, &Reference::Branch("main".into()), None).await.unwrap()
    else {
        panic!("nothing was known");
    };

    let applied = |path| apply(&checkout, checkout.commit().id, path, &setters());
    let edits = applied("").unwrap();
    assert_eq!(edits.files, [("web.yaml".to_owned(), marked("web:2").into_bytes())]);
    let too_large = |size: usize| format!("{size} bytes are more than 10485760, not searched for markers");
    let expected = [
        ("beyond.yaml", too_large(BEYOND_MEMORY)),
        ("large.yaml", too_large(MAX_FILE_SIZE + 1)),
        ("latin.yaml", "invalid utf-8 sequence of 1 bytes from index 5".to_owned()),
    ];
    assert_eq!(edits.problems, expected.map(|(path, problem)| (path.to_owned(), problem)));

    assert_eq!(applied("near").unwrap().files, edits.files);
    for link in ["far", "beyond"] {
        assert!(matches!(applied(link), Err(TreeError::Missing { .. })), "{link}");
    }
}
