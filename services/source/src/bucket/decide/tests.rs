use proptest::prelude::*;
use rstest::rstest;
use weir_api::source::BucketSts;

use super::*;

fn object(key: &str, etag: &str) -> Object {
    let mut object = Object::newest(key);
    object.etag = etag.to_owned();
    object
}

fn keys(listed: &[&str], file: Option<&str>, spec: Option<&str>) -> Vec<String> {
    let listed = listed.iter().map(|key| object(key, "e")).collect();
    Index::of(listed, &matcher(file, spec)).objects().map(|object| object.key.clone()).collect()
}

#[test]
fn what_is_no_file_is_left_out_and_nothing_by_default() {
    let listed = ["b/", "b/pic.png", ".sourceignore", "b/.sourceignore", ".git/config", "a.tar.gz"];
    assert_eq!(keys(&listed, None, None), [".git/config", "a.tar.gz", "b/.sourceignore", "b/pic.png"]);
}

#[test]
fn the_spec_counts_after_the_file() {
    let listed = ["a.txt", "b.txt", "deploy/c.yaml"];
    assert_eq!(keys(&listed, Some("*.txt"), None), ["deploy/c.yaml"]);
    assert_eq!(keys(&listed, Some("*.txt"), Some("!b.txt")), ["b.txt", "deploy/c.yaml"]);
    assert_eq!(keys(&listed, None, Some("/*\n!/deploy")), ["deploy/c.yaml"]);
}

#[test]
fn the_revision_is_of_keys_and_etags() {
    let index = Index::of(vec![object("b", "2"), object("a/x", "1"), object("a", "3")], &matcher(None, None));
    let expected = Digest::of(Algorithm::Sha256, b"a 3\na/x 1\nb 2\n");
    assert_eq!(index.digest(Algorithm::Sha256), expected);
    for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
        assert!(index.is_at(&index.digest(algorithm).to_string()));
        assert!(!Index::default().is_at(&index.digest(algorithm).to_string()));
    }
    assert!(!index.is_at("") && !index.is_at("main@sha1:abc"));
    assert_eq!(Index::default().digest(Algorithm::Sha256), Digest::of(Algorithm::Sha256, b""));
}

#[test]
fn what_was_read_counts() {
    let mut index = Index::of(vec![object("a", "1"), object("b", "2")], &matcher(None, None));
    index.note("a", Some("new".to_owned()));
    index.note("b", None);
    index.note("c", Some("never listed".to_owned()));
    assert_eq!(index, Index::of(vec![object("a", "new")], &matcher(None, None)));
}

#[rstest]
#[case("a/b.yaml", Some("a/b.yaml"))]
#[case("/a//b.yaml", Some("a/b.yaml"))]
#[case("..a/b..", Some("..a/b.."))]
#[case("../a", None)]
#[case("a/../../etc/passwd", None)]
#[case("a/./b", None)]
#[case("//", None)]
#[case("a\\..\\b", None)]
#[case("a/b/c/d/e", None)]
fn paths(#[case] key: &str, #[case] expected: Option<&str>) {
    let found = path(key, 4);
    assert_eq!(found.as_ref().ok().map(RelPath::as_str), expected, "{found:?}");
}

#[rstest]
#[case(None, "ldap", None)]
#[case(Some("aws"), "aws", None)]
#[case(Some("aws"), "ldap", Some("STS provider 'ldap' is not supported for 'aws' bucket provider"))]
#[case(Some("generic"), "aws", Some("STS provider 'aws' is not supported for 'generic' bucket provider"))]
#[case(Some("gcp"), "aws", Some("STS configuration is not supported for 'gcp' bucket provider"))]
fn token_services(#[case] provider: Option<&str>, #[case] sts: &str, #[case] message: Option<&str>) {
    let sts =
        BucketSts { provider: sts.to_owned(), endpoint: "https://sts".to_owned(), ..BucketSts::default() };
    let spec = BucketSpec { provider: provider.map(str::to_owned), sts: Some(sts), ..BucketSpec::default() };
    let failure = check_sts(&spec).err();
    assert_eq!(failure.as_ref().map(|failure| failure.cause.message.as_str()), message);
    assert!(failure.is_none_or(|failure| {
        failure.cause.reason == "InvalidSTSConfiguration" && failure.cause.is_stalled()
    }));
}

proptest! {
    #[test]
    fn the_order_of_a_listing_does_not_matter(mut keys in prop::collection::btree_set("[a-c/]{1,4}", 0..8)
        .prop_map(|keys| keys.into_iter().collect::<Vec<_>>()).prop_shuffle())
    {
        let index = |keys: &[String]| {
            let listed = keys.iter().map(|key| object(key, "e")).collect();
            Index::of(listed, &matcher(None, None)).digest(Algorithm::Sha256)
        };
        let shuffled = index(&keys);
        keys.sort();
        prop_assert_eq!(shuffled, index(&keys));
    }
}
