use std::time::Duration;

use rstest::rstest;

use super::{GitUrl, GitUrlError};

#[rstest]
#[case::two_segments("https://git.example.com/org/repo/a/b", "https://git.example.com/org/repo", "a/b")]
#[case::no_directory("https://git.example.com/org/repo", "https://git.example.com/org/repo", "")]
#[case::scheme_in_capitals("hTTps://Git.example.com/org/repo", "https://Git.example.com/org/repo", "")]
#[case::port("ssh://git.example.com:7999/org/repo/a", "ssh://git.example.com:7999/org/repo", "a")]
#[case::suffix("https://git.example.com/a/b/c.git/d", "https://git.example.com/a/b/c.git", "d")]
#[case::suffix_inside("https://git.example.com/a.github/b/c", "https://git.example.com/a.git", "hub/b/c")]
#[case::slashes("https://git.example.com/a/b/c//d/e/", "https://git.example.com/a/b/c", "d/e/")]
#[case::slashes_before_suffix("https://git.example.com/a//b.git", "https://git.example.com/a", "b.git")]
#[case::azure(
    "https://me@dev.example.com/org/p/_git/repo/a/b",
    "https://me@dev.example.com/org/p/_git/repo",
    "a/b"
)]
#[case::azure_root("https://dev.example.com/org/p/_git/repo", "https://dev.example.com/org/p/_git/repo", "")]
#[case::forced("git::https://git.example.com/org/repo", "https://git.example.com/org/repo", "")]
#[case::github_short("github.com/org/repo/a", "https://github.com/org/repo", "a")]
#[case::github_colon("GitHub.com:org/repo/a", "https://github.com/org/repo", "a")]
#[case::github_plain_http("http://github.com/org/repo/a", "https://github.com/org/repo", "a")]
#[case::github_user("git@github.com/org/repo/a", "git@github.com:org/repo", "a")]
#[case::github_user_in_url("https://me@github.com/org/repo", "me@github.com:org/repo", "")]
#[case::github_ssh("ssh://github.com/org/repo", "github.com:org/repo", "")]
#[case::github_ssh_user("ssh://git@github.com/org/repo", "git@github.com:org/repo", "")]
#[case::github_password("https://me:pw@github.com/org/repo/a", "https://me:pw@github.com/org/repo", "a")]
#[case::scp("git@git.example.com:a/b/c.git//d", "git@git.example.com:a/b/c.git", "d")]
#[case::scp_with_slash("git@git.example.com/a/b//c", "git@git.example.com/a/b", "c")]
#[case::file("file:///srv/repos/a", "file:///srv/repos/a", "")]
#[case::file_directory("file:///srv/repos/a//b", "file:///srv/repos/a", "b")]
#[case::file_with_user("file://me@x/y", "file://me@x/y", "")]
#[case::up_and_down("https://git.example.com/a/b.git//c/../d", "https://git.example.com/a/b.git", "c/../d")]
fn urls_are_split(#[case] text: &str, #[case] repository: &str, #[case] path: &str) {
    let url = GitUrl::parse(text).unwrap();
    assert_eq!((url.repository.as_str(), url.path.as_str()), (repository, path));
    assert_eq!(url.raw, text);
}

#[rstest]
#[case::absolute("/tmp", GitUrlError::Absolute("/tmp".into()))]
#[case::relative("../../base", GitUrlError::Scheme)]
#[case::name("base", GitUrlError::Scheme)]
#[case::version("dir@v1/x", GitUrlError::Repository)]
#[case::no_name("1@host:a/b", GitUrlError::Scheme)]
#[case::path_like_github("src/github.com/org/repo", GitUrlError::Scheme)]
#[case::github_like("github.community/org/repo", GitUrlError::Scheme)]
#[case::other_scheme("ftp://git.example.com/org/repo", GitUrlError::Scheme)]
#[case::forced_nothing("git::___", GitUrlError::Scheme)]
#[case::nothing("https://", GitUrlError::Host)]
#[case::host_only("ssh://git.example.com", GitUrlError::Repository)]
#[case::one_segment("https://github.com/file.yaml", GitUrlError::Repository)]
#[case::query_after_host("https://git.example.com?ref=a/b/c", GitUrlError::Repository)]
#[case::too_many_slashes("file:////srv//a", GitUrlError::Repository)]
#[case::scheme_after_user("git@ssh://github.com/org/repo.git//a", GitUrlError::Repository)]
#[case::exits("https://github.com/org/repo.git//a/../../b", GitUrlError::Exits("org/repo.git//a/../../b".into()))]
fn what_is_no_git_url_is_told(#[case] text: &str, #[case] wanted: GitUrlError) {
    assert_eq!(GitUrl::parse(text).unwrap_err(), wanted);
}

const DEFAULT: Duration = super::DEFAULT_TIMEOUT;

#[rstest]
#[case("", None, DEFAULT, true)]
#[case("?ref=v1", Some("v1"), DEFAULT, true)]
#[case("?version=v1", Some("v1"), DEFAULT, true)]
#[case("?version=v1&ref=feature/x", Some("feature/x"), DEFAULT, true)]
#[case("?ref=&version=v1", Some("v1"), DEFAULT, true)]
#[case("?ref=a&ref=b", Some("a"), DEFAULT, true)]
#[case("?ref=a%2Fb+c", Some("a/b c"), DEFAULT, true)]
#[case("?timeout=61", None, Duration::from_secs(61), true)]
#[case("?timeout=1m1.5s", None, Duration::from_millis(61_500), true)]
#[case("?timeout=200ms", None, Duration::from_millis(200), true)]
#[case("?timeout=0", None, DEFAULT, true)]
#[case("?timeout=-3s", None, DEFAULT, true)]
#[case("?timeout=soon", None, DEFAULT, true)]
#[case("?timeout=1e999h", None, DEFAULT, true)]
#[case("?submodules=false", None, DEFAULT, false)]
#[case("?submodules=F&ref=x", Some("x"), DEFAULT, false)]
#[case("?submodules=no", None, DEFAULT, true)]
#[case::bad_escape("?ref=v1&timeout=%zz", None, DEFAULT, true)]
#[case::semicolon("?ref=v1;timeout=3", None, DEFAULT, true)]
fn queries_say_what_and_how(
    #[case] query: &str,
    #[case] reference: Option<&str>,
    #[case] timeout: Duration,
    #[case] submodules: bool,
) {
    let url = GitUrl::parse(&format!("https://git.example.com/org/repo//base{query}")).unwrap();
    assert_eq!((url.reference.as_deref(), url.timeout, url.submodules), (reference, timeout, submodules));
    assert_eq!((url.repository.as_str(), url.path.as_str()), ("https://git.example.com/org/repo", "base"));
}

proptest::proptest! {
    /// Nothing makes the reader panic, and no directory leaves its repository.
    #[test]
    fn any_text_is_read(text in "(git::)?(https?://|ssh://|file://|[a-z]@|github.com[/:])?([a-z.:@%é]{0,4}|/|//|_git/|\\.git|\\.\\./|\\?|ref=|&|;|timeout=9){0,12}") {
        if let Ok(url) = GitUrl::parse(&text) {
            proptest::prop_assert!(!url.repository.is_empty() && !url.timeout.is_zero());
            proptest::prop_assert!(crate::FsPath::new(&url.path).is_ok(), "{:?}", url);
        }
    }
}
