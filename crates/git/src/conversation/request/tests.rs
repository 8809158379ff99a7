use rstest::rstest;

use super::*;
use crate::conversation::lines::put;

fn id(digit: &str) -> ObjectId {
    digit.repeat(40).parse().unwrap()
}

/// The request as it is sent to a server with these capabilities, ids shortened.
fn sent(capabilities: &str, depth: FetchDepth, is_partial: bool) -> String {
    let mut list = Vec::new();
    put(&mut list, &format!("{} HEAD\0{capabilities}\n", id("1")));
    list.extend(b"0000");
    let offered = Advertisement::read(list.as_slice()).unwrap();
    let (wants, haves, roots) = (vec![id("1"), id("2")], vec![id("3")], vec![id("4")]);
    let request = Request { wants, haves, roots, depth, is_partial };
    let mut text = String::from_utf8(request.encode(&offered)).unwrap();
    for digit in ["1", "2", "3", "4"] {
        text = text.replace(&digit.repeat(40), digit);
    }
    text
}

#[rstest]
#[case::all(
    "multi_ack multi_ack_detailed side-band side-band-64k ofs-delta thin-pack shallow filter no-progress other",
    FetchDepth::Tip,
    true,
    "007awant 1 multi_ack_detailed side-band-64k ofs-delta thin-pack no-progress filter\n0032want 2\n\
     0035shallow 4\n000ddeepen 1\n0015filter blob:none\n00000032have 3\n0009done\n"
)]
#[case::old(
    "multi_ack side-band shallow",
    FetchDepth::Unshallow,
    false,
    "0046want 1 multi_ack side-band\n0032want 2\n0035shallow 4\n0016deepen 2147483647\n00000032have 3\n0009done\n"
)]
#[case::nothing("", FetchDepth::Missing, false, "0032want 1\n0032want 2\n00000032have 3\n0009done\n")]
fn requests(
    #[case] capabilities: &str,
    #[case] depth: FetchDepth,
    #[case] is_partial: bool,
    #[case] expected: &str,
) {
    assert_eq!(sent(capabilities, depth, is_partial), expected);
}
