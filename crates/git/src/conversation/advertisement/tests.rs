use rstest::rstest;

use super::*;
use crate::conversation::lines::put;

const ID: &str = "1111111111111111111111111111111111111111";
const NO_ID: &str = "0000000000000000000000000000000000000000";

/// Reads a list whose lines are parted by `|`; an empty one is an end, `ID` an id, `NO` that of nothing.
fn read(list: &str) -> Result<Advertisement, Error> {
    let mut text = Vec::new();
    for line in list.split('|') {
        match line {
            "" => text.extend(b"0000"),
            line => {
                let line = line.replace("LONG_NO", &"0".repeat(64)).replace("LONG", &"1".repeat(64));
                put(&mut text, &format!("{}\n", line.replace("ID", ID).replace("NO", NO_ID)));
            }
        }
    }
    Advertisement::read(text.as_slice())
}

#[test]
fn references_and_capabilities() {
    let list = "# service=git-upload-pack||version 1|ID HEAD\0shallow filter allow-reachable-sha1-in-want|\
                ID refs/tags/v1|ID refs/tags/v1^{}|shallow ID|";
    let list = read(list).unwrap();
    let names: Vec<_> = list.refs.iter().map(|reference| reference.name.as_str()).collect();
    assert_eq!(names, ["HEAD", "refs/tags/v1", "refs/tags/v1^{}"]);
    assert!(list.offers("shallow") && list.gives_parts() && !list.offers("shal"));
}

/// DEV 17.
#[test]
fn ids_of_sha256() {
    let list = read("LONG HEAD\0shallow object-format=sha256|").unwrap();
    assert_eq!(list.format(), Kind::Sha256);
    assert_eq!(list.refs[0].id.kind(), Kind::Sha256);
    assert_eq!(list.named_format(), Some("object-format=sha256"));
}

#[rstest]
#[case::ids_alone("ID HEAD\0allow-any-sha1-in-want|", false)]
#[case::filter_alone("ID HEAD\0filter|", false)]
#[case::both("ID HEAD\0filter allow-any-sha1-in-want|", true)]
fn parts(#[case] list: &str, #[case] expected: bool) {
    assert_eq!(read(list).unwrap().gives_parts(), expected);
}

#[rstest]
#[case::nothing("", "git repository is empty")]
#[case::only_capabilities("NO capabilities^{}\0shallow|", "git repository is empty")]
#[case::no_end("ID HEAD\0", "the Git server broke off: unexpected EOF")]
#[case::no_id("master|", "no reference: 'master'")]
#[case::half_an_id("1234 HEAD|", "no reference: '1234 HEAD'")]
#[case::a_refusal("ERR no such repository|", "remote error: no such repository")]
#[case::an_id_of_another_format("ID HEAD\0object-format=sha256|", "no reference: '1111")]
#[case::a_long_id("LONG HEAD\0object-format=sha1|", "no reference: '1111")]
#[case::sha256_and_empty("LONG_NO capabilities^{}\0object-format=sha256|", "git repository is empty")]
#[case::an_unknown_format("ID HEAD\0object-format=md5|", "something unexpected: 'object-format=md5'")]
fn refused(#[case] list: &str, #[case] expected: &str) {
    let error = read(list).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_name_that_is_no_text_is_passed_over() {
    let mut text = Vec::new();
    put(&mut text, &format!("{ID} HEAD\0shallow\n"));
    // Four digits, an id, a blank, two bytes and the end of the line.
    text.extend([b"0030", ID.as_bytes(), b" \xff\xfe\n", b"0000"].concat());
    assert_eq!(Advertisement::read(text.as_slice()).unwrap().refs.len(), 1);
}
